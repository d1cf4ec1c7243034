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

// Whether there is room for `bytes` more. OutOfHostMemory, which says how much is missing: no.
void ask_host_memory(std::size_t bytes);

// The same for elements; a few are always kept.
inline void ask_to_keep(std::size_t elements, std::size_t bytes_each) {
  constexpr std::size_t few = 1 << 16;
  if (elements >= few) ask_host_memory(elements * bytes_each);
}

}  // namespace gpubench::model
