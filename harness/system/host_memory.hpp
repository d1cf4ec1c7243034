// The host's memory, as the kernel counts it.
#pragma once

#include <cstddef>
#include <optional>

namespace gpubench {

// That this process occupies now.
std::size_t resident_bytes();
// The most that it has occupied since it began; what it occupies now where the kernel does not say.
std::size_t peak_resident_bytes();
// That is free for programs, of the machine or of the control group, whichever is less; absent
// where nobody says.
std::optional<double> available_bytes();

}  // namespace gpubench
