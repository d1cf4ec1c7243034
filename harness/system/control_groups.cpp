#include "harness/system/control_groups.hpp"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

namespace gpubench {
namespace {

namespace fs = std::filesystem;

std::string text_in(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::optional<double> number_in(const fs::path& path) {
  std::ifstream file(path);
  if (double value = 0; file >> value) return value;
  return std::nullopt;  // "max" too
}

double number_after(const std::string& name, const fs::path& path) {
  std::ifstream file(path);
  std::string key;
  for (double value = 0; file >> key >> value;) {
    if (key == name) return value;
  }
  return 0;
}

template <typename T>
void lower(std::optional<T>& limit, std::optional<T> other) {
  if (other) limit = std::min(limit.value_or(*other), *other);
}

// Files that were read and not lately used again are given up for a program's memory.
std::optional<double> free_bytes_of(const fs::path& folder) {
  const bool is_second = fs::exists(folder / "memory.current");
  const auto most = number_in(folder / (is_second ? "memory.max" : "memory.limit_in_bytes"));
  const auto used = number_in(folder / (is_second ? "memory.current" : "memory.usage_in_bytes"));
  if (!most || !used) return std::nullopt;
  const double given_up =
      number_after(is_second ? "inactive_file" : "total_inactive_file", folder / "memory.stat");
  return std::max(*most - std::max(*used - given_up, 0.0), 0.0);
}

std::optional<unsigned> cpus_of(const fs::path& folder) {
  if (const auto granted = granted_cpus(text_in(folder / "cpu.max"))) return granted;
  return granted_cpus(text_in(folder / "cpu.cfs_quota_us") + " " +
                      text_in(folder / "cpu.cfs_period_us"));
}

}  // namespace

std::optional<unsigned> granted_cpus(const std::string& cpu_max) {
  std::istringstream text(cpu_max);
  double quota = 0, period = 0;  // microseconds
  if (!(text >> quota >> period) || quota <= 0 || period <= 0) return std::nullopt;
  return static_cast<unsigned>(std::min(std::ceil(quota / period), 1.0 * CPU_SETSIZE));
}

std::vector<fs::path> folders_of(const std::string& controller, const fs::path& root,
                                 const std::string& own_groups) {
  std::vector<fs::path> folders;
  std::istringstream lines(own_groups);
  for (std::string number, controllers, group;
       std::getline(std::getline(std::getline(lines, number, ':'), controllers, ':'), group);) {
    // The second version has one tree, without a name; the first has one per controller.
    const bool is_second = controllers.empty();
    if (!is_second && ("," + controllers + ",").find("," + controller + ",") == std::string::npos) {
      continue;
    }
    const fs::path tree = is_second ? root : root / controller;
    folders.push_back(tree);
    for (; group.size() > 1; group.resize(group.rfind('/')))
      folders.emplace_back(tree.native() + group);
  }
  return folders;
}

GroupLimits group_limits(const fs::path& root, const std::string& own_groups) {
  GroupLimits limits;
  for (const fs::path& folder : folders_of("cpu", root, own_groups)) {
    lower(limits.cpus, cpus_of(folder));
  }
  for (const fs::path& folder : folders_of("memory", root, own_groups)) {
    lower(limits.free_bytes, free_bytes_of(folder));
  }
  return limits;
}

GroupLimits group_limits() { return group_limits("/sys/fs/cgroup", text_in("/proc/self/cgroup")); }

}  // namespace gpubench
