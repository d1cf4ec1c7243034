#include "harness/platform/model/memory/touches.hpp"

#include <algorithm>
#include <utility>

namespace gpubench::model {
namespace {

std::optional<ByteRange> overlap(const std::vector<ByteRange>& a, const std::vector<ByteRange>& b) {
  if (a.back().end <= b.front().begin || b.back().end <= a.front().begin) return std::nullopt;
  for (std::size_t i = 0, k = 0; i < a.size() && k < b.size();) {
    const ByteRange both{std::max(a[i].begin, b[k].begin), std::min(a[i].end, b[k].end)};
    if (both.begin < both.end) return both;
    a[i].end < b[k].end ? ++i : ++k;
  }
  return std::nullopt;
}

}  // namespace

void add_touch(Touches& to, const DeviceMemory& memory, const void* begin, std::size_t bytes,
               Touch how) {
  const Allocation* const found =
      bytes > 0 && memory.in_range(begin) ? memory.find(begin) : nullptr;
  if (found == nullptr) return;
  const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(begin) - found->begin);
  const std::size_t end = std::min(offset + bytes, found->bytes);
  to.push_back({found->identity, found->bytes, how,
                std::make_shared<const std::vector<ByteRange>>(1, ByteRange{offset, end})});
}

void add_replicas(Touches& to, const DeviceMemory& memory) {
  for (const Allocation* const multicast : memory.multicast_objects()) {
    for (std::size_t i = 0, count = to.size(); i < count; ++i) {
      if (to[i].identity != multicast->identity) continue;
      for (const Allocation* const replica : multicast->replicas) {
        Touched there = to[i];
        there.identity = replica->identity;
        there.allocation_bytes = replica->bytes;
        to.push_back(std::move(there));
      }
    }
  }
}

std::optional<Conflict> conflict(const Touches& first, const Touches& second) {
  for (const Touched& a : first) {
    for (const Touched& b : second) {
      const bool harmless = a.how == b.how && a.how != Touch::write;
      if (a.identity != b.identity || harmless) continue;
      if (const auto bytes = overlap(*a.ranges, *b.ranges)) return Conflict{&a, &b, *bytes};
    }
  }
  return std::nullopt;
}

std::string describe(const Touched& touched, ByteRange bytes) {
  return "bytes " + std::to_string(bytes.begin) + ".." + std::to_string(bytes.end - 1) +
         " of allocation " + std::to_string(touched.identity) + " (" +
         std::to_string(touched.allocation_bytes) + " bytes)";
}

}  // namespace gpubench::model
