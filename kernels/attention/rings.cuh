// Tiles of Q, K and V on their way from the copy engine (TMA) to the Tensor Cores that read them.
#pragma once

#include <bulk_copy.hpp>
#include <cstddef>

#include "kernels/attention/groups.cuh"
#include "kernels/attention/softmax.cuh"
#include "kernels/common/bf16_rows.cuh"

namespace attention::rings {

using namespace bf16_rows;

// Tiles of Q, K and V are the same: 128 rows, in panels of 64 elements each, which is as far as a
// swizzle goes.
inline constexpr unsigned tile_rows = 128, panel_elements = row_bytes / sizeof(element),
                          panel_bytes = tile_rows * row_bytes;
template <unsigned head_dim>
constexpr unsigned tile_bytes = head_dim / panel_elements* panel_bytes;

// Tiles that one thread has brought and others read, so many at a time. Tile n is in stage n %
// held, as the (n / held)-th.
template <unsigned head_dim, unsigned held>
struct Ring {
  static constexpr unsigned tiles_bytes = held * tile_bytes<head_dim>;
  unsigned char* tiles;
  Mbarrier *brought, *done_with;

  // `readers`: how many arrivals say that all are done with a tile.
  __device__ void init(unsigned readers) const {
    for (unsigned s = 0; s < held; ++s) {
      mbarrier_init(&brought[s]);
      mbarrier_init(&done_with[s], readers);
    }
  }
  __device__ unsigned char* tile(unsigned n) const {
    return tiles + n % held * tile_bytes<head_dim>;
  }
  // Asks for tile n, the rows from `row` on, once all are done with what was there.
  __device__ void bring(unsigned n, const CUtensorMap* from, unsigned row) const {
    mbarrier_wait(&done_with[n % held], n / held % 2 ^ 1);  // the first time at once
    mbarrier_expect(&brought[n % held], tile_bytes<head_dim>);
#pragma unroll
    for (unsigned panel = 0; panel < head_dim / panel_elements; ++panel) {
      bulk_copy_box(tile(n) + panel * panel_bytes, from, panel * panel_elements, row,
                    &brought[n % held]);
    }
  }
  __device__ const unsigned char* wait_for(unsigned n) const {
    mbarrier_wait(&brought[n % held], n / held % 2);
    return tile(n);
  }
  // Until all are done with it.
  __device__ void wait_until_done(unsigned n) const {
    mbarrier_wait(&done_with[n % held], n / held % 2);
  }
  // One lane speaks for its warp.
  __device__ void release(unsigned n) const {
    if (threadIdx.x % warp == 0) mbarrier_arrive(&done_with[n % held]);
  }
};

struct Maps {
  const CUtensorMap *q, *k, *v;
};

// The share of all scores that is computed: tiles on the diagonal are computed whole.
inline double computed_share(std::size_t seq, bool causal) {
  return causal ? 0.5 + 0.5 / groups_of(seq) : 1;
}

}  // namespace attention::rings
