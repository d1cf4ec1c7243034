// What tcgen05.mma is told of a product: where its operands lie in shared memory, 64 bits each, and
// of what kind they are, 32 bits (PTX ISA, "Shared memory descriptor" and "Instruction descriptor"
// of the fifth generation's Tensor Cores).
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "matrix_descriptor.hpp"

namespace gpubench {

// Types of factors; fp8 is E4M3. Sums are fp32, of int8 int32. mxfp8 and nvfp4 have block scales.
enum class Tcgen05Type : std::uint8_t { fp16, bf16, tf32, fp8, int8, mxfp8, nvfp4 };

// Describes a matrix, with the meaning of matrix_descriptor()'s arguments. Its rows lie along k, or
// across it where the product says so.
// Bits 46-48 are a constant, and swizzles have other numbers than in wgmma's descriptor.
__host__ __device__ constexpr std::uint64_t tcgen05_matrix(unsigned address, unsigned leading,
                                                           unsigned stride, Swizzle swizzle) {
  const std::uint64_t mode = swizzle == Swizzle::none           ? 0
                             : swizzle == Swizzle::of_128_bytes ? 2
                             : swizzle == Swizzle::of_64_bytes  ? 4
                                                                : 6;
  return matrix_descriptor(address, leading, stride, Swizzle::none) | std::uint64_t{1} << 46 |
         mode << 61;
}

// Describes a product of `rows` x `columns` sums, a along k, b along k or across it (of 16-bit
// factors alone). Bits 4-5: the type of sums; 7-9 and 10-12: of a and b; 16: whether b lies across
// k; 17-22: columns / 8; 24-28: rows / 16.
__host__ __device__ constexpr std::uint32_t tcgen05_instruction(Tcgen05Type type, unsigned rows,
                                                                unsigned columns,
                                                                bool b_across = false) {
  const bool is_int8 = type == Tcgen05Type::int8;
  // Each kind of product counts its types from 0: fp16, bf16; only tf32 is 2; e4m3; u8, s8.
  const std::uint32_t factors = type == Tcgen05Type::tf32              ? 2
                                : type == Tcgen05Type::bf16 || is_int8 ? 1
                                                                       : 0;
  const std::uint32_t sums = is_int8 ? 2 : 1;
  const std::uint32_t across = b_across ? 1 : 0;
  return sums << 4 | factors << 7 | factors << 10 | across << 16 | columns / 8 << 17 |
         rows / 16 << 24;
}

// The same of factors with block scales, whose layout is another one. Bits 4-5 and 29-30: in which
// byte of a column of tensor memory the scales of b and of a begin; 7-9 and 10-12: types; 17-22:
// columns / 8; 23: whether scales are powers of two; 24-28: rows / 16.
__host__ __device__ constexpr std::uint32_t tcgen05_scaled_instruction(
    Tcgen05Type type, unsigned rows, unsigned columns, unsigned byte_a, unsigned byte_b) {
  const bool is_mxfp8 = type == Tcgen05Type::mxfp8;
  // Each kind of product counts its types for itself: e4m3 is 0, e2m1 is 1.
  const std::uint32_t factors = is_mxfp8 ? 0 : 1, powers = is_mxfp8 ? 1 : 0;
  return byte_b << 4 | factors << 7 | factors << 10 | columns / 8 << 17 | powers << 23 |
         rows / 16 << 24 | byte_a << 29;
}

}  // namespace gpubench
