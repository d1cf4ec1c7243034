// The linear layers of a step: y = x W^T forward, and backward the gradients of W and x.
//
// In fp8, as Micikevicius et al. ("FP8 Formats for Deep Learning", arXiv 2209.05433) train, but
// with e4m3 throughout and scales of the tensors as they are (current scaling). Weights, sums, what
// lies between products, attention and the output layer stay as they are. A tensor is converted
// once, for the forward and for the backward pass.
#pragma once

#include <algorithm>
#include <cstddef>
#include <stdexcept>

#include "harness/bench/training/memory.hpp"
#include "harness/bench/training/queue.hpp"
#include "kernels/training_step/fp8.cuh"

namespace training_step {

enum class Linear { mlp_out, mlp_in, projection, qkv };
inline constexpr unsigned linears = 4;  // of a layer

// What is kept in fp8, of each linear layer by its number: inputs and weights by columns, for the
// backward pass. The rest lives as long as a product.
struct Fp8Tensors {
  Fp8Tensors(const Shape& s, bool used)
      : inputs(used ? s.layers * s.tokens() * inputs_of_layer(s) : 0),
        weights(used ? s.layers * s.layer_weights() : 0),
        rows(used ? s.tokens() * s.mlp() : 0),
        columns(rows.size()),
        weight_rows(used ? std::size_t{s.mlp()} * s.hidden : 0),
        scales(used ? std::size_t{3} * linears * s.layers : 0),
        maxima(used ? most_maxima : 0) {}
  // Elements of a token's inputs.
  static std::size_t inputs_of_layer(const Shape& s) { return std::size_t{3} * s.hidden + s.mlp(); }
  std::size_t weight_bytes() const { return weights.bytes() + weight_rows.bytes(); }
  std::size_t activation_bytes() const { return inputs.bytes() + rows.bytes() + columns.bytes(); }

  DeviceBuffer<fp8> inputs, weights;
  DeviceBuffer<fp8> rows, columns, weight_rows;
  DeviceBuffer<float> scales, maxima;
};

template <class T, class Products>
class Linears {
 public:
  using Kind = Product::Kind;

  Linears(const Shape& s, bool in_fp8, Weights<T>& weights, Queue<T, Products>& queue)
      : s_(s), places_{s}, in_fp8_(in_fp8), weights_(weights), queue_(queue), kept_(s, in_fp8) {
    if (in_fp8 && !narrows) throw std::invalid_argument("only steps in bf16 multiply in fp8");
  }

  void forward(unsigned layer, Linear which, const T* x, T* y) {
    const Parts p = parts(layer, which);
    const Product product{Kind::dense, s_.tokens(), p.out, p.in};
    if constexpr (narrows) {
      if (in_fp8_) {
        convert(x, s_.tokens(), p.in, kept_.rows.data(), p.input, p.scales);
        convert(weights_.data() + p.place, p.out, p.in, kept_.weight_rows.data(), p.weight,
                p.scales + 1);
        return multiply(product, kept_.rows.data(), p.scales, kept_.weight_rows.data(),
                        p.scales + 1, y);
      }
    }
    queue_.multiply(product, x, weights_.data() + p.place, y);
  }
  // From the gradient of y that of W, and `d_x`, that of x.
  void backward(unsigned layer, Linear which, const T* d_y, const T* x, T* d_x) {
    const Parts p = parts(layer, which);
    T* const d_w = weights_.gradient.data() + p.place;
    if constexpr (narrows) {
      if (in_fp8_) {
        convert(d_y, s_.tokens(), p.out, kept_.rows.data(), kept_.columns.data(), p.scales + 2);
        multiply({Kind::dense, p.out, p.in, s_.tokens()}, kept_.columns.data(), p.scales + 2,
                 p.input, p.scales, d_w);
        return multiply({Kind::dense, s_.tokens(), p.in, p.out}, kept_.rows.data(), p.scales + 2,
                        p.weight, p.scales + 1, d_x);
      }
    }
    queue_.multiply({Kind::over_rows, p.out, p.in, s_.tokens()}, d_y, x, d_w);
    queue_.multiply({Kind::textbook, s_.tokens(), p.in, p.out}, d_y, weights_.data() + p.place,
                    d_x);
  }

  const Fp8Tensors& kept() const { return kept_; }

 private:
  static constexpr bool narrows = Pack<T>::size == 8;  // from 16 bits

  // W is [out][in] at `place`; then where fp8 tensors of this linear layer are.
  struct Parts {
    std::size_t out, in, place;
    fp8 *input, *weight;
    float* scales;  // of x, of W and of the gradient of y
  };
  Parts parts(unsigned layer, Linear which) {
    const std::size_t hidden = s_.hidden, mlp = s_.mlp(), all = Fp8Tensors::inputs_of_layer(s_);
    const std::size_t tokens = s_.tokens();
    fp8* const inputs = kept_.inputs.data() + layer * tokens * all;
    // Weights in fp8 lie as the others do, without the table of the output layer.
    const auto made = [&](std::size_t out, std::size_t in, std::size_t place, std::size_t before) {
      return Parts{out,
                   in,
                   place,
                   inputs + tokens * before,
                   kept_.weights.data() + (place - s_.table()),
                   kept_.scales.data() + 3 * (linears * layer + static_cast<unsigned>(which))};
    };
    switch (which) {
      case Linear::mlp_out:
        return made(hidden, mlp, places_.mlp_out(layer), 0);
      case Linear::mlp_in:
        return made(mlp, hidden, places_.mlp_in(layer), mlp);
      case Linear::projection:
        return made(hidden, hidden, places_.projection(layer), mlp + hidden);
      default:
        return made(3 * hidden, hidden, places_.qkv(layer), mlp + 2 * hidden);
    }
  }

  void convert(const T* in, std::size_t rows, std::size_t columns, fp8* out, fp8* transposed,
               float* scale) {
    const std::size_t elements = rows * columns, packs = elements / Pack<T>::size;
    const unsigned blocks =
        static_cast<unsigned>(std::min<std::size_t>(most_maxima, (packs + threads - 1) / threads));
    const auto across = [](std::size_t n) {
      return static_cast<unsigned>((n + fp8_tile - 1) / fp8_tile);
    };
    const auto bytes = static_cast<double>(elements * sizeof(T));
    queue_.kernel(bytes, find_largest<T>, blocks, threads, in, packs, kept_.maxima.data());
    queue_.kernel(2 * bytes, to_fp8<T>, dim3(across(columns), across(rows)), threads, in,
                  static_cast<unsigned>(rows), static_cast<unsigned>(columns), kept_.maxima.data(),
                  blocks, out, transposed, scale);
  }
  void multiply(Product product, const fp8* a, const float* scale_a, const fp8* b,
                const float* scale_b, T* d) {
    product.in_fp8 = true;
    queue_.multiply(product, a, b, d, gpubench::GemmScales{scale_a, scale_b});
  }

  Shape s_;
  Places places_;
  bool in_fp8_;
  Weights<T>& weights_;
  Queue<T, Products>& queue_;
  Fp8Tensors kept_;
};

}  // namespace training_step
