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
enum class Mistake { size, zeros, target, source, to_global, from_shared };
void copy_wrongly(Mistake mistake, float* out, const float* in);
extern const int copy_line;

}  // namespace gpubench::kernels
