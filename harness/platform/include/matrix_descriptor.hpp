// How wgmma is told where a matrix lies in shared memory: 64 bits (PTX ISA, "Asynchronous Warpgroup
// Level Matrix Shared Memory Layout", "Matrix Descriptor Format").
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace gpubench {

// How 16-byte pieces change places within rows of so many bytes, by the numbers of the descriptor.
enum class Swizzle : unsigned { none = 0, of_128_bytes = 1, of_64_bytes = 2, of_32_bytes = 3 };

// Describes a matrix whose rows lie along k. `address`: in shared memory, a multiple of 16; where
// the rows are swizzled, the pattern begins at a multiple of 8 rows (128 bytes: 1024). `leading`
// [bytes]: without a swizzle, from a row's first 16 bytes to its next; otherwise unused.
// `stride` [bytes]: from eight rows to the next eight.
// Or a transposed one, whose rows lie across k, and are swizzled. `leading` [bytes]: from as many
// elements of a row as the swizzle spans to the next. `stride` [bytes]: from eight k to the next.
__host__ __device__ constexpr std::uint64_t matrix_descriptor(unsigned address, unsigned leading,
                                                              unsigned stride, Swizzle swizzle) {
  constexpr unsigned bits_of_address = 0x3ffff;
  return std::uint64_t{(address & bits_of_address) >> 4} | std::uint64_t{leading >> 4} << 16 |
         std::uint64_t{stride >> 4} << 32 | std::uint64_t{static_cast<unsigned>(swizzle)} << 62;
}

}  // namespace gpubench
