// The model device's memory: one large range of addresses whose pages exist only once touched.
//
// An allocation costs address space, not memory. What an untouched page would hold is known without
// touching it: a byte set over the whole allocation, or a function of the index (`Filler`), so an
// 8 GiB buffer costs nothing until somebody reads it, and then only the pages that were read.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace gpubench::model {

// Writes what bytes [offset, offset + bytes) of an allocation hold into `destination`. Must depend
// on nothing but `offset` and `bytes`; called with whole pages, possibly from several threads.
using Filler = std::function<void(std::byte* destination, std::size_t offset, std::size_t bytes)>;

// One cudaMalloc, or what cuMemMap has put at reserved addresses. `begin` is page aligned and
// followed by an unmapped gap, so that an overrun lands in no allocation.
struct Allocation {
  std::byte* begin = nullptr;
  std::size_t bytes = 0;
  int device = 0;                     // on which it lies
  std::uint64_t identity = 0;         // never reused
  std::uint64_t content_version = 0;  // changes with every whole-allocation fill or set
  Filler filler;
  std::unique_ptr<std::atomic<std::uint64_t>[]> present;  // a bit a page
  // For mapped memory: the devices that cuMemSetAccess has named. None: cudaMalloc's own rules.
  std::optional<std::set<int>> accessors;
  // A multicast object has no memory: its addresses reach the same offset of each replica, of which
  // there are `team` once each of its devices has bound memory. 0: ordinary memory.
  unsigned team = 0;
  std::vector<Allocation*> replicas;

  bool contains(const void* address, std::size_t size) const {
    const auto* p = static_cast<const std::byte*>(address);
    return p >= begin && size <= bytes && p <= begin + (bytes - size);
  }
  // Why an ordinary access by a kernel of that device is none: " at a multicast address, ..."; ""
  // if nothing here speaks against it.
  std::string why_not(int kernels_device) const;
};

class DeviceMemory {
 public:
  static constexpr std::size_t page_bytes = 4096;

  // `capacity` [bytes]: what each modelled device has; allocations beyond it fail. All devices
  // share one range of addresses, as under CUDA's unified addressing.
  explicit DeviceMemory(std::size_t capacity, int devices = 1);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  // nullptr when `bytes` do not fit in what is free. Contents of a new allocation are 0xFF bytes:
  // NaN as float and double, so that a read of uninitialised memory shows in every result.
  void* allocate(std::size_t bytes, int device = 0);
  bool release(void* begin);  // false: not the beginning of an allocation that allocate() made

  // The same in parts: addresses, memory of a device (false: there is too little), and what lies at
  // such addresses.
  void* reserve(std::size_t bytes);  // nullptr: there are no more
  void unreserve(void* begin, std::size_t bytes);
  bool take(std::size_t bytes, int device);
  void put_back(std::size_t bytes, int device);
  // `team` > 0: as many devices' memory at once, which has yet to be bound.
  Allocation& map(void* begin, std::size_t bytes, int device, unsigned team = 0);
  void unmap(Allocation& mapped);

  // Live allocations from this identity on, in the order in which they were made, and what the next
  // one's will be.
  std::vector<Allocation*> live_from(std::uint64_t identity) const;
  std::uint64_t next_identity() const { return next_identity_; }
  const std::set<const Allocation*>& multicast_objects() const {
    return multicast_objects_;
  }  // mapped

  std::size_t capacity() const { return capacity_; }
  std::size_t free_bytes(int device = 0) const;

  // Whether an address lies in the device's range at all (live allocation or not).
  bool in_range(const void* address) const {
    const auto* p = static_cast<const std::byte*>(address);
    return p >= base_ && p < base_ + reserved_;
  }
  // The live allocation that holds `address`, or nullptr. The pointer stays valid until release()
  // or unmap(). Not to be called while another thread allocates or releases.
  Allocation* find(const void* address) const;
  // The last live allocation that begins at or before `address`, or nullptr; otherwise as find().
  Allocation* preceding(const void* address) const;

  // Whether the page that holds `address`, which must lie in `a`, has its contents.
  static bool is_present(const Allocation& a, const void* address) {
    const auto page =
        static_cast<std::size_t>(static_cast<const std::byte*>(address) - a.begin) / page_bytes;
    return (a.present[page / 64].load(std::memory_order_acquire) >> (page % 64) & 1) != 0;
  }
  // Bytes of the pages that do not.
  static std::size_t absent_bytes(const Allocation& a);
  // Makes the pages of [address, address + bytes) hold their contents. The range must lie in `a`.
  // Safe from several threads.
  static void touch(Allocation& a, const void* address, std::size_t bytes);

  // Copies between host and device or within the device; ranges must lie in one live allocation
  // each (std::out_of_range otherwise).
  void read(void* host, const void* device, std::size_t bytes) const;
  void write(void* device, const void* host, std::size_t bytes);
  void copy(void* to, const void* from, std::size_t bytes);
  // A set over a whole allocation is remembered, not carried out.
  void set(void* device, int byte, std::size_t bytes);
  // Replaces the contents of the whole allocation that begins at `device`.
  void fill(void* device, Filler filler);

  // The parts of [begin, begin + bytes) whose pages exist, ascending and merged: where anything
  // was read or written since the last whole fill or set.
  std::vector<std::pair<std::byte*, std::size_t>> present_ranges(const void* begin,
                                                                 std::size_t bytes) const;

 private:
  Allocation& require(const void* device, std::size_t bytes) const;
  static void drop_pages(Allocation& a);
  void give_back(std::byte* begin, std::size_t bytes);
  // All three under the lock.
  std::byte* find_room(std::size_t span);
  bool take_locked(std::size_t bytes, int device);
  Allocation& add(std::byte* begin, std::size_t bytes, int device);

  std::byte* base_ = nullptr;
  std::size_t reserved_ = 0;
  std::size_t capacity_;
  std::vector<std::size_t> used_;  // by device
  std::uint64_t next_identity_ = 1;
  std::map<std::byte*, std::unique_ptr<Allocation>> live_;  // by begin
  std::set<const Allocation*> multicast_objects_;
  std::map<std::byte*, std::size_t> free_;  // bytes by begin; no two of them touch
  mutable std::mutex mutex_;
};

// Overruns are caught because nothing lies between allocations: the gap after each.
inline constexpr std::size_t allocation_gap_bytes = 1 << 16;

}  // namespace gpubench::model
