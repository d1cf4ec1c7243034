#include "harness/platform/model/memory/memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>

namespace gpubench::model {
namespace {

constexpr std::size_t allocation_unit = 4096;
constexpr std::byte poison{0xFF};

std::size_t rounded(std::size_t bytes) {
  return (bytes + allocation_unit - 1) / allocation_unit * allocation_unit;
}

std::size_t page_of(const Allocation& a, const void* address) {
  return static_cast<std::size_t>(static_cast<const std::byte*>(address) - a.begin) /
         DeviceMemory::page_bytes;
}

std::size_t page_count(const Allocation& a) {
  return (a.bytes + DeviceMemory::page_bytes - 1) / DeviceMemory::page_bytes;
}

// Fills that race for one page are serialised; a stripe per group of pages keeps them apart.
std::mutex& stripe(std::size_t page) {
  static std::mutex stripes[64];
  return stripes[page % 64];
}

Filler byte_filler(std::byte value) {
  return [value](std::byte* destination, std::size_t, std::size_t bytes) {
    std::memset(destination, static_cast<int>(value), bytes);
  };
}

}  // namespace

std::string Allocation::why_not(int kernels_device) const {
  if (team > 0) return " at a multicast address, which takes multimem instructions alone,";
  if (!accessors || accessors->contains(kernels_device)) return "";
  return " of memory that cuMemSetAccess has not opened to device " +
         std::to_string(kernels_device);
}

DeviceMemory::DeviceMemory(std::size_t capacity, int devices)
    : capacity_(capacity), used_(static_cast<std::size_t>(devices), 0) {
  // Twice the capacity leaves room for the gaps and for addresses that are not used again soon. A
  // thousand devices share what there is: a process has addresses for 2^47 bytes.
  constexpr std::size_t most_reserved = std::size_t{1} << 45;
  reserved_ =
      std::min(rounded(used_.size() * (2 * capacity + (std::size_t{1} << 32))), most_reserved);
  // Which bank a cache line is in depends on its address: all runs begin at a multiple of much.
  constexpr std::size_t step = std::size_t{1} << 40;
  void* range = mmap(nullptr, reserved_ + step, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) throw std::bad_alloc();
  auto* const begin = static_cast<std::byte*>(range);
  const std::size_t before = -reinterpret_cast<std::uintptr_t>(range) % step;
  base_ = begin + before;
  if (before > 0) munmap(begin, before);
  munmap(base_ + reserved_, step - before);
  free_.emplace(base_ + allocation_gap_bytes, reserved_ - allocation_gap_bytes);
}

DeviceMemory::~DeviceMemory() { munmap(base_, reserved_); }

std::size_t DeviceMemory::free_bytes(int device) const {
  const std::lock_guard lock(mutex_);
  return capacity_ - used_.at(static_cast<std::size_t>(device));
}

// First fit; each allocation is followed by its gap.
std::byte* DeviceMemory::find_room(std::size_t span) {
  const auto place =
      std::ranges::find_if(free_, [span](const auto& range) { return range.second >= span; });
  if (place == free_.end()) return nullptr;
  const auto [begin, room] = *place;
  free_.erase(place);
  if (room > span) free_.emplace(begin + span, room - span);
  return begin;
}

bool DeviceMemory::take_locked(std::size_t bytes, int device) {
  std::size_t& used = used_.at(static_cast<std::size_t>(device));
  if (bytes > capacity_) return false;  // and what rounding up would overflow
  if (rounded(bytes) > capacity_ - used) return false;
  used += rounded(bytes);
  return true;
}

Allocation& DeviceMemory::add(std::byte* begin, std::size_t bytes, int device) {
  auto a = std::make_unique<Allocation>();
  a->begin = begin;
  a->bytes = bytes;
  a->device = device;
  a->identity = next_identity_++;
  a->filler = byte_filler(poison);
  a->present = std::make_unique<std::atomic<std::uint64_t>[]>(page_count(*a) / 64 + 1);
  return *live_.emplace(begin, std::move(a)).first->second;
}

void* DeviceMemory::allocate(std::size_t bytes, int device) {
  const std::lock_guard lock(mutex_);
  bytes = std::max<std::size_t>(bytes, 1);
  if (!take_locked(bytes, device)) return nullptr;
  std::byte* const begin = find_room(rounded(bytes) + allocation_gap_bytes);
  if (begin == nullptr) {
    used_[static_cast<std::size_t>(device)] -= rounded(bytes);
    return nullptr;
  }
  return add(begin, bytes, device).begin;
}

bool DeviceMemory::release(void* begin) {
  const std::lock_guard lock(mutex_);
  const auto found = live_.find(static_cast<std::byte*>(begin));
  if (found == live_.end() || found->second->accessors) return false;
  drop_pages(*found->second);
  used_[static_cast<std::size_t>(found->second->device)] -= rounded(found->second->bytes);
  give_back(found->first, rounded(found->second->bytes) + allocation_gap_bytes);
  live_.erase(found);
  return true;
}

void* DeviceMemory::reserve(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes > reserved_) return nullptr;
  return find_room(rounded(bytes) + allocation_gap_bytes);
}

