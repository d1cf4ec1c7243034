#include "harness/platform/model/memory/host_memory.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <fstream>
#include <limits>
#include <string>

namespace gpubench::model {
namespace {

constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max();
std::atomic<std::size_t> limit = no_limit;

// Of this process.
std::size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t size = 0, resident = 0;
  file >> size >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

// What the kernel would give without swapping; `no_limit` where it does not say.
std::size_t available_bytes() {
  std::ifstream file("/proc/meminfo");
  std::string name, unit;
  for (std::size_t kibibytes = 0; file >> name >> kibibytes; std::getline(file, unit)) {
    if (name == "MemAvailable:") return kibibytes * 1024;
  }
  return no_limit;
}

std::string gigabytes(std::size_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f GB", static_cast<double>(bytes) / 1e9);
  return text;
}

}  // namespace

void limit_host_memory(std::optional<std::size_t> most) { limit = most.value_or(no_limit); }

void ask_host_memory(std::size_t bytes) {
  const std::size_t resident = resident_bytes(), most = limit, available = available_bytes();
  if (most != no_limit && (bytes > most || resident > most - bytes)) {
    throw OutOfHostMemory("modelling it takes " + gigabytes(resident + bytes) +
                          " of this machine's memory, and more than " + gigabytes(most) +
                          " only with --whole_grids");
  }
  if (bytes > available) {
    throw OutOfHostMemory("modelling it takes another " + gigabytes(bytes) +
                          " of this machine's memory, which has " + gigabytes(available) + " left");
  }
}

}  // namespace gpubench::model
