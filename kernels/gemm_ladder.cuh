// gemm_ladder: one matrix multiplication, rung by rung from one sum per thread to what a library
// does.
//
// Each rung adds one idea to the one before. In fp32 (fp32.cuh): neighbouring lanes on neighbouring
// elements, a tile in shared memory, elements of D in registers, more of them, 16 bytes at a time,
// the next tile in flight. In bf16 (mma_sync.cuh, wgmma_tma.cuh, tcgen05.cuh): fragments that warps
// load, matrices that four warps multiply where the copy engine puts them, sums that lie beside the
// Tensor Cores, and two SMs that multiply together.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "kernels/gemm_ladder/fp32.cuh"
#include "kernels/gemm_ladder/mma_sync.cuh"
#include "kernels/gemm_ladder/tcgen05.cuh"
#include "kernels/gemm_ladder/tcgen05_pair.cuh"
#include "kernels/gemm_ladder/wgmma_tma.cuh"

namespace gemm_ladder {

// What a warp does for one k of its elements of D, by the source: multiply-adds, other instructions
// (loads, and its share of what brings tiles to shared memory), wavefronts of shared memory (where
// there are no tiles, of L1; wide loads of which neighbouring lanes want the same return packed, by
// half as many), and bytes that come from L2.
struct Step {
  double fmas, others, wavefronts, l2_bytes;
};

// A rung with tiles in shared memory. `loads`, `wavefronts`: per k; `at_once` [elements]: how
// many of a tile a lane brings at a time, on average.
constexpr Step staged_step(const Tiles& tiles, double fmas, double loads, double wavefronts,
                           double at_once) {
  const double staged = static_cast<double>(tiles.block_m + tiles.block_n) / tiles.threads;
  // A load and a store each; 32 elements are a wavefront.
  return {fmas, loads + 2 * staged / at_once, wavefronts + staged, warp * sizeof(float) * staged};
}

// FLOP for each byte that a block's loads ask for, were there no cache.
constexpr double tile_intensity(const Tiles& tiles, double element_bytes) {
  const double m = tiles.block_m, n = tiles.block_n;
  return (tiles.block_k == 1 ? 1 : 2 * m * n / (m + n)) / element_bytes;
}

// What a device does in a second, all SMs together.
struct Rates {
  double instructions, requests, wavefronts, l2_bytes;  // requests: to memory of either kind
};
// FLOP/s at which the slowest of them lets the steps through.
constexpr double step_flops(const Step& step, const Rates& rates) {
  const double seconds =
      std::max({(step.fmas + step.others) / rates.instructions, step.others / rates.requests,
                step.wavefronts / rates.wavefronts, step.l2_bytes / rates.l2_bytes});
  return 2 * warp * step.fmas / seconds;
}

// What is left of a rate where some SMs have a tile of a square D more to make than others.
inline double useful_share(std::size_t size, const Tiles& tiles, double sms) {
  const auto n = static_cast<double>(size);
  const double all = std::ceil(n / tiles.block_m) * std::ceil(n / tiles.block_n);
  return all / (std::ceil(all / sms) * sms);
}

}  // namespace gemm_ladder
