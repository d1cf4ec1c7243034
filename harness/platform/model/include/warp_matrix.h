// What a warp's matrix multiplications have in common: where each lane's elements belong, and the
// call into the emulator.
#pragma once

#include "harness/platform/model/include/device_language.h"

namespace gpubench::model {

// What the elements of a and b are. Those of c and d are float, of int8 std::int32_t, of fp64
// double; fp8 is E4M3. In mxfp8 (E4M3) each 32 elements along k have a scale, a power of two
// (UE8M0); in nvfp4 (E2M1) each 16, an E4M3 without a sign.
enum class Tensor : std::uint8_t { fp16, bf16, tf32, fp8, int8, fp64, mxfp8, nvfp4 };
inline constexpr unsigned tensor_types = 8;

// A lane's four bytes of scales for each of a and b, and which lanes and bytes hold this product's
// (PTX ISA, "Block Scaling for mma.sync"): of rows g and g + 8 of a, lanes 2 * thread_a and
// 2 * thread_a + 1 of the four that share g; of column g of b, lane thread_b of the four.
struct BlockScales {
  std::uint32_t a = 0, b = 0;
  unsigned byte_a = 0, thread_a = 0, byte_b = 0, thread_b = 0;
};

// A lane's own elements, or where a warpgroup's tiles begin.
struct MatrixElements {
  void* d;
  const void *a, *b, *c;
  unsigned products = 1;  // of one a with so many b, whose elements and sums follow one another
  BlockScales scales{};   // of mxfp8 and nvfp4
};

// d = a * b + c for a of 16 rows, b of 8 columns, and between them 32 bytes' worth of elements, or
// 16 of fp64: what all lanes of a warp bring, each its own elements, in the order below. The
// products are exact, summed in double and rounded once: as good as any order the hardware may
// take. `d` may be `c`.
void multiply_matrices(Tensor type, MatrixElements mine) noexcept;

// d += a * b for a of 64 rows and b of 128 columns, 32 bytes' worth of elements between them: what
// four warps together make of two tiles in shared memory.
inline constexpr unsigned warpgroup_columns = 128;
void multiply_warpgroup_tiles(Tensor type, MatrixElements mine) noexcept;

// d = a * b, or d += a * b, by a warpgroup: a of 64 rows and b of `columns`, which lie in shared
// memory where the descriptors say (harness/platform/include/matrix_descriptor.hpp). What they say
// is read as the PTX ISA has it, not as this project's kernels mean it.
struct SharedProduct {
  Tensor type;
  unsigned columns;
  float* d;
  std::uint64_t a, b;
  bool adds;
  // Four registers of 16-bit elements, as of mma.sync, if lanes bring a themselves.
  const unsigned* held_a = nullptr;
  bool b_is_transposed = false;  // b's rows of `columns` elements lie in memory
};
void multiply_shared(SharedProduct mine) noexcept;
// Operands are read until their group has been waited for.
void commit_products() noexcept;
void wait_for_products(unsigned groups_left) noexcept;

// Where in a tile, in bytes, byte `k` (0 to 31) of row `row` of a, or of column `row` of b, stands:
// pieces of eight rows of 16 bytes, the two pieces of a row one after the other.
__host__ __device__ constexpr unsigned tile_offset(unsigned row, unsigned k) {
  return row / 8 * 256 + k / 16 * 128 + row % 8 * 16 + k % 16;
}

// ldmatrix: what four matrices of eight rows of 16 bytes hold, in the order of b16 fragments. `row`
// is where a row begins in shared memory: lane i's is row i % 8 of matrix i / 8. Per matrix, a
// lane gets 4 bytes, at row lane / 4; transposed, its 16-bit elements at column lane / 4.
void load_matrices(unsigned* to, const void* row, bool transposed) noexcept;

// To the nearest of 10 mantissa bits, ties away from zero.
float round_to_tf32(float x) noexcept;

// The element that a lane's i-th is (PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating
// point type", "... mma.m16n8k8" for tf32, "... mma.m16n8k32" for 8 bits, "... mma.m16n8k64" for
// 4). With i up to 7, those of b and c go on into the next 8 columns.
struct Place {
  unsigned row, column;
};
__forceinline__ constexpr Place place_in_c(unsigned lane, unsigned i) {
  return {lane / 4 + i / 2 % 2 * 8, lane % 4 * 2 + i % 2 + i / 4 * 8};
}
// 16-bit elements: two neighbours a register.
__forceinline__ constexpr Place place_in_a16(unsigned lane, unsigned i) {
  return place_in_c(lane, i);
}
__forceinline__ constexpr Place place_in_b16(unsigned lane, unsigned i) {
  return {lane % 4 * 2 + i % 2 + i / 2 % 2 * 8, lane / 4 + i / 4 * 8};
}
// 32-bit elements.
__forceinline__ constexpr Place place_in_a32(unsigned lane, unsigned i) {
  return {lane / 4 + i % 2 * 8, lane % 4 + i / 2 * 4};
}
__forceinline__ constexpr Place place_in_b32(unsigned lane, unsigned i) {
  return {lane % 4 + i % 2 * 4, lane / 4 + i / 2 * 8};
}
// 8-bit elements: four neighbours a register.
__forceinline__ constexpr Place place_in_a8(unsigned lane, unsigned i) {
  return {lane / 4 + i / 4 % 2 * 8, lane % 4 * 4 + i % 4 + i / 8 * 16};
}
__forceinline__ constexpr Place place_in_b8(unsigned lane, unsigned i) {
  return {lane % 4 * 4 + i % 4 + i / 4 * 16, lane / 4};
}
// 4-bit elements: eight neighbours a register.
__forceinline__ constexpr Place place_in_a4(unsigned lane, unsigned i) {
  return {lane / 4 + i / 8 % 2 * 8, lane % 4 * 8 + i % 8 + i / 16 * 32};
}
__forceinline__ constexpr Place place_in_b4(unsigned lane, unsigned i) {
  return {lane % 4 * 8 + i % 8 + i / 8 * 32, lane / 4};
}
// 64-bit elements.
__forceinline__ constexpr Place place_in_a64(unsigned lane, unsigned i) {
  return {lane / 4 + i % 2 * 8, lane % 4 + i / 2 * 4};
}
__forceinline__ constexpr Place place_in_b64(unsigned lane, unsigned i) {
  return {lane % 4 + i * 4, lane / 4};
}

__forceinline__ unsigned lane_of_thread() {
  return ((threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x) % warpSize;
}

}  // namespace gpubench::model
