// faulty: kernels that double numbers, each of them broken in its own way.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <stdexcept>

namespace faulty {

inline constexpr unsigned threads = 256;
inline constexpr unsigned blocks = 8;
inline constexpr unsigned elements = threads * blocks;

__device__ inline unsigned own() { return blockIdx.x * threads + threadIdx.x; }

__global__ void sound(float* out, const float* in) { out[own()] = 2 * in[own()]; }

// --- faults of a device ---

__global__ void out_of_bounds(float* out, const float* in) { out[own() + 1] = 2 * in[own()]; }

__global__ void null_pointer(float* out, const float* in) {
  float* const nowhere = in[0] == 12345 ? out : nullptr;
  nowhere[own()] = 2 * in[own()];
}

__global__ void misaligned(float* out, const float* in) {
  auto* const odd = reinterpret_cast<float*>(reinterpret_cast<char*>(out) + 2);
  odd[own() / 2] = 2 * in[own()];
}

__global__ void shared_out_of_bounds(float* out, const float* in) {
  __shared__ float tile[threads];
  tile[threadIdx.x + (in[0] == 12345 ? 0 : threads)] = in[own()];
  __syncthreads();
  out[own()] = 2 * tile[threadIdx.x];
}

__global__ void race(float* out, const float* in) {
  __shared__ float tile[threads];
  tile[threadIdx.x] = in[own()];
  out[own()] = 2 * tile[(threadIdx.x + 32) % threads];
}

__global__ void two_barriers(float* out, const float* in) {
  if (threadIdx.x < threads / 2) {
    __syncthreads();
    out[own()] = 2 * in[own()];
  } else {
    out[own()] = 2 * in[own()];
    __syncthreads();
  }
}

__global__ void shifts_too_far(float* out, const float* in) {
  const int bits = in[0] == 12345 ? 1 : 32;
  out[own()] = 2 * in[own()] + static_cast<float>(1 << bits == 7);
}

// --- what ends a process that emulates ---

__global__ void traps(float* out, const float* in) {
  if (in[0] != 12345) __builtin_trap();
  out[own()] = 2 * in[own()];
}

__global__ void aborts(float* out, const float* in) {
  if (in[0] != 12345) std::abort();
  out[own()] = 2 * in[own()];
}

__global__ void throws(float* out, const float* in) {
  if (in[0] != 12345) throw std::runtime_error("not in a kernel");
  out[own()] = 2 * in[own()];
}

__global__ void throws_a_number(float* out, const float* in) {
  if (in[0] != 12345) throw 42;
  out[own()] = 2 * in[own()];
}

__global__ void exits(float* out, const float* in) {
  if (in[0] != 12345) std::_Exit(0);
  out[own()] = 2 * in[own()];
}

__global__ void divides_by_zero(float* out, const float* in) {
  volatile int zero = in[0] == 12345 ? 1 : 0;
  out[own()] = 2 * in[own()] + static_cast<float>(7 / zero);
}

__global__ void large_stack(float* out, const float* in) {
  volatile float array[1 << 20];
  array[own()] = in[own()];
  array[(own() + 1) % elements] = 0;
  out[own()] = 2 * array[own()];
}

__device__ [[gnu::noinline]] inline float depth(const float* in, unsigned n) {
  return n == 0 ? *in : 1 + depth(in, n + (*in == 12345 ? 0 : 1));
}
__global__ void recurses(float* out, const float* in) { out[own()] = depth(in + own(), 1); }

__global__ void endless(float* out, const float* in) {
  for (volatile int turns = 0; in[0] != 12345;) turns = 1 - turns;
  out[own()] = 2 * in[own()];
}

__global__ void endless_loads(float* out, const float* in) {
  float sum = 0;
  for (unsigned i = own(); in[0] != 12345; i = (i + 1) % elements) sum += in[i];
  out[own()] = sum;
}

// --- numbers that are not to be trusted ---

__global__ void returns_early(float* out, const float* in) {
  if (blockIdx.x > 2) return;
  out[own()] = 2 * in[own()];
}

__global__ void returns_at_once(float*, const float*) {}

__global__ void writes_nan(float* out, const float* in) {
  out[own()] = own() == 100 ? std::nanf("") : 2 * in[own()];
}

__global__ void writes_infinity(float* out, const float* in) {
  out[own()] = own() == 100 ? INFINITY : 2 * in[own()];
}

__global__ void forgets_one(float* out, const float* in) {
  if (own() != elements - 7) out[own()] = 2 * in[own()];
}

__global__ void is_off_by_one(float* out, const float* in) {
  out[own()] = 2 * in[own()] + (own() == elements - 1 ? 1.0f / 1024 : 0.0f);
}

// What it loads, nobody uses: no compiler keeps the loads.
__global__ void optimised_away(float* out, const float* in) {
  float sum = 0;
  for (unsigned i = 0; i < 64; ++i) sum += in[(own() + i) % elements];
  if (threadIdx.x == 0) out[blockIdx.x] = sum > 0 ? 1 : 1;
}

// A grid of which the model runs a sample of blocks.
inline constexpr unsigned many_blocks = 1u << 16;
__global__ void large_returns_early(float* out, const float* in) {
  if (blockIdx.x % 2 == 1) return;
  out[own()] = 2 * in[own()];
}

}  // namespace faulty
