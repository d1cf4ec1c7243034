// Asynchronous copies, each kernel launched on the default stream.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace gpubench::kernels {

// One warp: lane i copies element i of `width` bytes (4, 8 or 16) to shared memory, less `zeros`.
void copy_through_shared(unsigned width, void* out, const void* in, std::size_t zeros = 0);
// One warp sums `tiles` tiles of 32 floats, with `stages` (1, 2 or 4) of them under way at once.
void sum_tiles(unsigned stages, float* out, const float* in, unsigned tiles);

// Mistakes of lane 0: a size that there is not, more zeros than bytes, misaligned at either end,
// and memory of the wrong kind at either end.
enum class CopyMistake { size, zeros, target, source, to_global, from_shared };
void copy_wrongly(CopyMistake mistake, float* out, const float* in);
extern const int copy_line;

// One warp copies 32 floats to shared memory, and its lanes then read each other's. What is missing
// or comes too early: nothing; the wait; the commit before it; the wait for the last of two groups;
// the barrier behind it; or it stands before the wait. Or a store meets the copy.
enum class Early { not_at_all, no_wait, no_commit, short_wait, no_barrier, barrier_first, store };
void read_early(Early early, float* out, const float* in);
// Each of 32 lanes copies a float, and after a barrier waits for it; then all read the first's.
void read_of_first(float* out, const float* in);

// Two warps; thread 0 has a bulk copy bring 64 floats, and all read them. Who waits for it: all;
// thread 0 alone, before the others meet it; thread 0 alone; or all, but for the wrong phase. Or
// the barrier is nobody's; is used before the block has met; hears of more bytes than come; or
// arrives twice. Or the copy has 12 bytes, is misaligned, or goes beyond what is allocated.
enum class Bulk {
  all_wait,
  one_waits_for_all,
  one_waits,
  wrong_phase,
  no_barrier,
  unmet_barrier,
  lost_bytes,
  second_arrival,
  size,
  misaligned,
  beyond,
};
void copy_in_bulk(Bulk bulk, float* out, const float* in);
// As many tiles of 64 floats through two stages; the sums of what each thread read.
void sum_bulk_tiles(float* out, const float* in, unsigned tiles);

}  // namespace gpubench::kernels