void DeviceMemory::unreserve(void* begin, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  give_back(static_cast<std::byte*>(begin), rounded(bytes) + allocation_gap_bytes);
}

bool DeviceMemory::take(std::size_t bytes, int device) {
  const std::lock_guard lock(mutex_);
  return take_locked(bytes, device);
}

void DeviceMemory::put_back(std::size_t bytes, int device) {
  const std::lock_guard lock(mutex_);
  used_.at(static_cast<std::size_t>(device)) -= rounded(bytes);
}

Allocation& DeviceMemory::map(void* begin, std::size_t bytes, int device, unsigned team) {
  const std::lock_guard lock(mutex_);
  Allocation& mapped = add(static_cast<std::byte*>(begin), bytes, device);
  mapped.accessors.emplace();
  mapped.team = team;
  if (team > 0) multicast_objects_.insert(&mapped);
  return mapped;
}

void DeviceMemory::unmap(Allocation& mapped) {
  const std::lock_guard lock(mutex_);
  drop_pages(mapped);
  multicast_objects_.erase(&mapped);
  live_.erase(mapped.begin);
}

void DeviceMemory::give_back(std::byte* begin, std::size_t bytes) {
  auto after = free_.lower_bound(begin);
  if (after != free_.end() && after->first == begin + bytes) {
    bytes += after->second;
    after = free_.erase(after);
  }
  if (after != free_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == begin) {
      before->second += bytes;
      return;
    }
  }
  free_.emplace_hint(after, begin, bytes);
}

Allocation* DeviceMemory::preceding(const void* address) const {
  const auto after = live_.upper_bound(static_cast<std::byte*>(const_cast<void*>(address)));
  return after == live_.begin() ? nullptr : std::prev(after)->second.get();
}

Allocation* DeviceMemory::find(const void* address) const {
  Allocation* a = preceding(address);
  return a != nullptr && a->contains(address, 1) ? a : nullptr;
}

std::size_t DeviceMemory::absent_bytes(const Allocation& a) {
  std::size_t absent = page_count(a);
  for (std::size_t i = 0; i < page_count(a) / 64 + 1; ++i) {
    absent -= static_cast<std::size_t>(std::popcount(a.present[i].load(std::memory_order_relaxed)));
  }
  return absent * page_bytes;
}

void DeviceMemory::touch(Allocation& a, const void* address, std::size_t bytes) {
  if (bytes == 0) return;
  const auto* last_byte = static_cast<const std::byte*>(address) + bytes - 1;
  const std::size_t last = page_of(a, last_byte);
  for (std::size_t page = page_of(a, address); page <= last; ++page) {
    std::atomic<std::uint64_t>& word = a.present[page / 64];
    const std::uint64_t bit = std::uint64_t{1} << (page % 64);
    if (word.load(std::memory_order_acquire) & bit) continue;
    const std::lock_guard lock(stripe(page));
    if (word.load(std::memory_order_acquire) & bit) continue;
    const std::size_t offset = page * page_bytes;
    a.filler(a.begin + offset, offset, std::min(page_bytes, a.bytes - offset));
    word.fetch_or(bit, std::memory_order_release);
  }
}

