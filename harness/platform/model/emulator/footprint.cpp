#include "harness/platform/model/emulator/footprint.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <new>

#include "harness/platform/model/memory/host_memory.hpp"

namespace gpubench::model {
namespace {

void* lazy_zeros(std::size_t bytes) {
  void* range = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) throw std::bad_alloc();
  return range;
}

constexpr auto relaxed = std::memory_order_relaxed;

// Sets bits of a word of lazy zeros, and returns what it was. A page that is first read, as by a
// compare-and-swap, is first mapped as zeros and then copied, with an interrupt on other cores.
std::uint64_t set_bits(std::atomic<std::uint64_t>& word, std::uint64_t bits) {
  word.fetch_or(0, relaxed);  // of which the old value is not asked: one instruction, a write
  return word.fetch_or(bits, relaxed);
}

}  // namespace

Footprint::Footprint(const Allocation& allocation, unsigned fetch_sectors)
    : begin_(reinterpret_cast<std::uint64_t>(allocation.begin)),
      fetch_sectors_(fetch_sectors),
      sectors_((allocation.bytes + sector_bytes - 1) / sector_bytes + 64) {
  sums_.identity = allocation.identity;
  sums_.device = allocation.device;
  sums_.is_mapped = allocation.accessors.has_value();
  sums_.team = allocation.team;
  sums_.allocation_bytes = allocation.bytes;
  seen_ = static_cast<std::atomic<std::uint64_t>*>(lazy_zeros(sectors_ / 8));
  shared_ = static_cast<std::atomic<std::uint64_t>*>(lazy_zeros(sectors_ / 8));
  touched_ = static_cast<std::atomic<std::uint64_t>*>(lazy_zeros(sectors_ * 8));
}

Footprint::~Footprint() {
  munmap(seen_, sectors_ / 8);
  munmap(shared_, sectors_ / 8);
  munmap(touched_, sectors_ * 8);
}

void Footprint::extend(std::uint64_t index) {
  for (auto low = first_.load(relaxed);
       index < low && !first_.compare_exchange_weak(low, index, relaxed);) {
  }
  for (auto high = last_.load(relaxed);
       index > high && !last_.compare_exchange_weak(high, index, relaxed);) {
  }
}

void Footprint::read_again(std::uint64_t count, std::uint64_t distance) {
  read_requests_.fetch_add(count, relaxed);
  const auto kind = std::min<std::size_t>(std::bit_width(distance) - 1, reuse_classes - 1);
  reuse_counts_[kind].fetch_add(count, relaxed);
  reuse_distances_[kind].fetch_add(count * distance, relaxed);
}

void Footprint::read(std::uint64_t sector, std::uint64_t distance) {
  if (distance > 0) return read_again(1, distance);
  read_requests_.fetch_add(1, relaxed);
  read_by_block_.fetch_add(1, relaxed);
  const std::uint64_t index = sector - begin_ / sector_bytes;
  const std::uint64_t bit = std::uint64_t{1} << (index % 64);
  const std::uint64_t before = set_bits(seen_[index / 64], bit);
  if (before & bit) {
    if ((set_bits(shared_[index / 64], bit) & bit) == 0) read_shared_.fetch_add(1, relaxed);
    return;
  }
  read_distinct_.fetch_add(1, relaxed);
  // A fetch and a line are aligned groups of sectors; the first of its sectors brings one in.
  const auto is_first_of = [&](unsigned sectors) {
    const std::uint64_t group = ((std::uint64_t{1} << sectors) - 1)
                                << (index % 64 / sectors * sectors);
    return (before & group) == 0;
  };
  if (is_first_of(fetch_sectors_)) read_fetches_.fetch_add(1, relaxed);
  if (is_first_of(line_bytes / sector_bytes)) read_lines_.fetch_add(1, relaxed);
  extend(index);
}

std::uint32_t Footprint::add(const BlockSector& done) {
  const std::uint64_t index = done.sector - begin_ / sector_bytes;
  const std::uint64_t before =
      set_bits(touched_[index], static_cast<std::uint64_t>(done.read) << 32 | done.written);
  const auto written = static_cast<std::uint32_t>(before);
  const auto read = static_cast<std::uint32_t>(before >> 32);
  if (done.written != 0) {
    if (written == 0) {
      write_distinct_.fetch_add(1, relaxed);
      extend(index);
    }
  }
  const auto is_complete = [](std::uint32_t bytes_written, std::uint32_t bytes_read) {
    return bytes_written == ~0u || (bytes_written != 0 && bytes_read != 0);
  };
  if (!is_complete(written, read) && is_complete(written | done.written, read | done.read)) {
    write_complete_.fetch_add(1, relaxed);
  }
  return (done.written & (written | read)) | (done.read & written);
}

FootprintSums Footprint::sums() const {
  FootprintSums sums = sums_;
  sums.read_requests = read_requests_;
  sums.read_by_block = read_by_block_;
  sums.read_distinct = read_distinct_;
  sums.read_shared = read_shared_;
  sums.read_fetches = read_fetches_;
  sums.read_lines = read_lines_;
  sums.read_extents = read_extents_;
  for (std::size_t i = 0; i < reuse_classes; ++i) {
    sums.reuses[i] = {static_cast<double>(reuse_counts_[i]),
                      static_cast<double>(reuse_distances_[i])};
  }
  sums.read_beside_new = read_beside_new_;
  sums.read_with_another = read_with_another_;
  sums.read_fetches_by_block = read_fetches_by_block_;
  sums.read_jumps_by_block = read_jumps_by_block_;
  sums.read_alone = read_alone_;
  sums.write_requests = write_requests_;
  sums.write_requests_in_part = write_requests_in_part_;
  sums.write_distinct = write_distinct_;
  sums.write_complete = write_complete_;
  sums.extent = first_ <= last_ ? last_ - first_ + 1 : 0;
  return sums;
}

