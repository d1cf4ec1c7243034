// Kernels that call functions of numbers by name, and atomics of half and with a scope.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

namespace gpubench::kernels {

// One thread: out[k] = function k of x, in this order: the names from hexp to hrint, then the same
// of the pair (x, x).
constexpr unsigned half_functions = 15;
void half_functions_of(__half* out, __half2* pairs, __half x);
void bfloat_functions_of(__nv_bfloat16* out, __nv_bfloat162* pairs, __nv_bfloat16 x);

// One thread: sinpi and cospi of x, as float and as double.
void sines_of_pi_times(double* out, const double* x);

// One thread: a + b, a - b, a * b and a * b + c of float, then of double, towards zero, up and
// down; then the reciprocal root of a.
struct Rounded {
  float of_floats[12];
  double of_doubles[12];
  float root;
};
void rounded_by_direction(Rounded* out, float a, float b, float c);

// One warp adds 1 to one half, 1 and 2 to a pair of each kind, and lane i adds i to a word, within
// the block and in the system; found[lane] is what the last one found.
struct Sums {
  __half number;
  __half2 pair;
  __nv_bfloat162 bfloats;
  int of_block, of_system, compared;
};
void add_atomically(Sums* sums, int* found);
// The word lies beyond its allocation.
void add_beyond(int* words);
extern const int beyond_line;

}  // namespace gpubench::kernels
