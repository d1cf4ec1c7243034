// CUDA's device language for the host compiler: what a kernel header may use when no nvcc reads it.
//
// Kernels stay plain CUDA. Qualifiers become nothing or the host's equivalent, the built-in
// variables are thread-local (one operating-system thread runs one block at a time, lane by lane),
// and everything a warp does together is a call into the emulator. Loads and stores need nothing
// here: the compiler's own access instrumentation reports them (harness/platform/model/README.md).
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "harness/platform/model/include/special_functions.h"

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

namespace gpubench::model {

// Copies one vector register's worth in a single access, as the hardware's 8- and 16-byte loads do;
// the compiler would otherwise split the copy of a struct into its members.
template <std::size_t bytes>
struct Whole {
  typedef unsigned char type __attribute__((vector_size(bytes), may_alias));
};
template <std::size_t bytes>
__attribute__((always_inline)) inline void copy_whole(void* to, const void* from) {
  using type = typename Whole<bytes>::type;
  *static_cast<volatile type*>(to) = *static_cast<const volatile type*>(from);
}

}  // namespace gpubench::model

#define GPUBENCH_VECTOR_BODY(type, bytes)                                       \
  constexpr type() = default;                                                   \
  type(const type& other) { gpubench::model::copy_whole<bytes>(this, &other); } \
  type& operator=(const type& other) {                                          \
    gpubench::model::copy_whole<bytes>(this, &other);                           \
    return *this;                                                               \
  }
#define GPUBENCH_VECTOR2(scalar, type)                     \
  struct alignas(2 * sizeof(scalar)) type {                \
    scalar x{}, y{};                                       \
    constexpr type(scalar x_, scalar y_) : x(x_), y(y_) {} \
    GPUBENCH_VECTOR_BODY(type, 2 * sizeof(scalar))         \
  };                                                       \
  inline type make_##type(scalar x, scalar y) { return {x, y}; }
// CUDA aligns a vector of four to at most 16 bytes.
#define GPUBENCH_VECTOR4(scalar, type)                                                         \
  struct alignas(4 * sizeof(scalar)) type {                                                    \
    scalar x{}, y{}, z{}, w{};                                                                 \
    constexpr type(scalar x_, scalar y_, scalar z_, scalar w_) : x(x_), y(y_), z(z_), w(w_) {} \
    GPUBENCH_VECTOR_BODY(type, 4 * sizeof(scalar))                                             \
  };                                                                                           \
  inline type make_##type(scalar x, scalar y, scalar z, scalar w) { return {x, y, z, w}; }

GPUBENCH_VECTOR2(signed char, char2)
GPUBENCH_VECTOR2(unsigned char, uchar2)
GPUBENCH_VECTOR2(short, short2)
GPUBENCH_VECTOR2(unsigned short, ushort2)
GPUBENCH_VECTOR2(int, int2)
GPUBENCH_VECTOR2(unsigned int, uint2)
GPUBENCH_VECTOR2(float, float2)
GPUBENCH_VECTOR2(double, double2)
GPUBENCH_VECTOR2(long long, longlong2)
GPUBENCH_VECTOR2(unsigned long long, ulonglong2)
GPUBENCH_VECTOR4(signed char, char4)
GPUBENCH_VECTOR4(unsigned char, uchar4)
GPUBENCH_VECTOR4(short, short4)
GPUBENCH_VECTOR4(unsigned short, ushort4)
GPUBENCH_VECTOR4(int, int4)
GPUBENCH_VECTOR4(unsigned int, uint4)
GPUBENCH_VECTOR4(float, float4)
#undef GPUBENCH_VECTOR2
#undef GPUBENCH_VECTOR4
#undef GPUBENCH_VECTOR_BODY

struct uint3 {
  unsigned int x{}, y{}, z{};
};
struct float3 {  // three scalars to the hardware, as in CUDA
  float x{}, y{}, z{};
};
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
void __syncwarp(unsigned mask = 0xffffffffu) noexcept;

// Warp exchanges. A source that takes no part gives the lane its own value back, where CUDA's is
// undefined; one that has ended is an error. `width` divides the warp into segments, a power of two
// up to 32.
namespace gpubench::model {
enum class Shuffle { index, up, down, exclusive_or };
std::uint64_t shuffle(unsigned mask, std::uint64_t value, Shuffle how, unsigned argument,
                      int width) noexcept;
unsigned ballot(unsigned mask, bool predicate) noexcept;
void* dynamic_shared_memory() noexcept;

template <class T>
__attribute__((always_inline)) inline T shuffled(unsigned mask, T value, Shuffle how,
                                                 unsigned argument, int width) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "a shuffle moves 4 or 8 bytes per lane");
  std::uint64_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(T));
  bits = shuffle(mask, bits, how, argument, width);
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

int atomicAdd(int* address, int value) noexcept;
unsigned int atomicAdd(unsigned int* address, unsigned int value) noexcept;
unsigned long long atomicAdd(unsigned long long* address, unsigned long long value) noexcept;
float atomicAdd(float* address, float value) noexcept;
double atomicAdd(double* address, double value) noexcept;

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

inline int __popc(unsigned int x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
inline int __clzll(long long x) {
  return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x));
}
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned int __brev(unsigned int x) {
  x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
  x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
  x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
  return __builtin_bswap32(x);
}
inline unsigned long long __brevll(unsigned long long x) {
  return static_cast<unsigned long long>(__brev(static_cast<unsigned>(x))) << 32 |
         __brev(static_cast<unsigned>(x >> 32));
}
inline unsigned int __umul24(unsigned int x, unsigned int y) {
  return (x & 0xffffffu) * (y & 0xffffffu);
}
inline int __mul24(int x, int y) {
  const int low_x = static_cast<int>(static_cast<unsigned>(x) << 8) >> 8;
  const int low_y = static_cast<int>(static_cast<unsigned>(y) << 8) >> 8;
  return static_cast<int>(static_cast<unsigned>(low_x) * static_cast<unsigned>(low_y));
}
inline int __mulhi(int x, int y) { return static_cast<int>(static_cast<long long>(x) * y >> 32); }
inline unsigned int __umulhi(unsigned int x, unsigned int y) {
  return static_cast<unsigned>(static_cast<unsigned long long>(x) * y >> 32);
}

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
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
// Counted, as the operators are not. (emulator/kernel_calls.cpp)
float __fadd_rn(float a, float b) noexcept;
float __fmul_rn(float a, float b) noexcept;

// The order that they make between blocks is the one in which the emulator runs these.
__forceinline__ void __threadfence() {}
