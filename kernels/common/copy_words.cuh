// A copy by a kernel, wherever its ends lie: here, with a peer, or in the host's mapped memory.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace copy_words {

using word = std::uint32_t;
inline constexpr unsigned threads = 256;
inline constexpr unsigned words_a_thread = 4;  // in flight at once

// Blocks for n words.
constexpr unsigned blocks(std::size_t n) {
  constexpr std::size_t of_block = std::size_t{threads} * words_a_thread;
  return static_cast<unsigned>((n + of_block - 1) / of_block);
}

[[maybe_unused]] static __global__ void copy(const word* from, word* to, std::size_t n) {
  const std::size_t first = blockIdx.x * std::size_t{threads} * words_a_thread + threadIdx.x;
  word values[words_a_thread];
  for (unsigned i = 0; i < words_a_thread; ++i) {
    const std::size_t at = first + i * threads;
    if (at < n) values[i] = from[at];
  }
  for (unsigned i = 0; i < words_a_thread; ++i) {
    const std::size_t at = first + i * threads;
    if (at < n) to[at] = values[i];
  }
}

}  // namespace copy_words
