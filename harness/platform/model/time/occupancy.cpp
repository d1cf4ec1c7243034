#include "harness/platform/model/time/occupancy.hpp"

#include <algorithm>
#include <cstdint>

namespace gpubench::model {
namespace {

std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

Occupancy occupancy(const DeviceSpec& device, const BlockResources& block) {
  const auto figure = [&](const char* name) { return static_cast<std::uint64_t>(device[name]); };
  constexpr std::uint64_t warp = 32;
  const std::uint64_t max_warps = figure("max_threads_per_sm") / warp;
  const std::uint64_t warps = round_up(block.threads, warp) / warp;
  if (block.threads == 0 || block.threads > figure("max_threads_per_block")) return {};

  std::uint64_t blocks = std::min(max_warps / warps, figure("max_blocks_per_sm"));

  if (block.shared_bytes > figure("shared_bytes_per_block_optin")) return {};
  const std::uint64_t shared =
      round_up(block.shared_bytes + figure("shared_reserved_bytes_per_block"),
               figure("shared_allocation_unit_bytes"));
  if (shared > 0) blocks = std::min(blocks, figure("shared_bytes_per_sm") / shared);

  if (block.registers > 0) {
    if (block.registers > figure("max_registers_per_thread")) return {};
    // Each of the SM's schedulers has its share of the registers and serves whole warps.
    const std::uint64_t schedulers = figure("warp_schedulers_per_sm");
    const std::uint64_t of_warp =
        round_up(block.registers * warp, figure("register_allocation_unit"));
    const std::uint64_t warps_by_registers =
        figure("registers_per_sm") / schedulers / of_warp * schedulers;
    blocks = std::min(blocks, warps_by_registers / warps);
  }
  constexpr std::uint64_t tensor_columns = 512;
  if (block.tensor_columns > 0) blocks = std::min(blocks, tensor_columns / block.tensor_columns);
  const auto resident = static_cast<double>(blocks * warps);
  return {static_cast<unsigned>(blocks), resident / static_cast<double>(max_warps)};
}

}  // namespace gpubench::model
