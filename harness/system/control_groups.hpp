// What the control groups of a container or a service leave to this process.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace gpubench {

struct GroupLimits {
  std::optional<unsigned> cpus;      // processor time, in CPUs, rounded up
  std::optional<double> free_bytes;  // of memory
};

// By /proc/self/cgroup (`own_groups`) and the control groups under `root`, of the first version or
// the second. Each group around this process's own counts: the least of their limits holds.
GroupLimits group_limits(const std::filesystem::path& root, const std::string& own_groups);
GroupLimits group_limits();  // of this machine

// The folders under `root` that set this process's limits for a controller ("cpu", "memory"): the
// root of its tree, which is the own group where a container sees no other, then from the innermost
// outwards.
std::vector<std::filesystem::path> folders_of(const std::string& controller,
                                              const std::filesystem::path& root,
                                              const std::string& own_groups);

// From the two numbers of cpu.max ("200000 100000", or "max 100000"). nullopt: no limit.
std::optional<unsigned> granted_cpus(const std::string& cpu_max);

}  // namespace gpubench