Footprint* FootprintMap::at(std::uint64_t address) {
  const std::lock_guard lock(mutex_);
  for (const auto& footprint : footprints_) {
    if (footprint->holds(address)) return footprint.get();
  }
  const Allocation* allocation = memory_.find(reinterpret_cast<const void*>(address));
  if (allocation == nullptr) return nullptr;
  footprints_.push_back(std::make_unique<Footprint>(*allocation, fetch_sectors_));
  return footprints_.back().get();
}

void FootprintMap::note(const Race& race) {
  const std::lock_guard lock(mutex_);
  if (!race_ || race.mine.sector < race_->mine.sector) race_ = race;
}

std::vector<FootprintSums> FootprintMap::sums() const {
  const std::lock_guard lock(mutex_);
  std::vector<FootprintSums> all;
  for (const auto& footprint : footprints_) all.push_back(footprint->sums());
  // In the order of allocation, whichever thread met one first.
  std::sort(all.begin(), all.end(),
            [](const auto& a, const auto& b) { return a.identity < b.identity; });
  return all;
}

std::uint64_t BlockSectors::read_between(std::uint32_t from, std::uint32_t to) const {
  std::uint64_t sum = 0;
  for (std::uint32_t i = from; i < to; ++i) sum += reads_of_interval_[i];
  return sum;
}

void BlockSectors::clear(unsigned warps) {
  if (++epoch_ == 0) {  // all numbers have been used
    slots_.assign(slots_.size(), Slot{});
    epoch_ = 1;
  }
  touched_.clear();
  reads_ = 0;
  reads_of_interval_.clear();
  warps_ = warps;
}

BlockSectors::Slot& BlockSectors::slot_of(std::uint64_t sector) {
  std::size_t at = (sector * 0x9e3779b97f4a7c15u) >> 20 & (slots_.size() - 1);
  while (slots_[at].epoch == epoch_ && touched_[slots_[at].place].sector != sector) {
    at = (at + 1) & (slots_.size() - 1);
  }
  return slots_[at];
}

BlockSector& BlockSectors::at(std::uint64_t sector) {
  Slot& slot = slot_of(sector);
  if (slot.epoch == epoch_) return touched_[slot.place];
  slot = {epoch_, static_cast<std::uint32_t>(touched_.size())};
  touched_.push_back({.sector = sector});
  if (2 * touched_.size() >= slots_.size()) grow();
  return touched_.back();
}

void BlockSectors::grow() {
  const std::size_t sectors = slots_.size();  // as many as there will be room for
  ask_to_keep(sectors, 2 * sizeof(Slot) + sizeof(BlockSector));
  touched_.reserve(sectors);
  slots_.assign(2 * slots_.size(), Slot{});
  for (std::size_t i = 0; i < touched_.size(); ++i) {
    slot_of(touched_[i].sector) = {epoch_, static_cast<std::uint32_t>(i)};
  }
}

LastRead BlockSectors::read(BlockSector& mine, std::uint32_t interval) {
  // Reads of two warps within so many of each are of one time: a request of all lanes, at most.
  constexpr std::uint64_t at_once = warp_lanes;
  if (reads_of_interval_.size() <= interval) reads_of_interval_.resize(interval + 1);
  ++reads_of_interval_[interval];
  const std::uint64_t last = std::exchange(mine.last_read, ++reads_);
  const std::uint64_t turn = std::exchange(mine.last_turn, ++turn_);
  const unsigned warp = std::exchange(mine.last_warp, warp_);
  const std::uint32_t before = std::exchange(mine.last_interval, interval);
  if (last == 0) return {};
  const std::uint64_t noted = reads_ - last;
  if (warp == warp_ || before != interval) return {noted, before, false};
  // Warps run side by side: between a warp's t-th read and another's u-th, each reads |t - u|.
  const std::uint64_t apart = turn < turn_ ? turn_ - turn : turn - turn_;
  return {std::min(noted, (apart + 1) * warps_), before, apart <= at_once};
}

bool BlockSectors::is_first_of(std::uint64_t sector, unsigned sectors) {
  for (std::uint64_t other = sector / sectors * sectors, end = other + sectors; other < end;
       ++other) {
    if (other == sector) continue;
    const Slot& slot = slot_of(other);
    if (slot.epoch == epoch_ && touched_[slot.place].last_read > 0) return false;
  }
  return true;
}

std::vector<std::uint64_t> BlockSectors::read_in_order() const {
  std::vector<std::uint64_t> sectors;
  for (const BlockSector& one : touched_) {
    if (one.read != 0) sectors.push_back(one.sector);
  }
  std::sort(sectors.begin(), sectors.end());
  return sectors;
}

void note_jumps(const BlockSectors& block, FootprintMap& map) {
  constexpr std::uint64_t page = 1024 / sector_bytes;  // of HBM3, in a pseudo channel (JESD238)
  Footprint* of = nullptr;
  std::uint64_t begin = 0, last = 0, length = 0;
  for (const std::uint64_t sector : block.read_in_order()) {
    if (of == nullptr || !of->holds(sector * sector_bytes)) {
      of = map.at(sector * sector_bytes);
      begin = sector;
      length = 0;
    } else if (sector - last > page) {
      if (sector - begin != length) of->read_jump();
      length = sector - begin;
      begin = sector;
    }
    last = sector;
  }
}

}  // namespace gpubench::model
