// One mma.sync with block scales by one warp, launched on the default stream.
#pragma once

namespace gpubench::kernels {

// What lanes bring, word by word: word i of lane l is words[i * 32 + l].
struct ScaledWords {
  const unsigned *a, *b;                // four and two of them
  const unsigned *scales_a, *scales_b;  // one of each
};

// Which of the scales are taken: those behind byte 0 and of the first lanes, others, or by half the
// lanes the one and by half the other.
enum class Selected { first, others, disagreeing };

// d, four words of each lane, is what was there plus the product.
void multiply_mxfp8(Selected which, float* d, ScaledWords words);
void multiply_nvfp4(Selected which, float* d, ScaledWords words);
// With a byte that no scale of nvfp4 begins with.
void multiply_nvfp4_from_byte_1(float* d, ScaledWords words);

}  // namespace gpubench::kernels
