#include "tests/model/language_kernels.hpp"

#include <cuda_runtime.h>
// Also after it, and with CUDA's own headers installed.
#include <cuda_runtime_api.h>
#include <device_launch_parameters.h>
#include <vector_functions.h>
#include <vector_types.h>

#include <cstring>
#include <ctime>
#include <limits>

#include "harness/cuda/launch.hpp"
#include "tests/model/lanes.hpp"

namespace gpubench::kernels {
namespace {

__device__ unsigned variable = 1;

__global__ void change_variable_kernel(Change how) {
  if (how == Change::by_store) {
    variable *= 2;
  } else {
    atomicInc(&variable, 7);
  }
}

[[maybe_unused]] __global__ void trap_kernel(bool may) {
  if (may) __trap();
}

__global__ void absolutes_kernel(Numbers* out) {
  out->single = abs(out->single);
  out->twice = abs(out->twice);
  out->whole = abs(out->whole);
}

__global__ void plain_names_kernel(float* out, const float* in) {
  const float x = in[threadIdx.x];
  out[threadIdx.x] =
      sqrt(x) + std::sqrt(x) + exp(x) + tanh(x) + fma(x, x, x) + std::fma(x, x, x) + fmax(x, 0.5f);
}

__global__ void classes_kernel(int* out, const float* in) {
  const float x = in[threadIdx.x];
  int* const mine = out + 4 * threadIdx.x;
  mine[0] = isnan(x), mine[1] = isinf(x), mine[2] = signbit(x), mine[3] = isfinite(x);
}

__global__ void shift_bytes_kernel(unsigned char* bytes, std::size_t count, bool shared) {
  __shared__ unsigned char own[64];
  if (!shared) {
    memmove(bytes + 1, bytes, count - 1);
    return;
  }
  memcpy(own, bytes, count);
  memmove(own + 1, own, count - 1);
  memcpy(bytes, own, count);
}

// A NaN is 0, but where either type has 64 bits.
constexpr float nan_of_32 = std::numeric_limits<float>::quiet_NaN();
constexpr double nan_of_64 = std::numeric_limits<double>::quiet_NaN();
static_assert(model::clamped<int>(nan_of_32) == 0 && model::clamped<unsigned>(nan_of_32) == 0);
static_assert(model::clamped<int>(nan_of_64) == std::numeric_limits<int>::min());
static_assert(model::clamped<unsigned>(nan_of_64) == 0x80000000u);
static_assert(model::clamped<long long>(nan_of_32) == std::numeric_limits<long long>::min());

template <Bytes how>
__global__ void move_bytes_kernel(unsigned char* out, const unsigned char* in, std::size_t bytes) {
  __shared__ unsigned char own[32 * 64];
  const std::size_t at = threadIdx.x * bytes;
  if constexpr (how == Bytes::by_memcpy) memcpy(out + at, in + at, bytes);
  if constexpr (how == Bytes::by_std_memcpy) std::memcpy(out + at, in + at, bytes);
  if constexpr (how == Bytes::by_memmove) memmove(out + at, in + at, bytes);
  if constexpr (how == Bytes::by_memset) memset(out + at, 0x11, bytes);
  if constexpr (how == Bytes::through_shared) {
    memset(own + at, 0, bytes);
    memcpy(own + at, in + at, bytes);
    __syncthreads();
    memcpy(out + at, own + at, bytes);
  }
}

__global__ void store_two_results_kernel(float* out, const float* x) {
  sincosf(*x, &out[0], &out[1]);
  out[3] = modff(*x, &out[2]);
  int exponent = 0;
  out[5] = frexpf(*x, &exponent);
  out[4] = static_cast<float>(exponent);
}

__global__ void host_clock_kernel(long long* out) { *out = clock(); }
__global__ void sm_clock_kernel(long long* out) { *out = clock64(); }

template <class Struct>
__global__ void copy_structs_kernel(Struct* out, const Struct* in) {
  out[threadIdx.x] = in[threadIdx.x];
}

__global__ void wait_for_flag_kernel(volatile int* flag, unsigned waiting) {
  if (blockIdx.x != waiting) {
    *flag = 1;
    return;
  }
  while (*flag == 0) {
  }
}

__global__ void load_one_word_kernel(float* out, const volatile float* in, unsigned times) {
  float sum = 0;
  for (unsigned i = 0; i < times; ++i) sum += *in;
  out[threadIdx.x] = sum;
}

__global__ void use_local_array_kernel(int* out, int bytes) {
  volatile char array[most_local_bytes];
  for (int i = 0; i < bytes; i += 512) array[i] = static_cast<char>(i >> 9);
  int sum = 0;
  for (int i = 0; i < bytes; i += 512) sum += array[i] == static_cast<char>(i >> 9);
  *out = sum;
}

__global__ void atomics_kernel(int* words, unsigned* found) {
  const unsigned lane = threadIdx.x;
  auto* const naturals = reinterpret_cast<unsigned*>(words);
  atomicSub(&words[0], static_cast<int>(lane));
  atomicMin(&words[1], -static_cast<int>(lane));
  atomicMax(&naturals[2], lane);
  atomicAnd(&naturals[3], ~(1u << lane));
  atomicOr(&naturals[4], 1u << lane);
  atomicXor(&naturals[5], 3u << lane);
  found[lane] = atomicInc(&naturals[6], 4);
  found[32 + lane] = atomicDec(&naturals[7], 4);
  found[64 + lane] = atomicExch(&naturals[8], lane);
  found[96 + lane] = atomicCAS(&naturals[9], lane, lane + 1);
}

__global__ void block_votes_kernel(int* out) {
  const int i = static_cast<int>(threadIdx.x);
  int* const mine = out + 6 * i;
  mine[0] = __syncthreads_count(i % 3 == 0);
  mine[1] = __syncthreads_and(i % 3 == 0);
  mine[2] = __syncthreads_or(i % 3 == 0);
  mine[3] = __syncthreads_count(i < 64);
  mine[4] = __syncthreads_and(i < 64);
  mine[5] = __syncthreads_or(i >= 64);
}

__global__ void matches_kernel(unsigned* out) {
  const unsigned lane = threadIdx.x, value = lane % 4;
  unsigned* const mine = out + 6 * lane;
  int alike = 0;
  mine[0] = __match_any_sync(all_lanes, value);
  mine[1] = __match_all_sync(all_lanes, value, &alike);
  mine[2] = __match_all_sync(all_lanes, 7.0f, &alike);
  mine[3] = __reduce_add_sync(all_lanes, lane);
  mine[4] = static_cast<unsigned>(__reduce_min_sync(all_lanes, -static_cast<int>(lane)));
  mine[5] = __reduce_xor_sync(all_lanes, 1u << lane);
}

}  // namespace

void absolutes(Numbers* out) { launch(absolutes_kernel, 1, 1, 0, nullptr, out); }
void functions_by_plain_names(float* out, const float* x) {
  launch(plain_names_kernel, 1, 32, 0, nullptr, out, x);
}
void classes(int* out, const float* x) { launch(classes_kernel, 1, 4, 0, nullptr, out, x); }
void move_bytes(Bytes how, unsigned char* out, const unsigned char* in, std::size_t bytes) {
  const auto kernel = how == Bytes::by_memcpy       ? move_bytes_kernel<Bytes::by_memcpy>
                      : how == Bytes::by_std_memcpy ? move_bytes_kernel<Bytes::by_std_memcpy>
                      : how == Bytes::by_memmove    ? move_bytes_kernel<Bytes::by_memmove>
                      : how == Bytes::by_memset     ? move_bytes_kernel<Bytes::by_memset>
                                                    : move_bytes_kernel<Bytes::through_shared>;
  launch(kernel, 1, 32, 0, nullptr, out, in, bytes);
}
void shift_bytes(unsigned char* bytes, std::size_t count, bool shared) {
  launch(shift_bytes_kernel, 1, 1, 0, nullptr, bytes, count, shared);
}
void store_two_results(float* out, const float* x) {
  launch(store_two_results_kernel, 1, 1, 0, nullptr, out, x);
}
void read_clock(Clock which, long long* out) {
  launch(which == Clock::of_the_host ? host_clock_kernel : sm_clock_kernel, 1, 1, 0, nullptr, out);
}
template <class Struct>
void copy_structs(Struct* out, const Struct* in) {
  launch(copy_structs_kernel<Struct>, 1, 32, 0, nullptr, out, in);
}
template void copy_structs(Complex*, const Complex*);
template void copy_structs(Aligned*, const Aligned*);
template void copy_structs(Doubles*, const Doubles*);
template void copy_structs(Letters*, const Letters*);
template void copy_structs(Pixel*, const Pixel*);
template void copy_structs(TwoBytes*, const TwoBytes*);
template void copy_structs(double4*, const double4*);
void change_variable(Change how) { launch(change_variable_kernel, 1, 1, 0, nullptr, how); }
void wait_for_flag(int* flag, unsigned waiting) {
  launch(wait_for_flag_kernel, 2, 1, 0, nullptr, flag, waiting);
}
void load_one_word(float* out, const float* in, unsigned times) {
  launch(load_one_word_kernel, 1, 1, 0, nullptr, out, in, times);
}
void use_local_array(int* out, int bytes) {
  launch(use_local_array_kernel, 1, 1, 0, nullptr, out, bytes);
}
void atomics(int* words, unsigned* found) {
  launch(atomics_kernel, 1, 32, 0, nullptr, words, found);
}
void block_votes(int* out) { launch(block_votes_kernel, 1, 64, 0, nullptr, out); }
void matches(unsigned* out) { launch(matches_kernel, 1, 32, 0, nullptr, out); }

}  // namespace gpubench::kernels
