// What running a block of threads comes to.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "harness/platform/model/include/warp_matrix.h"

namespace gpubench::model {

inline constexpr unsigned warp_lanes = 32;

// What a warp does together, but for the block's barrier.
enum class WarpOperation : std::uint8_t { shuffle, vote, warp_barrier, matrices, matrix_load };
inline constexpr std::size_t warp_operation_kinds = 5;

struct BlockResult {
  unsigned lanes = 0;
  std::uint64_t barriers = 0;          // block-wide or wider, counted once a warp
  std::uint64_t cluster_barriers = 0;  // of these, those of the whole cluster
  std::array<std::uint64_t, warp_operation_kinds>
      warp_operations{};                                      // by WarpOperation, a warp each
  std::array<std::uint64_t, tensor_types> tensor_flops{};     // by Tensor, a warp each
  std::array<std::uint64_t, tensor_types> warpgroup_flops{};  // likewise, by wgmma and tcgen05
  // In traced blocks: of `matrix_load`, those ahead of the product that uses them.
  std::uint64_t fragments_ahead = 0;
  // Likewise: of `warpgroup_flops`, those that warps waited for and computed nothing meanwhile; and
  // how many warps did.
  std::array<std::uint64_t, tensor_types> awaited_flops{};
  std::uint64_t awaiting_warps = 0;
  unsigned tensor_columns = 0;  // most columns of tensor memory held at a time
  // Likewise: of the host's memory, lane by lane.
  std::uint64_t host_bytes_read = 0, host_bytes_written = 0;
  // Copied structs as a whole whose alignment, by which nvcc copies them, was not known.
  bool has_guessed_structs = false;
  bool is_illegal_access = false;  // the fault: outside all memory, or not aligned
  std::string fault;               // not empty: what went wrong, where, and which thread did it
};

// How often a lane waited for asynchronous copies, each time by the share of a latency that is
// left: one with n others under way behind it has seen n of n + 1 pass. So has a bulk copy that had
// n others under way beside it at any time, though by now fewer are left.
struct CopyWaits {
  double alone = 0;   // with nothing computed since the copy was started
  double beside = 0;  // while multiply-adds went on
};

// Whether kernels may access [address, address + bytes) of the host's memory.
using MappedHost = std::function<bool(const void* address, std::size_t bytes)>;

}  // namespace gpubench::model
