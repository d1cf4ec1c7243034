// The memory of the machine that runs the model, which asks before it takes much of it.
#pragma once

#include <cstddef>
#include <optional>
#include <stdexcept>

namespace gpubench::model {

struct OutOfHostMemory : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Unless whole grids are asked for, the program takes no more [bytes].
inline constexpr std::size_t most_host_bytes = 4'000'000'000;

// How much the program may take in all; none: what the machine has.
void limit_host_memory(std::optional<std::size_t> most);

// Why there is no room for `bytes` more: how much is missing.
std::optional<OutOfHostMemory> why_no_host_memory(std::size_t bytes);
// The same for elements; a few are always kept.
inline std::optional<OutOfHostMemory> why_not_keep(std::size_t elements, std::size_t bytes_each) {
  constexpr std::size_t few = 1 << 16;
  return elements < few ? std::nullopt : why_no_host_memory(elements * bytes_each);
}

// These throw it.
void ask_host_memory(std::size_t bytes);
inline void ask_to_keep(std::size_t elements, std::size_t bytes_each) {
  if (const auto why = why_not_keep(elements, bytes_each)) throw *why;
}

}  // namespace gpubench::model
