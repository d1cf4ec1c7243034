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

// The same in the 32 bits of an address of shared::cluster: one of this block is as it is, those of
// the others have 1 + the rank above these bits.
inline constexpr unsigned cluster_rank_bit = 24;

// Where a cooperative launch's blocks meet: nvcc's code for this_grid().sync() finds it in %envreg1
// and %envreg2 (0 in other launches).
inline constexpr std::uint64_t grid_window = std::uint64_t{5} << 56;

// The variables at module scope that a kernel names.
inline constexpr std::uint64_t module_window = std::uint64_t{6} << 56;

inline constexpr bool is_of_cluster(std::uint64_t address) {
  return address >> 56 == cluster_window >> 56;
}

}  // namespace gpubench::model::ptx
