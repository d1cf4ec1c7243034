// mma.sync of narrow types whose blocks along k have scales: a warp multiplies small matrices again
// and again, and chooses other scales each time. sm_120a and sm_121a alone.
#pragma once

#include <block_scaled_mma.hpp>
#include <utility>

#include "kernels/compute_peak.cuh"

namespace compute_peak {

// Types of elements: what half a number is encoded as, how many there are along k and how many of
// those share a scale, and the two scales that there are: 1 and, in halves, `larger_scale`.
struct Mxfp8 {
  static constexpr unsigned bits = 8, depth = 32, together = 32;
  static constexpr int larger_scale = 4;
  __device__ static unsigned encode(int h) { return Fp8::encode(h); }
  __device__ static unsigned encode_scale(bool is_larger) { return is_larger ? 128 : 127; }
  template <unsigned... selectors, class... A>
  __device__ static void mma(A&... a) {
    mma_m16n8k32_mxfp8<selectors...>(a...);
  }
};
struct Nvfp4 {  // E2M1: a sign, two bits of exponent with a bias of 1, one of mantissa
  static constexpr unsigned bits = 4, depth = 64, together = 16;
  static constexpr int larger_scale = 3;  // unlike a power of two, it has a mantissa
  __device__ static unsigned encode(int h) {
    return (h < 0 ? 8u : 0u) | (h == 1 || h == -1 ? 1 : 2);
  }
  __device__ static unsigned encode_scale(bool is_larger) { return is_larger ? 0x3c : 0x38; }
  template <unsigned... selectors, class... A>
  __device__ static void mma(A&... a) {
    mma_m16n8k64_nvfp4<selectors...>(a...);
  }
};

// Each row of a and column of b has eight scales, held by two lanes: enough for `scaled_steps`
// steps.
inline constexpr unsigned scales_a_vector = 8;
template <class Type>
inline constexpr unsigned blocks = Type::depth / Type::together;
template <class Type>
inline constexpr unsigned scaled_steps = scales_a_vector / blocks<Type>;
// At random, and not by halves() of the elements themselves.
__host__ __device__ constexpr bool has_larger_scale(unsigned vector, unsigned place) {
  return halves(4096 + vector, place) > 0;
}
template <class Type>
__host__ __device__ constexpr int scale_halves(unsigned vector, unsigned place) {
  return has_larger_scale(vector, place) ? Type::larger_scale : 2;
}

inline constexpr unsigned scaled_sums = 8;  // of a warp, that do not wait for each other
// As many as leave sums of fp8 exact in `fp8_sum_bits` here too; those of nvfp4 have room in
// fp32's.
template <class Type>
inline constexpr unsigned scaled_rounds = std::is_same_v<Type, Mxfp8> ? 64 : 256;
template <class Type>
constexpr double scaled_flops_a_warp = 2.0 * 16 * 8 * Type::depth* scaled_sums* scaled_rounds<Type>;

// What a lane holds. Chains of sums share a register of b's scales by twos.
template <class Type>
struct ScaledOperands {
  unsigned a[4], b[scaled_sums][2], scales_of_a, scales_of_b[scaled_sums / 2];
};

template <class Type>
__device__ inline unsigned packed_elements(unsigned vector, unsigned k) {
  unsigned whole = 0;
#pragma unroll
  for (unsigned e = 0; e < 32 / Type::bits; ++e) {
    whole |= Type::encode(halves(vector, k + e)) << Type::bits * e;
  }
  return whole;
}
template <class Type>
__device__ inline unsigned packed_scales(unsigned vector, unsigned first) {
  unsigned whole = 0;
#pragma unroll
  for (unsigned byte = 0; byte < 4; ++byte) {
    whole |= Type::encode_scale(has_larger_scale(vector, first + byte)) << 8 * byte;
  }
  return whole;
}

template <class Type>
__device__ inline ScaledOperands<Type> scaled_operands(unsigned g, unsigned t) {
  constexpr unsigned in_register = 32 / Type::bits;
  ScaledOperands<Type> held;
#pragma unroll
  for (unsigned r = 0; r < 4; ++r) {
    held.a[r] = packed_elements<Type>(g + r % 2 * 8, (t + r / 2 * 4) * in_register);
  }
#pragma unroll
  for (unsigned s = 0; s < scaled_sums; ++s) {
#pragma unroll
    for (unsigned r = 0; r < 2; ++r) {
      held.b[s][r] = packed_elements<Type>(column_vector(s, g), (t + r * 4) * in_register);
    }
  }
  held.scales_of_a = packed_scales<Type>(g + t % 2 * 8, t / 2 * 4);
#pragma unroll
  for (unsigned pair = 0; pair < scaled_sums / 2; ++pair) {
    held.scales_of_b[pair] = packed_scales<Type>(column_vector(2 * pair + t / 2, g), t % 2 * 4);
  }
  return held;
}

// Where a step's scales begin among a vector's: b takes those that a has in the next step, so that
// no order of them would do for both.
template <class Type>
__host__ __device__ constexpr unsigned first_of_a(unsigned step) {
  return step % scaled_steps<Type> * blocks<Type>;
}
template <class Type>
__host__ __device__ constexpr unsigned first_of_b(unsigned step) {
  return first_of_a<Type>(step + 1);
}

// The product of chain `s` in a step: whose lane's scales, and which of its bytes.
template <class Type, unsigned s, unsigned step>
__device__ inline void add_scaled(float (&d)[4], const ScaledOperands<Type>& of) {
  constexpr unsigned a = first_of_a<Type>(step), b = first_of_b<Type>(step);
  Type::template mma<a % 4, a / 4, b % 4, s % 2 * 2 + b / 4>(d, of.a, of.b[s], of.scales_of_a,
                                                             of.scales_of_b[s / 2]);
}
// (A function of its own: nvcc expands no pack in a lambda.)
template <class Type, unsigned... i>
__device__ inline void add_round(float (&d)[scaled_sums][4], const ScaledOperands<Type>& of,
                                 std::integer_sequence<unsigned, i...>) {
  (add_scaled<Type, i % scaled_sums, i / scaled_sums>(d[i % scaled_sums], of), ...);
}

template <class Type>
__global__ void __launch_bounds__(matrix_threads) scaled_mma(double* out) {
  const ScaledOperands<Type> held = scaled_operands<Type>(threadIdx.x % warp / 4, threadIdx.x % 4);
  float d[scaled_sums][4] = {};
#pragma unroll 1
  for (unsigned round = 0; round < scaled_rounds<Type>; round += 8) {
    add_round(d, held, std::make_integer_sequence<unsigned, 8 * scaled_sums>{});
  }
  double sum = 0;
#pragma unroll
  for (unsigned s = 0; s < scaled_sums; ++s) {
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) sum += weight_of(4 * s + i) * static_cast<double>(d[s][i]);
  }
  out[blockIdx.x * std::size_t{matrix_threads} + threadIdx.x] = sum;
}

