// CUDA's device language for the host compiler: what a kernel header may use when no nvcc reads it.
//
// Kernels stay plain CUDA. Qualifiers become nothing or the host's equivalent, the built-in
// variables are thread-local (one operating-system thread runs one block at a time, lane by lane),
// and everything a warp does together is a call into the emulator. Loads and stores need nothing
// here: the compiler's own access instrumentation reports them (harness/platform/model/README.md).
#pragma once

// CUDA has the C library's functions for every type in the global namespace, as C++ has them by
// these names. (<cmath> alone would leave `abs` of a float to C's, which is one of integers.)
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "harness/platform/model/include/atomic_functions.h"
#include "harness/platform/model/include/directed_rounding.h"
#include "harness/platform/model/include/integer_functions.h"
#include "harness/platform/model/include/packed_integers.h"
#include "harness/platform/model/include/special_functions.h"
#include "harness/platform/model/include/vectors.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(bytes) __attribute__((aligned(bytes)))  // anywhere in a declaration, as in CUDA
// A block's shared memory: there is one block at a time on an operating-system thread.
#define __shared__ __constinit thread_local

struct dim3 {
  unsigned int x = 1, y = 1, z = 1;
  constexpr dim3(unsigned int x_ = 1, unsigned int y_ = 1, unsigned int z_ = 1)
      : x(x_), y(y_), z(z_) {}
};

extern __constinit thread_local uint3 threadIdx;
extern __constinit thread_local uint3 blockIdx;
extern __constinit thread_local dim3 blockDim;
extern __constinit thread_local dim3 gridDim;
inline constexpr int warpSize = 32;

void __syncthreads() noexcept;
// The same barrier; to each thread, how many threads brought a predicate that holds, and whether
// all of them or any did.
int __syncthreads_count(int predicate) noexcept;
int __syncthreads_and(int predicate) noexcept;
int __syncthreads_or(int predicate) noexcept;
void __syncwarp(unsigned mask = 0xffffffffu) noexcept;

// Warp exchanges. What comes from a lane that the mask leaves out is undefined in CUDA: all bits
// are set here. A source that has ended is an error. `width` divides the warp into segments, a
// power of two up to 32.
namespace gpubench::model {
enum class Shuffle { index, up, down, exclusive_or };
std::uint64_t shuffle(unsigned mask, std::uint64_t value, Shuffle how, unsigned argument,
                      int width) noexcept;
unsigned ballot(unsigned mask, bool predicate) noexcept;
enum class Reduction {
  sum,
  least,
  greatest,
  least_signed,
  greatest_signed,
  bits_and,
  bits_or,
  bits_xor
};
unsigned reduce(unsigned mask, unsigned value, Reduction how) noexcept;
unsigned match(unsigned mask, std::uint64_t value, bool of_all) noexcept;
long long no_clock() noexcept;
void* copy_bytes(void* to, const void* from, std::size_t bytes) noexcept;
void* set_bytes(void* to, int byte, std::size_t bytes) noexcept;
void* dynamic_shared_memory() noexcept;

template <class T>
__attribute__((always_inline)) inline std::uint64_t bits_of(T value) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "a lane brings 4 or 8 bytes");
  std::uint64_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(T));
  return bits;
}
template <class T>
__attribute__((always_inline)) inline T shuffled(unsigned mask, T value, Shuffle how,
                                                 unsigned argument, int width) {
  const std::uint64_t bits = shuffle(mask, bits_of(value), how, argument, width);
  __builtin_memcpy(&value, &bits, sizeof(T));
  return value;
}
}  // namespace gpubench::model

#define GPUBENCH_SHUFFLE(name, how, argument_type)                                               \
  template <class T>                                                                             \
  __forceinline__ T name(unsigned mask, T value, argument_type argument, int width = warpSize) { \
    return gpubench::model::shuffled(mask, value, gpubench::model::Shuffle::how,                 \
                                     static_cast<unsigned>(argument), width);                    \
  }
GPUBENCH_SHUFFLE(__shfl_sync, index, int)
GPUBENCH_SHUFFLE(__shfl_up_sync, up, unsigned)
GPUBENCH_SHUFFLE(__shfl_down_sync, down, unsigned)
GPUBENCH_SHUFFLE(__shfl_xor_sync, exclusive_or, int)
#undef GPUBENCH_SHUFFLE

// Votes count the lanes of `mask` that exist and have not ended.
__forceinline__ unsigned __ballot_sync(unsigned mask, bool predicate) {
  return gpubench::model::ballot(mask, predicate);
}
__forceinline__ bool __any_sync(unsigned mask, bool predicate) {
  return gpubench::model::ballot(mask, predicate) != 0;
}
__forceinline__ bool __all_sync(unsigned mask, bool predicate) {
  return gpubench::model::ballot(mask, !predicate) == 0;
}

// Which lanes bring the same value, and all of them, if all do.
template <class T>
__forceinline__ unsigned __match_any_sync(unsigned mask, T value) {
  return gpubench::model::match(mask, gpubench::model::bits_of(value), false);
}
template <class T>
__forceinline__ unsigned __match_all_sync(unsigned mask, T value, int* all) {
  const unsigned lanes = gpubench::model::match(mask, gpubench::model::bits_of(value), true);
  *all = lanes != 0;
  return lanes;
}
#define GPUBENCH_REDUCE(name, type, how)                                                 \
  __forceinline__ type name(unsigned mask, type value) {                                 \
    return static_cast<type>(gpubench::model::reduce(mask, static_cast<unsigned>(value), \
                                                     gpubench::model::Reduction::how));  \
  }
