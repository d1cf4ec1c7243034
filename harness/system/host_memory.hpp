// The host's memory, as the kernel counts it.
#pragma once

#include <cstddef>
#include <optional>

namespace gpubench {

// That this process occupies now.
std::size_t resident_bytes();
// That is free for programs, of the machine or of the control group, whichever is less; absent
// where nobody says.
std::optional<double> available_bytes();

}  // namespace gpubench
