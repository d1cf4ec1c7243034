#pragma once

#include "harness/bench/tcgen05.hpp"
#include "harness/bench/wgmma.hpp"
#include "harness/cuda/tensor_map.hpp"
#include "kernels/attention.cuh"
#include "tests/kernels/kernel_test.hpp"

namespace gpubench {

// Up to four in magnitude, so that some scores are far above the others and maxima move.
struct LargeElements {
  Generator<attention::element> of;
  __host__ __device__ attention::element operator()(std::size_t i) const {
    return attention::element(4 * static_cast<float>(of(i)));
  }
};

class AttentionRuns : public KernelTest {
 protected:
  static constexpr LargeElements of_q{{1}}, of_k{{2}};
  static constexpr Generator<attention::element> of_v{3};

  template <class Values>
  static DeviceBuffer<attention::element> filled(std::size_t elements, Values values) {
    DeviceBuffer<attention::element> buffer(elements);
    fill_random(buffer.data(), elements, values);
    return buffer;
  }

  template <unsigned head_dim>
  DeviceBuffer<attention::element> run_tiled(unsigned heads, unsigned seq, bool causal,
                                             unsigned group = 1) {
    using namespace attention;
    const std::size_t n = std::size_t{heads} * seq * head_dim;
    const auto q = filled(n, of_q), k = filled(n / group, of_k), v = filled(n / group, of_v);
    auto out = output<attention::element>(n);
    launch(tiled<head_dim>, dim3(blocks_of(seq, causal), heads), threads, shared_bytes<head_dim>(),
           nullptr, q.data(), k.data(), v.data(), out.data(), seq, group, scale_of(head_dim),
           causal);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess) << diagnostic;
    return out;
  }

  // `seq`: a multiple of 128.
  template <unsigned head_dim>
  DeviceBuffer<attention::element> run_wgmma(unsigned heads, unsigned seq, bool causal,
                                             unsigned group = 1) {
    using namespace attention;
    return run_by_tiles<head_dim>(wgmma<head_dim>, dim3(blocks_of(seq, causal), heads),
                                  wgmma_parts::threads, wgmma_parts::Pipeline<head_dim>::bytes, seq,
                                  group, causal);
  }

  template <unsigned head_dim>
  DeviceBuffer<attention::element> run_tcgen05(unsigned heads, unsigned seq, bool causal,
                                               unsigned group = 1) {
    using namespace attention;
    const dim3 grid(blocks_of(seq, causal, tcgen05_parts::group_queries), heads);
    return run_by_tiles<head_dim>(tcgen05<head_dim>, grid, tcgen05_parts::threads,
                                  tcgen05_parts::Pipeline<head_dim>::bytes, seq, group, causal);
  }

 private:
  // A kernel that has the copy engine bring tiles.
  template <unsigned head_dim, class Kernel>
  DeviceBuffer<attention::element> run_by_tiles(Kernel* kernel, dim3 grid, unsigned threads,
                                                std::size_t shared, unsigned seq, unsigned group,
                                                bool causal) {
    using namespace attention;
    const std::size_t n = std::size_t{grid.y} * seq * head_dim;
    const auto q = filled(n, of_q), k = filled(n / group, of_k), v = filled(n / group, of_v);
    auto out = output<element>(n);
    const auto map = [&](const auto& matrix) {
      return tensor_map(matrix.data(), matrix.size() / head_dim, head_dim, head_dim,
                        rings::tile_rows);
    };
    launch(kernel, grid, threads, shared, nullptr, map(q), map(k), map(v), out.data(), seq, group,
           scale_of(head_dim), causal);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess) << diagnostic;
    return out;
  }
};

}  // namespace gpubench
