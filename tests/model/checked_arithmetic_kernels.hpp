// Kernels that compute what a GPU and the host's processor answer differently, and that leave
// arrays.
#pragma once

#include <cuda_fp16.h>

namespace gpubench::kernels {

// One warp: out[lane] = To(in[lane]), 0 for lanes from `lanes` on.
template <class From, class To>
void convert(To* out, const From* in, unsigned lanes);
// One warp: out[3 * lane ...] = numbers[lane] << by[lane], >> by[lane], and <<= in memory.
template <class T>
void shift(T* out, const T* numbers, const int* by);
// Every function that is entered returns a value, for a lane's number of 0 only.
void return_value_of_zero(int* out);

// One warp reads element indices[lane] of an array: of 64 words in shared memory, of 4 otherwise.
enum class Indexed { shared, local, member };
void index(float* out, const int* indices, Indexed array);

// A block of so many bytes of static shared memory: 49,152 or 4 more.
void fill_static_shared(unsigned bytes, unsigned* out);

}  // namespace gpubench::kernels
