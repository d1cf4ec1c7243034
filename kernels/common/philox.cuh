// Random numbers by counting: Philox4x32 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers:
// as easy as 1, 2, 3", SC 2011). A number is a function of its index and a seed, so that any thread
// can make any of them, and a forward and a backward pass make the same.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace philox {

struct Words {
  std::uint32_t of[4];
};

// Seven rounds are the fewest that pass every test of TestU01 (the paper's table 2); libraries use
// ten, for a margin.
inline constexpr unsigned rounds = 7;

template <unsigned how_many = rounds>
__host__ __device__ inline Words words(Words counter, std::uint32_t key0, std::uint32_t key1) {
  for (unsigned r = 0; r < how_many; ++r) {
    const std::uint64_t a = std::uint64_t{0xD2511F53u} * counter.of[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57u} * counter.of[2];
    counter = {{static_cast<std::uint32_t>(b >> 32) ^ counter.of[1] ^ key0,
                static_cast<std::uint32_t>(b),
                static_cast<std::uint32_t>(a >> 32) ^ counter.of[3] ^ key1,
                static_cast<std::uint32_t>(a)}};
    key0 += 0x9E3779B9u;  // the golden ratio, and the root of three less one, as Weyl sequences
    key1 += 0xBB67AE85u;
  }
  return counter;
}

// The 128 bits of place `index`.
__host__ __device__ inline Words at(std::uint64_t index, std::uint64_t seed) {
  return words({{static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32), 0, 0}},
               static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32));
}

}  // namespace philox
