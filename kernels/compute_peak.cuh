// compute_peak: nothing but arithmetic, as much of it as one unit takes.
//
// Three kinds of kernel. `chains`: a thread has eight chains of dependent multiply-adds side by
// side, in rounds of 512 with no branch in them. `mma` and `wgmma`: a warp (four warps) multiplies
// small matrices again and again and adds to sums that stay in registers. `tcgen05`: one thread
// asks for larger products, whose sums stay in tensor memory. Nothing is read; what is left at the
// end is added up, with weights, one number per thread. (`scaled_mma` and `scaled_tcgen05` do the
// same with types that have block scales.)
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <integer_mad.hpp>
#include <type_traits>
#include <warp_mma.hpp>

namespace compute_peak {

// --- multiply-adds ---

inline constexpr unsigned chain_threads = 256;
inline constexpr unsigned chains_a_thread = 8;
inline constexpr unsigned steps_a_round = 64;  // of each chain
inline constexpr unsigned chain_rounds = 4;
inline constexpr unsigned steps = chain_rounds * steps_a_round;

// Where chain c of thread i begins: a multiple of 2^-7 in [0, 1), which every type holds.
__host__ __device__ inline float beginning(std::size_t i, unsigned c) {
  return static_cast<float>((i * 7 + c * 37) % 128) / 128;
}

// What a chain works on: x -> 1/2 - x 255/256 turns a number over without letting it grow, or
// forget where it began. The constants have few enough bits for every type; a result is rounded
// once. The functions with `alone` say the same of one number, on host and device. `ones` are 1,
// which the compiler does not know: what is made of them stays in registers.
struct Fp32 {
  __device__ explicit Fp32(float2 /*ones*/) {}
  using Chain = float;
  static constexpr unsigned flops = 2;  // of a step
  __host__ __device__ static float begin(float x) { return x; }
  __host__ __device__ static float step(float x) { return fmaf(x, -0.99609375f, 0.5f); }
  __host__ __device__ static double value(float x) { return x; }
  __host__ __device__ static float begin_alone(float x) { return x; }
  __host__ __device__ static float step_alone(float x) { return step(x); }
  __host__ __device__ static double value_alone(float x) { return x; }
};
struct Fp64 {
  __device__ explicit Fp64(float2 /*ones*/) {}
  using Chain = double;
  static constexpr unsigned flops = 2;
  __host__ __device__ static double begin(float x) { return x; }
  __host__ __device__ static double step(double x) { return fma(x, -0.99609375, 0.5); }
  __host__ __device__ static double value(double x) { return x; }
  __host__ __device__ static double begin_alone(float x) { return x; }
  __host__ __device__ static double step_alone(double x) { return step(x); }
  __host__ __device__ static double value_alone(double x) { return x; }
};
// Pairs, whose halves go the same way. In double the product and its sum with a half are exact.
// A constant in the instruction, or one whose halves the compiler knows to be equal, is taken by
// one of two pipes alone, at half the rate (an H100, measured: 65 TFLOP/s). Of pairs it knows
// nothing about, ptxas sends every other one to each pipe.
struct Fp16x2 {
  __half2 factor, summand;
  __device__ explicit Fp16x2(float2 ones)
      : factor(times(-0.99609375f, ones)), summand(times(0.5f, ones)) {}
  __device__ static __half2 times(float x, float2 ones) {
    return __halves2half2(__float2half(x * ones.x), __float2half(x * ones.y));
  }
  using Chain = __half2;
  static constexpr unsigned flops = 4;
  __device__ static __half2 begin(float x) { return __half2half2(__float2half(x)); }
  __device__ __half2 step(__half2 x) const { return __hfma2(x, factor, summand); }
  __device__ static double value(__half2 x) { return __half2float(__high2half(x)); }
  __host__ __device__ static __half begin_alone(float x) { return __float2half(x); }
  __host__ __device__ static __half step_alone(__half x) {
    return __double2half(static_cast<double>(__half2float(x)) * -0.99609375 + 0.5);
  }
  __host__ __device__ static double value_alone(__half x) { return __half2float(x); }
};
struct Bf16x2 {
  __nv_bfloat162 factor, summand;
  __device__ explicit Bf16x2(float2 ones)
      : factor(times(-0.99609375f, ones)), summand(times(0.5f, ones)) {}
  __device__ static __nv_bfloat162 times(float x, float2 ones) {
    return __halves2bfloat162(__float2bfloat16(x * ones.x), __float2bfloat16(x * ones.y));
  }
  using Chain = __nv_bfloat162;
  static constexpr unsigned flops = 4;
  __device__ static __nv_bfloat162 begin(float x) {
    return __bfloat162bfloat162(__float2bfloat16(x));
  }
  __device__ __nv_bfloat162 step(__nv_bfloat162 x) const {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
    __trap();  // no such instruction
    return x;
#else
    return __hfma2(x, factor, summand);
#endif
  }
  __device__ static double value(__nv_bfloat162 x) { return __bfloat162float(__high2bfloat16(x)); }
  __host__ __device__ static __nv_bfloat16 begin_alone(float x) { return __float2bfloat16(x); }
  __host__ __device__ static __nv_bfloat16 step_alone(__nv_bfloat16 x) {
    return __double2bfloat16(static_cast<double>(__bfloat162float(x)) * -0.99609375 + 0.5);
  }
  __host__ __device__ static double value_alone(__nv_bfloat16 x) { return __bfloat162float(x); }
};
// Wraps around. A step is one operation, as in the tables of throughput.
struct Int32 {
  __device__ explicit Int32(float2 /*ones*/) {}
  using Chain = int;
  static constexpr unsigned flops = 1;
  static constexpr int factor = 1664525, summand = 1013904223;
  __host__ __device__ static int begin(float x) { return static_cast<int>(x * 128); }
  __device__ static int step(int x) { return mad_lo(x, factor, summand); }
  __host__ __device__ static double value(int x) { return x; }
  __host__ __device__ static int begin_alone(float x) { return begin(x); }
  __host__ __device__ static int step_alone(int x) {
    return static_cast<int>(static_cast<unsigned>(x) * static_cast<unsigned>(factor) +
                            static_cast<unsigned>(summand));
  }
  __host__ __device__ static double value_alone(int x) { return x; }
};

// A thread leaves the sum of where its chains end.
template <class Unit>
__global__ void __launch_bounds__(chain_threads) chains(double* out) {
  const std::size_t i = blockIdx.x * std::size_t{chain_threads} + threadIdx.x;
  const Unit unit({static_cast<float>(blockDim.x) / chain_threads, static_cast<float>(blockDim.y)});
  typename Unit::Chain x[chains_a_thread];
#pragma unroll
  for (unsigned c = 0; c < chains_a_thread; ++c) x[c] = Unit::begin(beginning(i, c));
#pragma unroll 1
  for (unsigned r = 0; r < chain_rounds; ++r) {
#pragma unroll
    for (unsigned s = 0; s < steps_a_round; ++s) {
#pragma unroll
      for (unsigned c = 0; c < chains_a_thread; ++c) x[c] = unit.step(x[c]);
    }
  }
  double sum = 0;
#pragma unroll
  for (unsigned c = 0; c < chains_a_thread; ++c) sum += Unit::value(x[c]);
  out[i] = sum;
}

template <class Unit>
struct ExpectedChains {
  __host__ __device__ double operator()(std::size_t i) const {
    double sum = 0;
    for (unsigned c = 0; c < chains_a_thread; ++c) {
      auto x = Unit::begin_alone(beginning(i, c));
      for (unsigned s = 0; s < steps; ++s) x = Unit::step_alone(x);
      sum += Unit::value_alone(x);
    }
    return sum;
  }
};

// --- matrices ---

inline constexpr unsigned matrix_threads = 128;
inline constexpr unsigned warp = 32;

// Elements of a and b are halves: ±1/2 and ±1, signs at random. (Constant ones would run faster on
// real parts, because fewer wires switch.)
__host__ __device__ constexpr int halves(unsigned vector, unsigned k) {
  unsigned mixed = (vector * 64 + k + 1) * 0x9e3779b9u;
  mixed ^= mixed >> 15;
  return (mixed >> 7 & 1 ? 1 : 2) * (mixed >> 12 & 1 ? 1 : -1);
}
// b's columns are other vectors than a's rows.
__host__ __device__ constexpr unsigned column_vector(unsigned chain, unsigned column) {
  return 1024 + chain * 256 + column;
}

// Types of elements: what half a number is encoded as, and the two ways to multiply.
struct Fp16 {
  using Element = std::uint16_t;
  using Sum = float;
  __device__ static Element encode(int h) { return __half_as_ushort(__float2half(h / 2.0f)); }
  template <class... A>
  __device__ static void mma(A&... a) {
    mma_m16n8k16_fp16(a...);
  }
  template <class... A>
  __device__ static void wgmma(A&... a) {
    wgmma_m64n128_fp16(a...);
  }
};
struct Bf16 {
  using Element = std::uint16_t;
  using Sum = float;
  __device__ static Element encode(int h) {
    return __bfloat16_as_ushort(__float2bfloat16(h / 2.0f));
  }
  template <class... A>
  __device__ static void mma(A&... a) {
    mma_m16n8k16_bf16(a...);
  }
  template <class... A>
  __device__ static void wgmma(A&... a) {
    wgmma_m64n128_bf16(a...);
  }
};
struct Tf32 {
  using Element = float;
  using Sum = float;
  __device__ static Element encode(int h) { return h / 2.0f; }
  template <class... A>
  __device__ static void mma(A&... a) {
    mma_m16n8k8_tf32(a...);
  }
  template <class... A>
  __device__ static void wgmma(A&... a) {
    wgmma_m64n128_tf32(a...);
  }
};
struct Fp8 {  // E4M3: a sign, four bits of exponent with a bias of 7, three of mantissa
  using Element = std::uint8_t;
  using Sum = float;
  __device__ static Element encode(int h) {
    const int exponent = h == 1 || h == -1 ? 6 : 7;
    return static_cast<Element>((h < 0 ? 0x80 : 0) | exponent << 3);
  }
  template <class... A>
  __device__ static void mma(A&... a) {
    mma_m16n8k32_fp8(a...);
  }
  template <class... A>
  __device__ static void wgmma(A&... a) {
    wgmma_m64n128_fp8(a...);
  }
};
struct Int8 {  // whole numbers: twice as much as the others
  using Element = std::int8_t;
  using Sum = int;
  __device__ static Element encode(int h) { return static_cast<Element>(h); }
  template <class... A>
  __device__ static void mma(A&... a) {
    mma_m16n8k32_int8(a...);
  }
  template <class... A>
  __device__ static void wgmma(A&... a) {
    wgmma_m64n128_int8(a...);
  }
};
struct TensorFp64 {
  using Element = double;
  using Sum = double;
  __device__ static Element encode(int h) { return h / 2.0; }
  template <class... A>
  __device__ static void mma(A&... a) {
    mma_m16n8k16_fp64(a...);
  }
};

// Elements in a row of a.
template <class Type>
inline constexpr unsigned depth = std::is_same_v<Type, TensorFp64>
                                      ? 16
                                      : 32 / sizeof(typename Type::Element);

// Multiplications of a warp that do not wait for each other, each with its own columns of b.
template <class Type>
inline constexpr unsigned sums_a_warp = std::is_same_v<Type, TensorFp64> ? 4 : 8;
// Sums of fp8 keep 14 bits on sm_90 (DeepSeek-V3, arXiv 2412.19437, 3.3.2), and are taken to on
// sm_89: there are as many rounds as leave them exact. Those of the other types have room for all.
inline constexpr unsigned fp8_sum_bits = 14;
template <class Type>
inline constexpr unsigned mma_rounds = std::is_same_v<Type, Fp8> ? 208 : 512;

// What accumulator i counts for in the number that a thread leaves: every one differently, so that
// two that were exchanged show.
__host__ __device__ constexpr double weight_of(unsigned i) { return 1 + i; }

template <class Type>
constexpr double mma_flops_a_warp = 2.0 * 16 * 8 * depth<Type>* sums_a_warp<Type>* mma_rounds<Type>;

template <class Type>
__global__ void __launch_bounds__(matrix_threads) mma(double* out) {
  using Element = typename Type::Element;
  using Register = std::conditional_t<sizeof(Element) == 8, double, unsigned>;
  constexpr unsigned in_register = sizeof(Register) / sizeof(Element);
  constexpr unsigned registers_of_a = depth<Type> / 2 / in_register;
  const unsigned g = threadIdx.x % warp / 4, t = threadIdx.x % 4;
  // The register that holds the elements of one row or column from `k` on.
  const auto packed = [](unsigned vector, unsigned k) {
    Element elements[in_register];
#pragma unroll
    for (unsigned e = 0; e < in_register; ++e) elements[e] = Type::encode(halves(vector, k + e));
    Register whole;
    memcpy(&whole, elements, sizeof(whole));
    return whole;
  };
  Register a[registers_of_a], b[sums_a_warp<Type>][registers_of_a / 2];
#pragma unroll
  for (unsigned r = 0; r < registers_of_a; ++r) {
    a[r] = packed(g + r % 2 * 8, (t + r / 2 * 4) * in_register);
  }
#pragma unroll
  for (unsigned s = 0; s < sums_a_warp<Type>; ++s) {
#pragma unroll
    for (unsigned r = 0; r < registers_of_a / 2; ++r) {
      b[s][r] = packed(column_vector(s, g), (t + r * 4) * in_register);
    }
  }
  typename Type::Sum d[sums_a_warp<Type>][4] = {};
#pragma unroll 1
  for (unsigned round = 0; round < mma_rounds<Type>; round += 8) {
#pragma unroll
    for (unsigned unrolled = 0; unrolled < 8; ++unrolled) {
#pragma unroll
      for (unsigned s = 0; s < sums_a_warp<Type>; ++s) Type::mma(d[s], a, b[s], d[s]);
    }
  }
  double sum = 0;
#pragma unroll
  for (unsigned s = 0; s < sums_a_warp<Type>; ++s) {
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
      sum += weight_of(4 * s + i) * static_cast<double>(d[s][i]);
    }
  }
  out[blockIdx.x * std::size_t{matrix_threads} + threadIdx.x] = sum;
}

