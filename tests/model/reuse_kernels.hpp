// Kernels that read their memory again, on the emulator.
#pragma once

namespace gpubench::kernels {

inline constexpr unsigned looking_threads = 128;
// Blocks of 128 threads look twice at a row of their own, with barriers between: out[i] = in[i]
// less the sum of what the block's first thread read.
void look_twice(float* out, const float* in, unsigned length, unsigned blocks);
// Every thread reads its part of the row twice in a row, with no barrier between.
void read_twice(float* out, const float* in, unsigned length, unsigned blocks);

}  // namespace gpubench::kernels
