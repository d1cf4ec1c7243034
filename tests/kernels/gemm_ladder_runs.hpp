#pragma once

#include "harness/bench/gemm_row.hpp"
#include "harness/bench/tcgen05.hpp"
#include "harness/bench/wgmma.hpp"
#include "harness/cuda/tensor_map.hpp"
#include "kernels/gemm_ladder.cuh"
#include "tests/kernels/kernel_test.hpp"

namespace gpubench {

class GemmLadderRuns : public KernelTest {
 protected:
  using element = gemm_ladder::element;
  using Tiles = gemm_ladder::Tiles;

  // For the rungs in fp32. `goes_down`: blocks lie along columns first.
  template <class... P>
  void expect_product(void (*kernel)(P...), const Tiles& tiles, dim3 block, unsigned m, unsigned n,
                      unsigned k, bool goes_down = false) {
    SCOPED_TRACE(testing::Message() << m << " x " << n << " x " << k);
    const auto a = input<float>(std::size_t{m} * k), b = input<float>(std::size_t{k} * n);
    const auto d = output<float>(std::size_t{m} * n);
    const unsigned down = (m + tiles.block_m - 1) / tiles.block_m;
    const unsigned across = (n + tiles.block_n - 1) / tiles.block_n;
    const dim3 grid = goes_down ? dim3(down, across) : dim3(across, down);
    if constexpr (sizeof...(P) == 6) {
      launch(kernel, grid, block, 0, nullptr, a.data(), b.data(), d.data(), m, n, k);
    } else {
      launch(kernel, grid, block, 0, nullptr, a.data(), b.data(), d.data(), n, k);
    }
    const GemmShape shape = GemmShape::textbook(GemmType::fp32, m, n, k);
    const auto want = expected_product<float>(shape, values<float>, values<float>);
    const auto [relative, absolute] = gemm_tolerance<float>(shape);
    expect_elements(d, want, relative, absolute);
  }
  // For those in bf16, which `queue` launches.
  template <class Queue>
  void expect_bf16_product(const Queue& queue, unsigned m, unsigned n, unsigned k) {
    SCOPED_TRACE(testing::Message() << m << " x " << n << " x " << k);
    const auto a = input<element>(std::size_t{m} * k), b = input<element>(std::size_t{n} * k);
    const auto d = output<element>(std::size_t{m} * n);
    queue(a.data(), b.data(), d.data(), m, n, k);
    const GemmShape shape = GemmShape::dense(GemmType::bf16, m, n, k);
    const auto of_a = numbers<element>(a.size()), of_b = numbers<element>(b.size());
    const auto want = expected_product<element>(shape, Tabled{of_a.data()}, Tabled{of_b.data()});
    const auto [relative, absolute] = gemm_tolerance<element>(shape);
    expect_elements(d, want, relative, absolute);
  }
  static void by_mma(const element* a, const element* b, element* d, unsigned m, unsigned n,
                     unsigned k) {
    using namespace gemm_ladder;
    launch(mma_sync, m / mma_sync_tiles.block_m * (n / mma_sync_tiles.block_n),
           mma_sync_tiles.threads, mma_sync_parts::shared_bytes, nullptr, a, b, d, m, n, k);
  }
  static constexpr unsigned persistent = 2;  // blocks
  static void by_wgmma(const element* a, const element* b, element* d, unsigned m, unsigned n,
                       unsigned k) {
    using namespace gemm_ladder;
    by_tma(wgmma_tma, wgmma_tiles, wgmma_tma_parts::shared_bytes, a, b, d, m, n, k);
  }
  static void by_tcgen05(const element* a, const element* b, element* d, unsigned m, unsigned n,
                         unsigned k) {
    using namespace gemm_ladder;
    by_tma(tcgen05, tcgen05_tiles, tcgen05_parts::shared_bytes, a, b, d, m, n, k);
  }
  // Two pairs.
  static void by_tcgen05_pair(const element* a, const element* b, element* d, unsigned m,
                              unsigned n, unsigned k) {
    using namespace gemm_ladder;
    launch_cluster(tcgen05_pair, 2, 2 * persistent, tcgen05_pair_tiles.threads,
                   tcgen05_pair_parts::shared_bytes, nullptr,
                   tensor_map(a, m, k, k, tcgen05_pair_parts::a_rows),
                   tensor_map(b, n, k, k, tcgen05_pair_parts::b_rows), d, m, n, k);
  }

 private:
  template <class... P>
  static void by_tma(void (*kernel)(P...), const Tiles& tiles, std::size_t shared_bytes,
                     const element* a, const element* b, element* d, unsigned m, unsigned n,
                     unsigned k) {
    launch(kernel, persistent, tiles.threads, shared_bytes, nullptr,
           tensor_map(a, m, k, k, tiles.block_m), tensor_map(b, n, k, k, tiles.block_n), d, m, n,
           k);
  }
};

}  // namespace gpubench
