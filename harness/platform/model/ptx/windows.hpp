// Where generic addresses of what is not global memory lie: no program has anything there.
#pragma once

#include <cstdint>

namespace gpubench::model::ptx {

inline constexpr std::uint64_t shared_window = std::uint64_t{1} << 56;
inline constexpr std::uint64_t local_window = std::uint64_t{2} << 56;
inline constexpr std::uint64_t parameter_window = std::uint64_t{3} << 56;
inline constexpr std::uint64_t window_bytes = std::uint64_t{1} << 32;

}  // namespace gpubench::model::ptx
