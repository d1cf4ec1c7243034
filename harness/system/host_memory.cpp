#include "harness/system/host_memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "harness/system/control_groups.hpp"

namespace gpubench {

std::size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t whole = 0, resident = 0;
  file >> whole >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

std::size_t peak_resident_bytes() {
  constexpr std::size_t kibibyte = 1024;
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("VmHWM:")) return std::stoul(line.substr(line.find(':') + 1)) * kibibyte;
  }
  return resident_bytes();
}

std::optional<double> available_bytes() {
  std::optional<double> free;
  std::ifstream file("/proc/meminfo");
  std::string key, unit;
  for (double kibibytes = 0; file >> key >> kibibytes && std::getline(file, unit);) {
    if (key == "MemAvailable:") free = kibibytes * 1024;
  }
  const auto of_group = group_limits().free_bytes;
  return free && of_group ? std::min(*free, *of_group) : free ? free : of_group;
}

}  // namespace gpubench