template <class Type>
inline constexpr unsigned wgmma_rounds = std::is_same_v<Type, Fp8> ? 192 : 256;
template <class Type>
constexpr double wgmma_flops_per_block = 2.0 * 64 * wgmma_columns* depth<Type>* wgmma_rounds<Type>;

template <class Type>
__global__ void __launch_bounds__(matrix_threads) wgmma(double* out) {
  using Element = typename Type::Element;
  __shared__ __align__(128) Element a[64 * depth<Type>];
  __shared__ __align__(128) Element b[wgmma_columns * depth<Type>];
  // Neighbours in a tile are stored by neighbouring threads, in the order of tile_offset().
  for (unsigned vector = threadIdx.x; vector < wgmma_columns; vector += matrix_threads) {
    for (unsigned k = 0; k < depth<Type>; ++k) {
      const unsigned at = tile_offset(vector, k * sizeof(Element)) / sizeof(Element);
      if (vector < 64) a[at] = Type::encode(halves(vector, k));
      b[at] = Type::encode(halves(column_vector(0, vector), k));
    }
  }
  wgmma_stored();
  __syncthreads();
  typename Type::Sum d[64] = {};
#pragma unroll 1
  for (unsigned round = 0; round < wgmma_rounds<Type>; round += 16) {
    wgmma_begin(d);
#pragma unroll
    for (unsigned unrolled = 0; unrolled < 16; ++unrolled) Type::wgmma(d, a, b);
    wgmma_wait(d);  // meanwhile another block's multiplications fill the unit
  }
  double sum = 0;
#pragma unroll
  for (unsigned i = 0; i < 64; ++i) sum += weight_of(i) * static_cast<double>(d[i]);
  out[blockIdx.x * std::size_t{matrix_threads} + threadIdx.x] = sum;
}

