// Where generic addresses of what is not global memory lie: no program has anything there.
#pragma once

#include <cstdint>

namespace gpubench::model::ptx {

inline constexpr std::uint64_t shared_window = std::uint64_t{1} << 56;
inline constexpr std::uint64_t local_window = std::uint64_t{2} << 56;
inline constexpr std::uint64_t parameter_window = std::uint64_t{3} << 56;
// That of block 0 of the cluster; those of the others follow.
inline constexpr std::uint64_t cluster_window = std::uint64_t{4} << 56;
inline constexpr std::uint64_t window_bytes = std::uint64_t{1} << 32;

inline constexpr bool is_of_cluster(std::uint64_t address) {
  return address >> 56 == cluster_window >> 56;
}

}  // namespace gpubench::model::ptx
