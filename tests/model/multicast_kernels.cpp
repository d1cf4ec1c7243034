#include "tests/model/multicast_kernels.hpp"

#include <dynamic_shared.hpp>

#include "cluster.hpp"
#include "harness/cuda/launch.hpp"
#include "harness/cuda/tensor_map.hpp"
#include "multicast.hpp"

namespace gpubench::kernels {
namespace {

constexpr unsigned threads = 64, words = 64, bytes = words * sizeof(unsigned);
constexpr unsigned short both = 3;

// What a block has in its shared memory.
struct Place {
  unsigned* words;
  Mbarrier* brought;
};
__device__ Place place() {
  auto* const first = static_cast<unsigned*>(dynamic_shared());
  return {first, reinterpret_cast<Mbarrier*>(first + 2 * words)};
}
constexpr unsigned place_bytes = 2 * bytes + sizeof(Mbarrier);

__device__ unsigned me() { return blockIdx.x * threads + threadIdx.x; }

__device__ void init(Mbarrier* brought) {
  if (threadIdx.x != 0) return;
  mbarrier_init(brought);
  cluster_mbarrier_fence();
}
__device__ void begin(const Place& at) {
  init(at.brought);
  cluster_sync();
}

__global__ void hand_out_kernel(unsigned from, unsigned ranks, const unsigned* in, unsigned* out) {
  const Place at = place();
  begin(at);
  const bool is_to_get = (ranks >> cluster_rank() & 1) != 0;
  if (threadIdx.x == 0 && is_to_get) mbarrier_expect(at.brought, bytes);
  if (threadIdx.x == 0 && cluster_rank() == from) {
    bulk_copy_multicast(at.words, in + blockIdx.x * words, bytes, at.brought,
                        static_cast<unsigned short>(ranks));
  }
  if (is_to_get) cluster_mbarrier_wait(at.brought, 0);
  out[me()] = is_to_get ? at.words[threadIdx.x] : 0;
}

__global__ void hand_out_box_kernel(const __grid_constant__ CUtensorMap map, unsigned char* out,
                                    unsigned row, unsigned column) {
  auto* shared = static_cast<unsigned char*>(dynamic_shared());
  unsigned char* const box = shared + (1024 - place_in_shared(shared) % 1024) % 1024;
  auto* const brought = reinterpret_cast<Mbarrier*>(box + handed_box_bytes);
  init(brought);
  cluster_sync();
  if (threadIdx.x == 0) {
    mbarrier_expect(brought, handed_box_bytes);
    if (cluster_rank() == 0) bulk_copy_box_multicast(box, &map, column, row, brought, both);
  }
  cluster_mbarrier_wait(brought, 0);
  for (unsigned i = threadIdx.x; i < handed_box_bytes; i += threads) {
    out[blockIdx.x * handed_box_bytes + i] = box[i];
  }
}

// --- with a mistake each, unless `fixed` ---

// Block `from` copies to both.
__device__ void copy_to_both(const Place& at, const unsigned* in, unsigned from = 0) {
  if (threadIdx.x == 0) {
    mbarrier_expect(at.brought, bytes);
    if (cluster_rank() == from) bulk_copy_multicast(at.words, in, bytes, at.brought, both);
  }
}

// Block 0 has its mbarrier already when block 1 copies, as blocks take turns here: by luck.
__global__ void too_early(const unsigned* in, unsigned* out, bool fixed) {
  const Place at = place();
  init(at.brought);
  fixed ? cluster_sync() : __syncthreads();
  copy_to_both(at, in, 1);
  cluster_mbarrier_wait(at.brought, 0);
  out[me()] = at.words[threadIdx.x];
  if (!fixed) cluster_sync();
}

__global__ void no_mbarrier_there(const unsigned* in, unsigned* out, bool fixed) {
  const Place at = place();
  if (fixed || cluster_rank() == 0) init(at.brought);
  cluster_sync();
  if (!fixed && cluster_rank() == 1) return;
  copy_to_both(at, in);
  cluster_mbarrier_wait(at.brought, 0);
  out[me()] = at.words[threadIdx.x];
}

__global__ void no_fence(const unsigned* in, unsigned* out, bool fixed) {
  const Place at = place();
  if (threadIdx.x == 0) mbarrier_init(at.brought);
  if (threadIdx.x == (fixed ? 0 : 1)) cluster_mbarrier_fence();
  cluster_sync();
  copy_to_both(at, in);
  cluster_mbarrier_wait(at.brought, 0);
  out[me()] = at.words[threadIdx.x];
}

__global__ void waits_as_one(const unsigned* in, unsigned* out, bool fixed) {
  const Place at = place();
  begin(at);
  copy_to_both(at, in);
  if (fixed) {
    cluster_mbarrier_wait(at.brought, 0);
  } else {
    mbarrier_wait(at.brought, 0);
  }
  out[me()] = at.words[threadIdx.x];
}

__global__ void not_waited_for(const unsigned* in, unsigned* out, bool fixed) {
  const Place at = place();
  begin(at);
  copy_to_both(at, in);
  if (fixed || cluster_rank() == 0) cluster_mbarrier_wait(at.brought, 0);
  out[me()] = at.words[threadIdx.x];
  cluster_sync();
}

__global__ void nobody_waits(const unsigned* in, unsigned* out, bool fixed) {
  const Place at = place();
  begin(at);
  copy_to_both(at, in);
  if (fixed || cluster_rank() == 0) cluster_mbarrier_wait(at.brought, 0);
  out[me()] = 1;
}

// Block 1 still reads what the next copy replaces: its own barrier is none for block 0.
__global__ void replaces_too_early(const unsigned* in, unsigned* out, bool fixed) {
  const Place at = place();
  begin(at);
  for (unsigned turn = 0; turn < 2; ++turn) {
    copy_to_both(at, in);
    cluster_mbarrier_wait(at.brought, turn);
    out[me()] = at.words[threadIdx.x];
    fixed ? cluster_sync() : __syncthreads();
  }
}

// Block 0 has words of its own where the copy of block 1 lands.
__global__ void over_a_store(const unsigned* in, unsigned* out, bool fixed) {
  const Place at = place();
  begin(at);
  if (cluster_rank() == 0) {
    unsigned* const own = at.words + threadIdx.x + (fixed ? words : 0);
    *own = 1;
    out[me()] = *own;
  }
  if (threadIdx.x == 0) {
    mbarrier_expect(at.brought, bytes);
    if (cluster_rank() == 1) bulk_copy_multicast(at.words, in, bytes, at.brought, both);
  }
  cluster_mbarrier_wait(at.brought, 0);
  out[me()] = at.words[threadIdx.x];
}

__global__ void too_many(const unsigned* in, unsigned* out, bool fixed) {
  const Place at = place();
  begin(at);
  if (threadIdx.x == 0) {
    mbarrier_expect(at.brought, bytes);
    if (cluster_rank() == 0) {
      bulk_copy_multicast(at.words, in, bytes, at.brought, fixed ? both : 7);
    }
  }
  cluster_mbarrier_wait(at.brought, 0);
  out[me()] = at.words[threadIdx.x];
}

__global__ void to_nobody(const unsigned* in, unsigned* out, bool fixed) {
  const Place at = place();
  begin(at);
  if (threadIdx.x == 0) {
    mbarrier_expect(at.brought, bytes);
    if (cluster_rank() == 0) {
      bulk_copy_multicast(at.words, in, bytes, at.brought, fixed ? both : 0);
    }
  }
  cluster_mbarrier_wait(at.brought, 0);
  out[me()] = at.words[threadIdx.x];
}

__global__ void has_ended(const unsigned* in, unsigned* out, bool fixed) {
  const Place at = place();
  begin(at);
  if (!fixed && cluster_rank() == 1) return;
  if (!fixed) cluster_sync();  // block 1 has ended by then
  copy_to_both(at, in);
  cluster_mbarrier_wait(at.brought, 0);
  out[me()] = at.words[threadIdx.x];
}

__global__ void one_expects_less(const unsigned* in, unsigned* out, bool fixed) {
  const Place at = place();
  begin(at);
  if (threadIdx.x == 0) {
    mbarrier_expect(at.brought, fixed || cluster_rank() == 0 ? bytes : 2 * bytes);
    if (cluster_rank() == 0) bulk_copy_multicast(at.words, in, bytes, at.brought, both);
  }
  cluster_mbarrier_wait(at.brought, 0);
  out[me()] = at.words[threadIdx.x];
}

template <void (*kernel)(const unsigned*, unsigned*, bool)>
void pair(const unsigned* in, unsigned* out, bool fixed) {
  launch_cluster(kernel, 2, 2, threads, place_bytes, nullptr, in, out, fixed);
}

}  // namespace

std::span<const MulticastMistake> multicast_mistakes() {
  static const MulticastMistake all[] = {
      {"too_early", &pair<too_early>,
       "block (0,0,0), whose mbarrier is not known to be there before the cluster has met"},
      {"no_mbarrier_there", &pair<no_mbarrier_there>,
       "block (1,0,0), which has not initialised the mbarrier"},
      {"no_fence", &pair<no_fence>,
       "block (1,0,0), which has initialised the mbarrier without a fence for the cluster"},
      {"waits_as_one", &pair<waits_as_one>, "another block has arrived at, but not in the cluster"},
      {"not_waited_for", &pair<not_waited_for>,
       "asynchronous copy that has not been waited for: 256 bytes"},
      {"nobody_waits", &pair<nobody_waits>, "block (1,0,0) may have ended before what another"},
      {"replaces_too_early", &pair<replaces_too_early>, "race: bulk copy to bytes 0..255"},
      {"over_a_store", &pair<over_a_store>, "and a store there by another block of the cluster"},
      {"too_many", &pair<too_many>, "bulk copy to blocks beyond the cluster's 2"},
      {"to_nobody", &pair<to_nobody>, "bulk copy to no block"},
      {"has_ended", &pair<has_ended>, "block (1,0,0), which has ended"},
      {"one_expects_less", &pair<one_expects_less>, "waits for a phase of an mbarrier"},
  };
  return all;
}

void hand_out(unsigned cluster, unsigned blocks, unsigned from, unsigned ranks, const unsigned* in,
              unsigned* out) {
  launch_cluster(hand_out_kernel, cluster, blocks, threads, place_bytes, nullptr, from, ranks, in,
                 out);
}

void hand_out_box(unsigned char* out, const __nv_bfloat16* matrix, unsigned columns, unsigned row,
                  unsigned column) {
  launch_cluster(hand_out_box_kernel, 2, 2, threads, 1024 + handed_box_bytes + sizeof(Mbarrier),
                 nullptr, tensor_map(matrix, 64, columns, columns, 8), out, row, column);
}

}  // namespace gpubench::kernels
