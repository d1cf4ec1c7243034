// Clips gradients by their norm, as frameworks do: adds up the squares of all of them, then
// multiplies each by what brings the norm down to the limit.
#pragma once

#include "kernels/normalization.cuh"
#include "kernels/training_step/numbers.cuh"

namespace training_step {

inline constexpr unsigned most_square_sums = 1024;  // a kernel's blocks, each of which writes one
inline constexpr unsigned packs_a_thread = 4;       // at least

template <class Gradient, class Number>
__global__ void sum_squares(const Gradient* gradients, std::size_t packs, Number* sums) {
  Number squares = 0;
#pragma unroll 4
  for (std::size_t p = blockIdx.x * threads + threadIdx.x; p < packs; p += gridDim.x * threads) {
    Number x[Pack<Gradient>::size];
    load_pack(gradients, p).unpack(x);
#pragma unroll
    for (unsigned k = 0; k < Pack<Gradient>::size; ++k) squares += x[k] * x[k];
  }
  squares = normalization::of_row(squares, normalization::Plus{});
  if (threadIdx.x == 0) sums[blockIdx.x] = squares;
}

// One block. `share` of what the gradients are the sums of is their mean.
template <class Number>
__global__ void find_clip(const Number* sums, unsigned count, Number share, Number limit,
                          Number* factor) {
  Number squares = 0;
  for (unsigned i = threadIdx.x; i < count; i += threads) squares += sums[i];
  const Number norm = share * square_root(normalization::of_row(squares, normalization::Plus{}));
  if (threadIdx.x == 0) *factor = norm > limit ? limit / norm : 1;
}

template <class Gradient, class Number>
__global__ void clip(Gradient* gradients, std::size_t packs, const Number* factor) {
  const Number by = *factor;
  const std::size_t stride = std::size_t{gridDim.x} * threads;
#pragma unroll
  for (unsigned n = 0; n < packs_a_thread; ++n) {
    const std::size_t p = blockIdx.x * threads + threadIdx.x + n * stride;
    if (p >= packs) return;
    Number x[Pack<Gradient>::size];
    load_pack(gradients, p).unpack(x);
#pragma unroll
    for (unsigned k = 0; k < Pack<Gradient>::size; ++k) x[k] *= by;
    store_pack(gradients, p, Pack<Gradient>::of(x));
  }
}

}  // namespace training_step
