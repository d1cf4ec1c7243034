#include "harness/system/host_memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace gpubench {
namespace {

std::optional<double> number_in(const char* path) {
  std::ifstream file(path);
  if (double value = 0; file >> value) return value;
  return std::nullopt;  // "max" too
}

}  // namespace

std::size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t whole = 0, resident = 0;
  file >> whole >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

std::optional<double> available_bytes() {
  std::optional<double> free;
  std::ifstream file("/proc/meminfo");
  std::string key, unit;
  for (double kibibytes = 0; file >> key >> kibibytes && std::getline(file, unit);) {
    if (key == "MemAvailable:") free = kibibytes * 1024;
  }
  const auto most = number_in("/sys/fs/cgroup/memory.max");
  const auto used = number_in("/sys/fs/cgroup/memory.current");
  if (!most || !used) return free;
  const double of_group = std::max(*most - *used, 0.0);
  return free ? std::min(*free, of_group) : of_group;
}

}  // namespace gpubench
