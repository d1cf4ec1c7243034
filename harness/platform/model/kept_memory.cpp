#include "harness/platform/model/kept_memory.hpp"

#include <istream>
#include <ostream>
#include <stdexcept>
#include <vector>

namespace gpubench::model {
namespace {

void put(std::ostream& to, std::uint64_t number) {
  to.write(reinterpret_cast<const char*>(&number), sizeof number);
}

std::uint64_t next(std::istream& from) {
  std::uint64_t number = 0;
  if (!from.read(reinterpret_cast<char*>(&number), sizeof number)) {
    throw std::runtime_error("the results that were kept end too soon");
  }
  return number;
}

}  // namespace

void keep_memory(std::ostream& to, const DeviceMemory& memory, std::uint64_t first_identity) {
  const std::vector<Allocation*> live = memory.live_from(first_identity);
  put(to, live.size());
  for (const Allocation* const a : live) {
    const auto ranges = memory.present_ranges(a->begin, a->bytes);
    put(to, a->bytes);
    put(to, ranges.size());
    for (const auto& [begin, bytes] : ranges) {
      put(to, static_cast<std::uint64_t>(begin - a->begin));
      put(to, bytes);
      to.write(reinterpret_cast<const char*>(begin), static_cast<std::streamsize>(bytes));
    }
  }
}

void take_memory(std::istream& from, DeviceMemory& memory, std::uint64_t first_identity) {
  const std::vector<Allocation*> live = memory.live_from(first_identity);
  const auto expect = [](bool as_here) {
    if (!as_here) throw std::runtime_error("the results that were kept are those of another row");
  };
  expect(next(from) == live.size());
  for (Allocation* const a : live) {
    expect(next(from) == a->bytes);
    std::vector<std::byte> piece;
    for (std::uint64_t ranges = next(from); ranges > 0; --ranges) {
      const std::uint64_t offset = next(from), bytes = next(from);
      expect(offset <= a->bytes && bytes <= a->bytes - offset);
      piece.resize(bytes);
      expect(static_cast<bool>(
          from.read(reinterpret_cast<char*>(piece.data()), static_cast<std::streamsize>(bytes))));
      memory.write(a->begin + offset, piece.data(), bytes);
    }
  }
}

}  // namespace gpubench::model