// What thread i leaves. Every sum on the way is exact.
template <class Type>
struct ExpectedSums {
  bool by_warpgroup;
  __host__ __device__ double operator()(std::size_t i) const {
    const auto lane = static_cast<unsigned>(i % warp), g = lane / 4, t = lane % 4;
    const auto first_row = static_cast<unsigned>(by_warpgroup ? i % matrix_threads / warp * 16 : 0);
    const unsigned sums = by_warpgroup ? wgmma_columns / 8 : sums_a_warp<Type>;
    double total = 0;
    for (unsigned s = 0; s < sums; ++s) {
      for (unsigned e = 0; e < 4; ++e) {
        const unsigned row = first_row + g + e / 2 * 8, column = 2 * t + e % 2;
        const unsigned vector =
            by_warpgroup ? column_vector(0, 8 * s + column) : column_vector(s, column);
        int product = 0;
        for (unsigned k = 0; k < depth<Type>; ++k) product += halves(row, k) * halves(vector, k);
        total += weight_of(4 * s + e) * product;
      }
    }
    const double scale = std::is_same_v<Type, Int8> ? 1 : 0.25;
    return scale * (by_warpgroup ? wgmma_rounds<Type> : mma_rounds<Type>)*total;
  }
};

// --- what theory says they cost ---

// A unit's peak: FLOP/s of the whole device.
constexpr double peak(double flops_a_clock_of_sm, double sms, double clock) {
  return flops_a_clock_of_sm * sms * clock;
}

}  // namespace compute_peak