// What all steps add to a sum, in sixteenths.
template <class Type>
__host__ __device__ inline int scaled_product(unsigned row, unsigned column) {
  int product = 0;
  for (unsigned step = 0; step < scaled_steps<Type>; ++step) {
    for (unsigned k = 0; k < Type::depth; ++k) {
      const unsigned block = k / Type::together;
      product += halves(row, k) * halves(column, k) *
                 scale_halves<Type>(row, first_of_a<Type>(step) + block) *
                 scale_halves<Type>(column, first_of_b<Type>(step) + block);
    }
  }
  return product;
}

// What thread i leaves. Every sum on the way is exact.
template <class Type>
struct ExpectedScaledSums {
  __host__ __device__ double operator()(std::size_t i) const {
    const auto lane = static_cast<unsigned>(i % warp), g = lane / 4, t = lane % 4;
    double total = 0;
    for (unsigned s = 0; s < scaled_sums; ++s) {
      for (unsigned e = 0; e < 4; ++e) {
        const unsigned row = g + e / 2 * 8, column = 2 * t + e % 2;
        total += weight_of(4 * s + e) * scaled_product<Type>(row, column_vector(s, column));
      }
    }
    return total / 16 * (scaled_rounds<Type> / scaled_steps<Type>);
  }
};

}  // namespace compute_peak
