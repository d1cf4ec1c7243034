// How a layer's weights lie in memory, and what a lane does with 16 bytes of a row of them.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <outer_product.hpp>

#include "kernels/common/pack.cuh"

namespace gemm_batch {

// bf16, row by row; sums are multiply-adds in fp32.
struct Bf16Weights {
  using element = __nv_bfloat16;              // of activations and results
  static constexpr unsigned together = 8;     // weights in 16 bytes
  static constexpr unsigned at_once = 4;      // loads of a row in flight
  static constexpr unsigned activations = 1;  // times 16 bytes that they are multiplied by
  static constexpr double weight_bytes = 2;
  static constexpr const char* unit = "fp32";  // that multiplies
  // The share of the unit's operations that the product needs.
  static constexpr double useful_share(double) { return 1; }

  const element* weights;

  struct Held {
    Pack<element> pack;
  };
  struct Values {
    float of[together];
  };

  // The 16 bytes `at` of a row, of `packs`.
  __device__ Held load(std::size_t row, unsigned packs, unsigned at) const {
    return {load_pack(weights, row * packs + at)};
  }
  // Where the activations for them are, in units of 16 bytes.
  __device__ static unsigned place(unsigned at, unsigned) { return at; }

  __device__ static Values values(const Held& held) {
    Values values;
    held.pack.unpack(values.of);
    return values;
  }
  template <unsigned columns, unsigned rows>
  __device__ static void add(float (&sums)[columns][rows], const Values (&weights)[rows],
                             const Pack<element> (&x)[columns][activations]) {
    float numbers[columns][together];
#pragma unroll
    for (unsigned c = 0; c < columns; ++c) x[c][0].unpack(numbers[c]);
#pragma unroll
    for (unsigned i = 0; i < together; ++i) {
      float of_tokens[columns], of_rows[rows];
#pragma unroll
      for (unsigned c = 0; c < columns; ++c) of_tokens[c] = numbers[c][i];
#pragma unroll
      for (unsigned r = 0; r < rows; ++r) of_rows[r] = weights[r].of[i];
      add_outer_product(sums, of_tokens, of_rows);
    }
  }
};

// Four bits: a nibble q stands for (q - 8) times the scale of its group, 128 weights of a row that
// follow each other. A group is four times 16 bytes, one per lane. Word j of the i-th 16 bytes has
// the eight weights from 32 j + 8 i of the group on, so that four lanes read 64 bytes of
// activations side by side. Within a word, weight e is nibble e / 2 + 4 (e % 2), counted from the
// lowest bits: weights 0, 2, 4, 6 lie in the lower half, 1, 3, 5, 7 in the upper. So one mask takes
// a pair of neighbours, each in a half of its own, where a pair of fp16 has them.
inline constexpr unsigned group = 128, word_weights = 8;
__host__ __device__ constexpr unsigned nibble_of(unsigned e) { return e / 2 + e % 2 * 4; }
// The word of a row that weight `k` of it is in.
__host__ __device__ constexpr std::size_t word_of(std::size_t k) {
  const std::size_t in_group = k % group;
  return k / group * (group / word_weights) + in_group % 32 / word_weights * 4 + in_group / 32;
}

struct Int4Weights {
  using element = __half;
  static constexpr unsigned together = 32;
  static constexpr unsigned at_once = 2;
  static constexpr unsigned activations = 4;
  static constexpr double weight_bytes = 0.5 + sizeof(__half) / double{group};
  static constexpr const char* unit = "fp16x2";
  // A pair of weights takes an operation, and another one for each token.
  static constexpr double useful_share(double tokens) { return tokens / (tokens + 1); }

  const uint4* packed;
  const __half* scales;  // [row][k / group]

  struct Held {
    uint4 words;
    __half scale;
  };
  struct Values {
    __half2 pairs[together / 2];
    float scale;
  };

  __device__ Held load(std::size_t row, unsigned packs, unsigned at) const {
    constexpr unsigned lanes = group / together;
    return {packed[row * packs + at], scales[row * (packs / lanes) + at / lanes]};
  }
  __device__ static unsigned place(unsigned at, unsigned word) {
    return at / 4 * (group / word_weights) + word * 4 + at % 4;
  }

  // A nibble in the lowest bits of an fp16 that is 1024 makes 1024 + q of it, sixteen times as much
  // in the next four: so a mask and one operation on the pair make two weights, exactly.
  __device__ static __half2 pair_of(unsigned word, unsigned mask) {
    constexpr unsigned pair_of_1024 = 0x64006400;
    const unsigned bits = (word & mask) | pair_of_1024;
    return *reinterpret_cast<const __half2*>(&bits);
  }
  __device__ static Values values(const Held& held) {
    const unsigned words[] = {held.words.x, held.words.y, held.words.z, held.words.w};
    const __half2 low_offset = __float2half2_rn(-1032), sixteenth = __float2half2_rn(1.0f / 16),
                  high_offset = __float2half2_rn(-72);
    Values values;
#pragma unroll
    for (unsigned j = 0; j < activations; ++j) {
#pragma unroll
      for (unsigned half = 0; half < 2; ++half) {
        const unsigned word = words[j] >> (8 * half);
        __half2* const pairs = values.pairs + j * 4 + half * 2;
        pairs[0] = __hadd2(pair_of(word, 0x000f000f), low_offset);
        pairs[1] = __hfma2(pair_of(word, 0x00f000f0), sixteenth, high_offset);
      }
    }
    values.scale = __half2float(held.scale);
    return values;
  }
  // Four products are added in fp16, and all else in fp32.
  template <unsigned columns, unsigned rows>
  __device__ static void add(float (&sums)[columns][rows], const Values (&weights)[rows],
                             const Pack<element> (&x)[columns][activations]) {
#pragma unroll
    for (unsigned c = 0; c < columns; ++c) {
#pragma unroll
      for (unsigned r = 0; r < rows; ++r) {
        sums[c][r] = fmaf(of_group(weights[r].pairs, x[c]), weights[r].scale, sums[c][r]);
      }
    }
  }

 private:
  __device__ static float of_group(const __half2 (&weights)[together / 2],
                                   const Pack<element> (&x)[activations]) {
    constexpr unsigned pairs = word_weights / 2;
    float sum = 0;
#pragma unroll
    for (unsigned j = 0; j < activations; ++j) {
      const __half2* const of_word = reinterpret_cast<const __half2*>(&x[j].bits);
      __half2 products = __hmul2(weights[j * pairs], of_word[0]);
#pragma unroll
      for (unsigned i = 1; i < pairs; ++i) {
        products = __hfma2(weights[j * pairs + i], of_word[i], products);
      }
      const float2 both = __half22float2(products);
      sum += both.x + both.y;
    }
    return sum;
  }
};

}  // namespace gemm_batch
