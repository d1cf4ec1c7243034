#include "harness/platform/model/profiled.hpp"

#include <array>
#include <string>
#include <utility>

namespace gpubench::model {

Launched as_profiled(const KernelProfile& profile, const Occupancy& occupancy) {
  constexpr double bytes_of_a_local_word = warp_lanes * 4.0;
  Launched result;
  result.kernel = profile.name;
  const auto counted = [&](const std::string& name, double value) {
    if (value > 0) result.figures[name] = value;
  };
  const double scale = profile.scale();
  const Counts counts = profile.counts.scaled(scale);
  constexpr std::array<std::pair<Space, const char*>, 3> spaces{
      {{Space::global, "global_"}, {Space::shared, "shared_"}, {Space::remote, "remote_"}}};
  constexpr std::array<std::pair<Access, const char*>, 3> kinds{
      {{Access::load, "load_"}, {Access::store, "store_"}, {Access::atomic, "atomic_"}}};
  for (const auto& [space, space_name] : spaces) {
    for (const auto& [kind, kind_name] : kinds) {
      const AccessCounts& access = counts.at(space, kind);
      const std::string name = std::string(space_name) + kind_name;
      counted(name + "requests", access.requests);
      counted(name + "bytes", access.bytes);
      if (space == Space::shared) {
        counted(name + "wavefronts", access.wavefronts);
      } else {
        counted(name + "sectors", access.sectors);
      }
    }
  }
  counted("async_copies", counts.async_copies);
  counted("bulk_copies", counts.bulk_loads.requests + counts.bulk_stores);
  counted("fma_fp32", counts.fma_fp32);
  counted("fma_fp64", counts.fma_fp64);
  counted("fma_16x2", counts.fma_fp16x2 + counts.fma_bf16x2);
  counted("registers", profile.registers);
  result.figures["blocks"] = profile.blocks;
  result.figures["threads_per_block"] = profile.threads_per_block;
  result.figures["traced_blocks"] = profile.traced_blocks;
  result.figures["shared_bytes"] = static_cast<double>(profile.shared_bytes);
  result.figures["local_bytes"] = static_cast<double>(profile.local_bytes);
  result.figures["local_moved_bytes"] = profile.local_words * scale * bytes_of_a_local_word;
  result.figures["resident_blocks"] = occupancy.blocks_per_sm;
  result.figures["occupancy"] = occupancy.fraction;
  return result;
}

}  // namespace gpubench::model
