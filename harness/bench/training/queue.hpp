// Hands the operations of a step to a stream, or only says what they cost.
#pragma once

#include <utility>
#include <vector>

#include "harness/cuda/launch.hpp"
#include "kernels/normalization.cuh"
#include "kernels/training_step.cuh"
#include "kernels/training_step/numbers.cuh"

namespace training_step {

enum class What { all, products, costs };

// `Products` multiplies: products(stream, product, a, b, d), with scales of a and b if these are in
// fp8, once products.prepare(product) has been called, which it is where only costs are asked for.
template <class T, class Products>
class Queue {
 public:
  explicit Queue(Products products) : products_(std::move(products)) {}

  void begin(cudaStream_t stream, What what) {
    stream_ = stream;
    what_ = what;
    costs_.clear();
  }
  cudaStream_t stream() const { return stream_; }
  bool only_costs() const { return what_ == What::costs; }
  const std::vector<Cost>& costs() const { return costs_; }

  template <class Operand, class... Scales>
  void multiply(const Product& product, const Operand* a, const Operand* b, T* d,
                const Scales&... scales) {
    costs_.push_back({product.flops(),
                      product.operands() * sizeof(Operand) + product.results() * sizeof(T),
                      product.has_odd_operands(), product.has_odd_result(), product.in_fp8});
    if (what_ == What::costs) {
      products_.prepare(product);
    } else {
      products_(stream_, product, a, b, d, scales...);
    }
  }

  // A kernel that moves `bytes`.
  template <class... P, class... A>
  void kernel(double bytes, void (*k)(P...), dim3 grid, dim3 block, A&&... arguments) {
    costs_.push_back({0, bytes});
    if (what_ == What::all) {
      gpubench::launch(k, grid, block, 0, stream_, std::forward<A>(arguments)...);
    }
  }
  // Sets them to zero.
  void memory(void* begin, std::size_t bytes) {
    costs_.push_back({0, static_cast<double>(bytes)});
    if (what_ == What::all) CUDA_CHECK(cudaMemsetAsync(begin, 0, bytes, stream_));
  }
  // One that multiplies as well.
  template <class... P, class... A>
  void product_kernel(const Cost& cost, void (*k)(P...), dim3 grid, dim3 block, std::size_t shared,
                      A&&... arguments) {
    costs_.push_back(cost);
    if (what_ != What::costs) {
      gpubench::launch(k, grid, block, shared, stream_, std::forward<A>(arguments)...);
    }
  }
  // With a thread for each of n packs, of which `tensors` are read or written.
  template <class... P, class... A>
  void pointwise(std::size_t tensors, std::size_t elements, void (*k)(P...), A&&... arguments) {
    const auto packs = static_cast<unsigned>(elements / Pack<T>::size);
    kernel(static_cast<double>(tensors * elements * sizeof(T)), k, (packs + threads - 1) / threads,
           threads, std::forward<A>(arguments)..., packs);
  }
  // By rows of `columns` elements.
  template <class... P, class... A>
  void by_rows(double tensors, std::size_t rows, std::size_t columns, void (*k)(P...),
               A&&... arguments) {
    const auto packs = static_cast<unsigned>(columns / Pack<T>::size);
    const auto [lanes, rows_a_block] = normalization::shape_of(packs);
    const auto blocks = static_cast<unsigned>((rows + rows_a_block - 1) / rows_a_block);
    kernel(tensors * static_cast<double>(rows * columns * sizeof(T)), k, blocks,
           dim3(lanes, rows_a_block), std::forward<A>(arguments)..., packs,
           static_cast<unsigned>(rows));
  }

 private:
  Products products_;
  cudaStream_t stream_ = nullptr;
  What what_ = What::all;
  std::vector<Cost> costs_;
};

}  // namespace training_step
