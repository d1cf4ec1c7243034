#include "harness/system/cores.hpp"

#include <sched.h>
#include <sys/types.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "harness/system/control_groups.hpp"

namespace gpubench {

cpu_set_t set_of(const std::vector<int>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(static_cast<std::size_t>(cpu), &set);
  return set;
}

std::vector<int> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<std::size_t>(cpu), &set)) cpus.push_back(cpu);
  }
  return cpus;
}

unsigned usable_cpus() {
  const auto count = static_cast<unsigned>(std::max<std::size_t>(allowed_cpus().size(), 1));
  return std::min(count, group_limits().cpus.value_or(count));
}

Core core_of(int cpu) {
  const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
  Core core{-1, cpu};
  std::ifstream(folder + "physical_package_id") >> core.first;
  std::ifstream file(folder + "core_id");
  if (int id = 0; file >> id) core.second = id;
  return core;
}

std::optional<CpuShares> share(const std::vector<int>& cpus, const std::function<Core(int)>& core) {
  std::map<Core, std::vector<int>> cores;
  for (const int cpu : cpus) cores[core(cpu)].push_back(cpu);
  if (cores.size() < 2) return std::nullopt;
  CpuShares shares;
  bool is_other = false;
  for (const auto& [unused, of_core] : cores) {
    std::vector<int>& to = is_other ? shares.other : shares.own;
    to.insert(to.end(), of_core.begin(), of_core.end());
    is_other = !is_other;
  }
  return shares;
}

void stay_on(const std::vector<int>& cpus) {
  const cpu_set_t set = set_of(cpus);
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", ignored)) {
    const std::string name = entry.path().filename().string();
    pid_t thread = 0;
    std::from_chars(name.data(), name.data() + name.size(), thread);
    sched_setaffinity(thread, sizeof(set), &set);
  }
}

}  // namespace gpubench
