// The contents of the model device's memory as a stream: what one process has computed, for another
// that judges it and has run none of it.
#pragma once

#include <cstdint>
#include <iosfwd>

#include "harness/platform/model/memory/memory.hpp"

namespace gpubench::model {

// Keeps the existing pages of the live allocations from this identity on.
void keep_memory(std::ostream& to, const DeviceMemory& memory, std::uint64_t first_identity);
// Into as many allocations of the same sizes. std::runtime_error where they differ.
void take_memory(std::istream& from, DeviceMemory& memory, std::uint64_t first_identity);

}  // namespace gpubench::model