GPUBENCH_REDUCE(__reduce_add_sync, unsigned, sum)
GPUBENCH_REDUCE(__reduce_add_sync, int, sum)
GPUBENCH_REDUCE(__reduce_min_sync, unsigned, least)
GPUBENCH_REDUCE(__reduce_min_sync, int, least_signed)
GPUBENCH_REDUCE(__reduce_max_sync, unsigned, greatest)
GPUBENCH_REDUCE(__reduce_max_sync, int, greatest_signed)
GPUBENCH_REDUCE(__reduce_and_sync, unsigned, bits_and)
GPUBENCH_REDUCE(__reduce_or_sync, unsigned, bits_or)
GPUBENCH_REDUCE(__reduce_xor_sync, unsigned, bits_xor)
#undef GPUBENCH_REDUCE

// As CUDA's: of a signed and an unsigned integer both are unsigned, and a NaN loses.
#define GPUBENCH_MIN_MAX(type, of_a, of_b)                                     \
  __forceinline__ type min(of_a a, of_b b) {                                   \
    return static_cast<type>(a) < static_cast<type>(b) ? static_cast<type>(a)  \
                                                       : static_cast<type>(b); \
  }                                                                            \
  __forceinline__ type max(of_a a, of_b b) {                                   \
    return static_cast<type>(a) < static_cast<type>(b) ? static_cast<type>(b)  \
                                                       : static_cast<type>(a); \
  }
#define GPUBENCH_MIN_MAX_OF(integer)                                     \
  GPUBENCH_MIN_MAX(integer, integer, integer)                            \
  GPUBENCH_MIN_MAX(unsigned integer, unsigned integer, unsigned integer) \
  GPUBENCH_MIN_MAX(unsigned integer, integer, unsigned integer)          \
  GPUBENCH_MIN_MAX(unsigned integer, unsigned integer, integer)
GPUBENCH_MIN_MAX_OF(int)
GPUBENCH_MIN_MAX_OF(long)
GPUBENCH_MIN_MAX_OF(long long)
#undef GPUBENCH_MIN_MAX_OF
#undef GPUBENCH_MIN_MAX
__forceinline__ float min(float a, float b) { return fminf(a, b); }
__forceinline__ float max(float a, float b) { return fmaxf(a, b); }
__forceinline__ double min(double a, double b) { return fmin(a, b); }
__forceinline__ double max(double a, double b) { return fmax(a, b); }
__forceinline__ double min(float a, double b) { return fmin(a, b); }
__forceinline__ double max(float a, double b) { return fmax(a, b); }
__forceinline__ double min(double a, float b) { return fmin(a, b); }
__forceinline__ double max(double a, float b) { return fmax(a, b); }

// Loads and stores with a hint to the caches, which the model does not follow.
#define GPUBENCH_LOAD(name)                  \
  template <class T>                         \
  __forceinline__ T name(const T* address) { \
    return *address;                         \
  }
#define GPUBENCH_STORE(name)                                             \
  template <class T>                                                     \
  __forceinline__ void name(T* address, std::type_identity_t<T> value) { \
    *address = value;                                                    \
  }
GPUBENCH_LOAD(__ldg)
GPUBENCH_LOAD(__ldca)
GPUBENCH_LOAD(__ldcg)
GPUBENCH_LOAD(__ldcs)
GPUBENCH_LOAD(__ldlu)
GPUBENCH_LOAD(__ldcv)
GPUBENCH_STORE(__stwb)
GPUBENCH_STORE(__stcg)
GPUBENCH_STORE(__stcs)
GPUBENCH_STORE(__stwt)
#undef GPUBENCH_LOAD
#undef GPUBENCH_STORE

// The model knows how long a kernel takes, and no time inside it: a kernel that asks is an error.
// (So is one that calls clock(), which the host's code may: emulator/kernel_calls.cpp.)
__forceinline__ long long clock64() { return gpubench::model::no_clock(); }
inline void __nanosleep(unsigned) {}
#define __trap() __builtin_trap()  // where it stands, for the row to name its line

// Copies and sets of bytes, of which the compiler's instrumentation says nothing. nvcc knows no
// alignment there and moves single bytes; so does this.
#ifdef __SANITIZE_THREAD__  // a file with kernels
#define GPUBENCH_REPLACE extern inline __attribute__((always_inline, gnu_inline))
extern "C" {
GPUBENCH_REPLACE void* memcpy(void* to, const void* from, std::size_t bytes) noexcept {
  return gpubench::model::copy_bytes(to, from, bytes);
}
GPUBENCH_REPLACE void* memmove(void* to, const void* from, std::size_t bytes) noexcept {
  return gpubench::model::copy_bytes(to, from, bytes);
}
GPUBENCH_REPLACE void* memset(void* to, int byte, std::size_t bytes) noexcept {
  return gpubench::model::set_bytes(to, byte, bytes);
}
}
#undef GPUBENCH_REPLACE
#endif

inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
// Counted, as the operators are not. (emulator/kernel_calls.cpp)
float __fadd_rn(float a, float b) noexcept;
float __fmul_rn(float a, float b) noexcept;
__forceinline__ float __fsub_rn(float a, float b) { return __fadd_rn(a, -b); }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dsub_rn(double a, double b) { return a - b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __dsqrt_rn(double x) { return sqrt(x); }
__forceinline__ float rsqrt(float x) { return rsqrtf(x); }
inline double rsqrt(double x) { return 1 / sqrt(x); }
__forceinline__ float exp10(float x) { return exp10f(x); }
__forceinline__ float fdividef(float x, float y) { return __fdividef(x, y); }
inline float __saturatef(float x) { return x > 0 ? (x < 1 ? x : 1) : 0; }  // a NaN is 0

// The order that they make between blocks is the one in which the emulator runs these.
__forceinline__ void __threadfence() {}
__forceinline__ void __threadfence_block() {}
__forceinline__ void __threadfence_system() {}