std::vector<Allocation*> DeviceMemory::live_from(std::uint64_t identity) const {
  std::vector<Allocation*> found;
  for (const auto& [begin, allocation] : live_) {
    if (allocation->identity >= identity) found.push_back(allocation.get());
  }
  std::ranges::sort(found, {}, &Allocation::identity);
  return found;
}

Allocation& DeviceMemory::require(const void* device, std::size_t bytes) const {
  Allocation* a = find(device);
  if (a == nullptr || !a->contains(device, bytes) || a->team > 0) {
    throw std::out_of_range("range of " + std::to_string(bytes) +
                            " bytes lies in no device allocation");
  }
  return *a;
}

void DeviceMemory::read(void* host, const void* device, std::size_t bytes) const {
  if (bytes == 0) return;
  touch(require(device, bytes), device, bytes);
  std::memcpy(host, device, bytes);
}

void DeviceMemory::write(void* device, const void* host, std::size_t bytes) {
  if (bytes == 0) return;
  touch(require(device, bytes), device, bytes);
  std::memcpy(device, host, bytes);
}

void DeviceMemory::copy(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  touch(require(from, bytes), from, bytes);
  touch(require(to, bytes), to, bytes);
  std::memmove(to, from, bytes);
}

void DeviceMemory::set(void* device, int byte, std::size_t bytes) {
  if (bytes == 0) return;
  Allocation& a = require(device, bytes);
  if (device == a.begin && bytes == a.bytes) {
    fill(device, byte_filler(static_cast<std::byte>(byte)));
  } else {
    touch(a, device, bytes);
    std::memset(device, byte, bytes);
  }
}

void DeviceMemory::fill(void* device, Filler filler) {
  Allocation* a = find(device);
  if (a == nullptr || a->begin != device) {
    throw std::out_of_range("a fill needs the beginning of a device allocation");
  }
  drop_pages(*a);
  a->filler = std::move(filler);
  ++a->content_version;
}

void DeviceMemory::drop_pages(Allocation& a) {
  const std::size_t words = page_count(a) / 64 + 1;
  bool any = false;
  for (std::size_t i = 0; i < words; ++i) any |= a.present[i].exchange(0) != 0;
  if (any) madvise(a.begin, rounded(a.bytes), MADV_DONTNEED);
}

std::vector<std::pair<std::byte*, std::size_t>> DeviceMemory::present_ranges(
    const void* begin, std::size_t bytes) const {
  std::vector<std::pair<std::byte*, std::size_t>> ranges;
  if (bytes == 0) return ranges;
  const Allocation& a = require(begin, bytes);
  const auto* first = static_cast<const std::byte*>(begin);
  const std::byte* end = first + bytes;
  const std::size_t last_page = page_of(a, end - 1);
  for (std::size_t page = page_of(a, first); page <= last_page; ++page) {
    const std::uint64_t word = a.present[page / 64].load(std::memory_order_acquire);
    if (word == 0) {
      page |= 63;  // nothing in this word: on to the next
      continue;
    }
    if ((word >> (page % 64) & 1) == 0) continue;
    std::byte* from = std::max(a.begin + page * page_bytes, const_cast<std::byte*>(first));
    std::byte* to = std::min(a.begin + (page + 1) * page_bytes, const_cast<std::byte*>(end));
    if (!ranges.empty() && ranges.back().first + ranges.back().second == from) {
      ranges.back().second += static_cast<std::size_t>(to - from);
    } else {
      ranges.emplace_back(from, static_cast<std::size_t>(to - from));
    }
  }
  return ranges;
}

}  // namespace gpubench::model
