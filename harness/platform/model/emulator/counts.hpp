// What the hardware would count, under Nsight Compute's names.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/platform/model/emulator/warp_requests.hpp"

namespace gpubench::model {

inline constexpr unsigned sector_bytes = 32;
inline constexpr unsigned line_bytes = 128;  // what one L1 tag covers
inline constexpr unsigned shared_banks = 32;
inline constexpr unsigned bank_bytes = 4;

enum class Access : std::uint8_t { load, store, atomic };

// Sums over warp requests; doubles, since a sample of blocks is scaled up to the grid.
struct AccessCounts {
  double requests = 0;
  double lanes = 0;             // active lanes, summed
  double bytes = 0;             // what the lanes asked for
  double sectors = 0;           // global and remote: distinct 32-byte sectors per request
  double lines = 0;             // global: distinct 128-byte lines per request
  double tag_wavefronts = 0;    // global: passes over the banks that hold L1's tags
  double wavefronts = 0;        // passes over the 32 banks of shared memory, or of L1's data
  double ideal_wavefronts = 0;  // shared: what the same bytes cost without a conflict
  double ideal_sectors = 0;     // global: what the same bytes would lie in, side by side

  AccessCounts& operator+=(const AccessCounts& other);
  AccessCounts scaled(double factor) const;
};

// One request to global memory: its sectors, ascending and distinct.
struct Sectors {
  std::array<std::uint64_t, 2 * warp_lanes> id;
  unsigned count = 0;
  unsigned lines = 0;
  unsigned tag_wavefronts = 0;
};
// A pass looks up one line's tag in each bank; which bank a line's tag is in is taken to be the
// exclusive or of its number's pairs of bits, which is within 2.2 % of the passes that an A100
// counts at strides of 0 to 64 words (te42kyfo/gpu-benches, gpu-strides/a100.txt).
inline constexpr unsigned tag_banks = 4;
Sectors sectors_of(const WarpRequest& request);

// Passes over the banks that one shared-memory request takes. A pass serves all lanes of a 4-byte
// access, half a warp of an 8-byte one, a quarter of a 16-byte one; in each, a bank delivers one
// word, to any number of lanes.  (The 8- and 16-byte rules are published for earlier parts and
// not yet confirmed on sm_90.)
unsigned wavefronts_of(const WarpRequest& request);
// How many of them a load does not need: where both lanes of all pairs that differ in one bit of
// their numbers, of value 1 or 2, read the same 8 or 16 bytes, a pass serves twice as many lanes,
// since what it returns to registers is packed (an engineer of NVIDIA's, for compute capability 7:
// forums.developer.nvidia.com/t/77228). Later parts are taken to do so too: an A100 multiplies
// faster from a tile in shared memory than it could otherwise (docs/model-accuracy.md).
unsigned packed_wavefronts_of(const WarpRequest& request);
unsigned ideal_wavefronts_of(const WarpRequest& request);

struct Counts {
  std::array<std::array<AccessCounts, 3>, 3> access;           // [Space][Access]
  double barriers = 0;                                         // a warp each, those of clusters too
  double cluster_barriers = 0;                                 // likewise, of clusters alone
  std::array<double, warp_operation_kinds> warp_operations{};  // by WarpOperation, a warp each
  double async_copies = 0;  // instructions that load and store, a warp each
  double async_loads = 0;   // the global requests among `access` that they made
  // Global memory that a copy engine reads for the SM, in lines: no warp's request.
  AccessCounts bulk_loads;
  double bulk_stores = 0;        // the shared requests among `access` that it made
  double copied_wavefronts = 0;  // of shared memory, by asynchronous copies of either kind
  double packed_wavefronts = 0;  // of shared memory, that loads do not need
  double fragments_ahead = 0;    // of `matrix_load`, those ahead of the product that uses them
  std::array<double, arithmetic_units> issued{};  // by Arithmetic, a warp each
  // The same, a lane each.
  double fma_fp32 = 0, fma_fp64 = 0, fma_fp16x2 = 0, fma_bf16x2 = 0, mad_int32 = 0;
  double add_fp32 = 0, max_fp32 = 0, pack_16x2 = 0;
  double special = 0;                                  // operations of the unit, a warp each
  std::array<double, tensor_types> tensor_flops{};     // by Tensor: by a warp (mma.sync)
  std::array<double, tensor_types> warpgroup_flops{};  // and by wgmma and tcgen05
  std::array<double, tensor_types> awaited_flops{};    // of those, with nothing computed meanwhile
  double awaiting_warps = 0;                           // that waited so

  AccessCounts& at(Space space, Access kind) {
    return access[static_cast<int>(space)][static_cast<int>(kind)];
  }
  const AccessCounts& at(Space space, Access kind) const {
    return access[static_cast<int>(space)][static_cast<int>(kind)];
  }
  double shared_wavefronts() const;  // of all accesses
  double issues(Arithmetic unit) const { return issued[static_cast<std::size_t>(unit)]; }
  double arithmetic_lanes() const;  // of all units
  void add(Arithmetic unit, unsigned operations, unsigned lanes);
  double& at(WarpOperation kind) { return warp_operations[static_cast<std::size_t>(kind)]; }
  double at(WarpOperation kind) const { return warp_operations[static_cast<std::size_t>(kind)]; }
  Counts& operator+=(const Counts& other);
  Counts scaled(double factor) const;
};

// The instructions of warps that the source names, by class; classes of which there were none are
// left out. Integer and address arithmetic, comparisons, branches and operators on floating-point
// numbers are not among them: nobody calls them by a name.
std::vector<std::pair<std::string, double>> instructions_of(const Counts& counts);

}  // namespace gpubench::model
