// What a warp's matrix multiplications have in common: where each lane's elements belong, and the
// call into the emulator.
#pragma once

#include "harness/model/include/device_language.h"

namespace gpubench::model {

// What the elements of a and b are. Those of c and d are float.
enum class Tensor : std::uint8_t { fp16, bf16, tf32 };
inline constexpr unsigned tensor_types = 3;

// d = a * b + c for a of 16 rows, b of 8 columns, and between them 16 (tf32: 8): what all lanes of
// a warp bring, each its own elements, in the order below. The products are exact, summed in double
// and rounded to float once: as good as any order the hardware may take. `d` may be `c`.
void multiply_matrices(Tensor type, float* d, const void* a, const void* b,
                       const float* c) noexcept;

// The element that a lane's i-th is (PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating
// point type" and, for tf32, "Matrix Fragments for mma.m16n8k8"). With i up to 7, those of b and c
// go on into the next 8 columns.
struct Place {
  unsigned row, column;
};
constexpr Place place_in_c(unsigned lane, unsigned i) {
  return {lane / 4 + i / 2 % 2 * 8, lane % 4 * 2 + i % 2 + i / 4 * 8};
}
// 16-bit elements: two neighbours a register.
constexpr Place place_in_a16(unsigned lane, unsigned i) { return place_in_c(lane, i); }
constexpr Place place_in_b16(unsigned lane, unsigned i) {
  return {lane % 4 * 2 + i % 2 + i / 2 % 2 * 8, lane / 4 + i / 4 * 8};
}
// 32-bit elements.
constexpr Place place_in_a32(unsigned lane, unsigned i) {
  return {lane / 4 + i % 2 * 8, lane % 4 + i / 2 * 4};
}
constexpr Place place_in_b32(unsigned lane, unsigned i) {
  return {lane % 4 + i % 2 * 4, lane / 4 + i / 2 * 8};
}

__forceinline__ unsigned lane_of_thread() {
  return ((threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x) % warpSize;
}

}  // namespace gpubench::model
