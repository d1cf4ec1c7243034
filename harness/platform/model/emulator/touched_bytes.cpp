#include "harness/platform/model/emulator/touched_bytes.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <utility>

#include "harness/platform/model/emulator/counts.hpp"

namespace gpubench::model {
namespace {

// Ascending and merged.
void normalize(std::vector<ByteRange>& ranges) {
  std::ranges::sort(ranges, {}, &ByteRange::begin);
  std::size_t kept = 0;
  for (const ByteRange& range : ranges) {
    if (kept > 0 && range.begin <= ranges[kept - 1].end) {
      ranges[kept - 1].end = std::max(ranges[kept - 1].end, range.end);
    } else {
      ranges[kept++] = range;
    }
  }
  ranges.resize(kept);
}

}  // namespace

TouchedBytes::Part& TouchedBytes::part(const Footprint* of) {
  for (Part& part : parts_) {
    if (part.of == of) return part;
  }
  parts_.push_back({.of = of});
  return parts_.back();
}

void TouchedBytes::add(const Footprint* of, const BlockSector& done) {
  Part& mine = part(of);
  const std::size_t sector = of->offset_of(done.sector);
  if (done.read != 0) add(mine.read, sector, done.read);
  if (done.written != 0) add(mine.written, sector, done.written);
}

// `bytes` of the sector at offset `sector`, a bit each.
void TouchedBytes::add(Ranges& ranges, std::size_t sector, std::uint32_t bytes) {
  for (std::uint32_t rest = bytes; rest != 0;) {
    const auto first = static_cast<unsigned>(std::countr_zero(rest));
    const auto count = static_cast<unsigned>(std::countr_one(rest >> first));
    const ByteRange range{sector + first, sector + first + count};
    if (!ranges.empty() && ranges.back().end == range.begin) {
      ranges.back().end = range.end;
    } else if (ranges.size() < most_ranges) {
      ranges.push_back(range);
    }
    rest = first + count < sector_bytes ? rest >> (first + count) << (first + count) : 0;
  }
}

Touches TouchedBytes::sum(const std::vector<const TouchedBytes*>& workers) {
  struct Sum {
    std::size_t allocation_bytes = 0;
    Ranges read{}, written{};
    bool atomic = false, stored = false;
  };
  std::map<std::uint64_t, Sum> sums;  // by allocation
  for (const TouchedBytes* const worker : workers) {
    for (const Part& part : worker->parts_) {
      Sum& sum = sums[part.of->identity()];
      sum.allocation_bytes = part.of->allocation_bytes();
      sum.read.insert(sum.read.end(), part.read.begin(), part.read.end());
      sum.written.insert(sum.written.end(), part.written.begin(), part.written.end());
      sum.atomic |= part.atomic;
      sum.stored |= part.stored;
    }
  }
  Touches touches;
  for (auto& [identity, sum] : sums) {
    const Touch writes = sum.atomic && !sum.stored ? Touch::atomic : Touch::write;
    for (auto [ranges, how] :
         {std::pair(&sum.read, Touch::read), std::pair(&sum.written, writes)}) {
      if (ranges->empty()) continue;
      normalize(*ranges);
      touches.push_back({identity, sum.allocation_bytes, how,
                         std::make_shared<const Ranges>(std::move(*ranges))});
    }
  }
  return touches;
}

}  // namespace gpubench::model
