// Kernels whose counts can be told by hand, each launched on the default stream.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace gpubench::kernels {

// Element i of the grid.
void copy(float* to, const float* from, unsigned elements, dim3 grid, dim3 block);
// Block by block three-dimensional, so that the built-in variables all matter.
void number_threads(unsigned* out, dim3 grid, dim3 block);

// One warp: lane i loads or stores element offset + i * stride of `width` bytes (4, 8 or 16).
void load_strided(unsigned width, void* out, const void* in, unsigned stride, unsigned offset,
                  unsigned lanes = 32);
void store_strided(unsigned width, void* out, unsigned stride, unsigned offset,
                   unsigned lanes = 32);
// The same on dynamic shared memory, of which `bytes` are asked for.
void load_shared(unsigned width, void* out, unsigned stride, unsigned lanes, std::size_t bytes);
// One warp: out[i * stride] = in[i * stride] + 1. Both may be the same.
void add_one(float* out, const float* in, unsigned stride);

enum class Tile { plain, padded, swizzled };
// 32 x 32 tiles by 32 x 8 threads; `size` is a multiple of 32.
void transpose(Tile tile, float* out, const float* in, unsigned size);

void sum_fields_of_structs(float* out, const float* in, unsigned elements);  // in[i].x, .y, .z, .w
// out[i]: the sums of the structs of six numbers in[31 - i], by way of shared memory, and in[i]; a
// function takes each of them by value.
void pass_structs_by_value(float* out, const float* in);
void copy_odd_structs(short* out, const short* in);  // of three numbers
void sum_row_and_column(float* out, const float* rows, const float* columns, unsigned length,
                        dim3 grid);
void sum_fields_of_arrays(float* out, const float* in,
                          unsigned elements);  // x[i], y[i], z[i], w[i]

// One warp each; in[k * 32 + lane] is what iteration k reads.
void branch(float* out, float* other, const float* a, const float* b, unsigned split);
void lane_trips(float* out, const float* in);  // lane i: i iterations
void alternate(float* out, const float* a, const float* b,
               unsigned trips);                              // (lane + k) odd: a, else b
void break_at(float* out, const float* in, unsigned trips);  // lane i leaves in iteration i % 7
void store_and_break(float* out, const float* in, unsigned trips);  // and stores before it leaves
void skip_alternate(float* out, const float* in, unsigned trips);   // (lane + k) odd: continue
void nested_trips(float* out, const float* in);                     // j < lane % 4, k <= j
void call_from_two_places(float* out, const float* in, unsigned split);
void return_early(float* out, const float* in,
                  unsigned trips);  // lane i returns in iteration i % 7

// Loops in loops, branches, continue and break, all decided by choice(): what a lane does at each
// of the five accesses below is visited in program order by walk().
__host__ __device__ inline bool choice(unsigned seed, unsigned what, unsigned j, unsigned k,
                                       unsigned thread, unsigned one_in) {
  unsigned h = seed * 0x9E3779B1u + what * 0x85EBCA77u + j * 0xC2B2AE3Du + k * 0x27D4EB2Fu +
               thread * 0x165667B1u;
  h = (h ^ h >> 15) * 0x2C1B3C6Du;
  h = (h ^ h >> 12) * 0x297A2D39u;
  return (h ^ h >> 15) % one_in == 0;
}
inline constexpr unsigned walk_trips = 6, walk_inner_trips = 4, walk_sites = 5;
// in[((site * walk_trips + j) * walk_inner_trips + k) * 128 + thread], of 128 threads.
void walk(float* out, const float* in, unsigned seed);

enum class Exchange { index, up, down, exclusive_or };
void exchange(Exchange how, unsigned* out, unsigned argument, int width);
void exchange_wide(double* out);
void votes(unsigned* out);  // ballot, any and all of lane < 5; then of the lanes below 8 alone

void reduce_blocks(float* out, const float* in, unsigned elements, unsigned blocks);
void reduce_by_warps(float* out, const float* in, unsigned blocks);       // 256 threads per block
void histogram(unsigned* bins, const unsigned* values, unsigned blocks);  // 256 threads, 64 bins
void add_atomically(float* a, double* b, int* c, unsigned long long* d, unsigned blocks);
void fused(float* out, double* wide, unsigned trips, unsigned lanes);
// Each lane: `chains` (1 to 8) chains of `steps` multiply-adds each, side by side.
void chains(float* out, unsigned chains, unsigned steps, unsigned lanes);

void return_before_barrier(unsigned* out);

// Mistakes, and the lines they are on.
struct Lines {
  int load, store, atomic, misaligned, barrier, ended, without_oneself, nobody;
};
extern const Lines lines;
void load_beyond(float* out, const float* in, unsigned element);
void store_beyond(float* out, unsigned element);
void add_beyond(float* out, unsigned element);
void load_misaligned(float4* out, const float* in);
void barrier_in_branch(unsigned* out);
void shuffle_with_the_ended(unsigned* out);
void ballot_without_oneself(unsigned* out);
void wait_for_nobody(unsigned* out);

}  // namespace gpubench::kernels
