// Input data: a function of a seed and an index, the same on host and device.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace gpubench {

// splitmix64's finaliser (Steele, Lea and Flood, 2014) over the index.
[[gnu::always_inline]] __host__ __device__ inline std::uint64_t random_bits(std::uint64_t seed,
                                                                            std::uint64_t index) {
  std::uint64_t z = seed * 0x9e3779b97f4a7c15u + index * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// Floating point: multiples of 2^-10 in [-1, 1), so that modest sums are exact in any order and
// every dtype from half upwards holds them. Integers: any bits. (All-zero or constant inputs run
// faster on real parts, because fewer wires switch.)
template <class T>
struct Generator {
  std::uint64_t seed = 0;

  [[gnu::always_inline]] __host__ __device__ T operator()(std::size_t index) const {
    const std::uint64_t bits = random_bits(seed, index);
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(bits);
    } else {
      return static_cast<T>(static_cast<float>(static_cast<int>(bits >> 53) - 1024) / 1024.0f);
    }
  }
};

}  // namespace gpubench
