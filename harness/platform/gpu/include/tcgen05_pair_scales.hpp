// Products with block scales of a pair of blocks (cta_group::2). sm_100a and sm_103a; a trap
// elsewhere. (The model's answer to the same names:
// harness/platform/model/include/tcgen05_pair_scales.hpp.)
//
// A product of a pair (tcgen05_pair.hpp) whose scales lie in tensor memory as those of one block do
// (tcgen05_scales.hpp): in each block those of its own 128 rows of a, but of all columns of b,
// since its sums have them all. A copy that a thread of the even block asks for fills the tensor
// memory of both; each block gets what it has in its own shared memory at the place that the
// descriptor names.
//
// That a copy goes to both is in the PTX ISA, "tcgen05.cp". Where its bytes come from, and which
// scales a block needs, the ISA leaves open. CUTLASS (7107b055,
// include/cutlass/gemm/collective/sm100_blockscaled_mma_warpspecialized.hpp) has one thread of the
// pair copy by SM100_UTCCP_4x32dp128bit_2cta, where TileShape_SF, by which each block loads b's
// scales, has all of the product's columns, but half of its rows. ThunderKittens' mxfp8_gemm does
// the same: each block loads 128 rows of scales for a, 256 for b, and the even one copies.
#pragma once

#include <tcgen05_pair.hpp>
#include <tcgen05_scales.hpp>

// One thread of the even block.
#ifdef GPUBENCH_TCGEN05
GPUBENCH_TCGEN05_SCALE_COPY(tcgen05_pair_copy_scales, "2")
GPUBENCH_TCGEN05_SCALED_PRODUCT(tcgen05_pair_mma_scaled, "2")
#else
__device__ inline void tcgen05_pair_copy_scales(unsigned, std::uint64_t) { __trap(); }
template <gpubench::Tcgen05Type type>
__device__ inline void tcgen05_pair_mma_scaled(unsigned, std::uint64_t, std::uint64_t,
                                               std::uint32_t, unsigned, unsigned, bool) {
  __trap();
}
#endif
