#include "harness/platform/model/moved_bytes.hpp"

namespace gpubench::model {

double requested_bytes(const std::vector<Emulator::Run>& runs) {
  double sum = 0;
  for (const auto& run : runs) {
    const KernelProfile& profile = run.profile;
    double bytes =
        profile.counts.bulk_loads.bytes + profile.host_bytes_read + profile.host_bytes_written;
    for (const auto& of_space : profile.counts.access) {
      for (const AccessCounts& of_kind : of_space) bytes += of_kind.bytes;
    }
    sum += bytes * profile.scale();
  }
  return sum;
}

MovedBytes moved_bytes(const std::vector<Emulator::Run>& runs) {
  double dram = 0, l2 = 0, l1 = 0, shared = 0;
  for (const auto& run : runs) {
    const Traffic& traffic = run.prediction.traffic;
    dram += traffic.dram_read_bytes + traffic.dram_write_bytes;
    l2 += traffic.l2_sectors * sector_bytes;
    l1 += traffic.l1_bytes;
    shared += traffic.shared_bytes;
  }
  MovedBytes moved;
  if (dram > 0) moved.dram = dram;
  if (l2 > 0) moved.l2 = l2;
  if (l1 > 0) moved.l1 = l1;
  if (shared > 0) moved.shared = shared;
  return moved;
}

}  // namespace gpubench::model
