#include "harness/platform/model/memory/host_memory.hpp"

#include <atomic>
#include <cstdio>
#include <limits>
#include <string>

#include "harness/system/host_memory.hpp"

namespace gpubench::model {
namespace {

constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max();
std::atomic<std::size_t> limit = no_limit;

std::string gigabytes(double bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f GB", bytes / 1e9);
  return text;
}

}  // namespace

void limit_host_memory(std::optional<std::size_t> most) { limit = most.value_or(no_limit); }

std::optional<OutOfHostMemory> why_no_host_memory(std::size_t bytes) {
  const std::size_t resident = resident_bytes(), most = limit;
  const auto wanted = static_cast<double>(bytes);
  if (most != no_limit && (bytes > most || resident > most - bytes)) {
    return OutOfHostMemory("modelling it takes " +
                           gigabytes(static_cast<double>(resident) + wanted) +
                           " of this machine's memory, and more than " +
                           gigabytes(static_cast<double>(most)) + " only with --whole_grids");
  }
  if (const auto available = available_bytes(); available && wanted > *available) {
    return OutOfHostMemory("modelling it takes another " + gigabytes(wanted) +
                           " of this machine's memory, which has " + gigabytes(*available) +
                           " left");
  }
  return std::nullopt;
}

void ask_host_memory(std::size_t bytes) {
  if (const auto why = why_no_host_memory(bytes)) throw *why;
}

}  // namespace gpubench::model
