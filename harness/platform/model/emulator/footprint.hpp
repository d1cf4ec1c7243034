// Which parts of an allocation a kernel's traced blocks touched: what the caches are judged by.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "harness/platform/model/emulator/counts.hpp"
#include "harness/platform/model/memory/memory.hpp"

namespace gpubench::model {

// Reads of a sector that its block had read before.
struct Reuse {
  double count = 0;
  // Sectors that the block read since, summed. Warps are looked at one after the other, which is in
  // the order of time only from one interval between barriers to the next.
  double distance = 0;

  double mean() const { return count > 0 ? distance / count : 0; }
};
inline constexpr std::size_t reuse_classes = 32;  // of a distance from 2^i to 2^(i + 1)

// What a block reads of an allocation that its neighbour in the grid reads as well.
struct Shared {
  double fraction = 0;  // of the neighbour's distinct sectors
  double skew = 0;  // by how many sectors of a warp sooner or later the neighbour comes by, a mean
};

// Sums over the traced blocks, in sectors of 32 bytes.
struct FootprintSums {
  std::uint64_t identity = 0;  // of the allocation
  int device = 0;              // on which that lies
  bool is_mapped = false;      // by the driver's calls for virtual memory
  unsigned team = 0;           // devices that a multicast address reaches; 0: ordinary memory
  std::size_t allocation_bytes = 0;
  std::uint64_t read_requests = 0;  // sectors asked for, each as often as a request named it
  std::uint64_t read_by_block = 0;  // distinct within their block, summed over the blocks
  std::uint64_t read_distinct = 0;  // distinct over all traced blocks
  std::uint64_t read_shared = 0;    // of those, the ones that more than one block read
  std::uint64_t read_fetches = 0;   // distinct pieces of the size that a DRAM read fetches
  std::uint64_t read_lines = 0;     // distinct lines of 128 bytes
  std::uint64_t read_extents = 0;   // from a block's first to its last, summed over the blocks
  std::array<Reuse, reuse_classes> reuses{};
  // Repeats within their block in a request that also named what was new to it, and waits for that.
  std::uint64_t read_beside_new = 0;
  // Those of what another warp of the block asks for at the same time, which wait as that one does.
  std::uint64_t read_with_another = 0;
  // As read_fetches, but distinct within their block, summed over the blocks; and how often these
  // jump on to another place, but not as far as the time before (the first jump of a block counts).
  std::uint64_t read_fetches_by_block = 0, read_jumps_by_block = 0;
  // Those of read_requests whose request did not ask for the other half of their 64 bytes.
  std::uint64_t read_alone = 0;
  std::uint64_t write_requests = 0;
  std::uint64_t write_requests_in_part = 0;  // of those, sectors of which a request wrote a part
  std::uint64_t write_distinct = 0;
  // The ones that L2 need not fetch to complete: all 32 bytes were written, or a block
  // read of them.
  std::uint64_t write_complete = 0;
  std::uint64_t extent = 0;        // sectors from the first touched to the last
  std::array<Shared, 3> shared{};  // with neighbours along x, y and z, where they were compared
};

// What one block did to a sector. Bytes: a bit each.
struct BlockSector {
  std::uint64_t sector = 0;
  std::uint32_t read = 0, written = 0;
  Event first_read{}, first_write{};  // the accesses
  std::uint64_t last_read = 0;        // which of the block's reads of sectors that was, from 1
  std::uint32_t last_interval = 0;    // and between which of its barriers
  unsigned last_warp = 0;             // whose that was
  std::uint64_t last_turn = 0;        // and which of that warp's
};

// How a block last read a sector before it reads it again.
struct LastRead {
  std::uint64_t distance = 0;          // sectors that it has read since; 0: it never did
  std::uint32_t interval = 0;          // between which barriers that was
  bool is_of_another_at_once = false;  // by another warp, at about the same time
};

// The sectors of global memory that one block has touched.
class BlockSectors {
 public:
  void clear(unsigned warps = 1);
  // Reads are noted one warp after the other; `warp` from 0.
  void begin_warp(unsigned warp) {
    warp_ = warp;
    turn_ = 0;
  }
  // Valid until the next call. OutOfHostMemory: there are too many of them.
  BlockSector& at(std::uint64_t sector);
  const std::vector<BlockSector>& touched() const { return touched_; }
  // Notes a read behind so many barriers.
  LastRead read(BlockSector& mine, std::uint32_t interval);
  // What all warps read between the barriers `from` and `to`, once all have been looked at.
  std::uint64_t read_between(std::uint32_t from, std::uint32_t to) const;
  // Whether the block has read nothing else of the aligned `sectors` sectors that this one is of.
  bool is_first_of(std::uint64_t sector, unsigned sectors);
  // What it has read, in the order of addresses.
  std::vector<std::uint64_t> read_in_order() const;

 private:
  struct Slot {
    std::uint32_t epoch = 0;
    std::uint32_t place = 0;  // in touched_
  };
  Slot& slot_of(std::uint64_t sector);  // where it is, or would be
  void grow();

  std::vector<BlockSector> touched_;
  std::uint64_t reads_ = 0;
  std::vector<std::uint64_t> reads_of_interval_;
  unsigned warps_ = 1, warp_ = 0;
  std::uint64_t turn_ = 0;  // reads of this warp
  std::vector<Slot> slots_ = std::vector<Slot>(1 << 12);
  std::uint32_t epoch_ = 1;
};

// One allocation's map; safe from several threads, and its sums do not depend on their order.
class Footprint {
 public:
  Footprint(const Allocation& allocation, unsigned fetch_sectors);
  ~Footprint();
  Footprint(const Footprint&) = delete;
  Footprint& operator=(const Footprint&) = delete;

  std::uint64_t identity() const { return sums_.identity; }
  std::size_t allocation_bytes() const { return sums_.allocation_bytes; }
  // A sector's, from the allocation's begin.
  std::size_t offset_of(std::uint64_t sector) const { return sector * sector_bytes - begin_; }
  bool holds(std::uint64_t address) const { return address - begin_ < sums_.allocation_bytes; }
  // `sector`: the address divided by 32. `distance`: sectors that this block has read since it last
  // read this one; 0: it did not.
  void read(std::uint64_t sector, std::uint64_t distance);
  // The same of `count` sectors that this block has read before.
  void read_again(std::uint64_t count, std::uint64_t distance);
  // By a block that has read nothing of this fetch before.
  void read_fetch() { read_fetches_by_block_.fetch_add(1, std::memory_order_relaxed); }
  void read_jump() { read_jumps_by_block_.fetch_add(1, std::memory_order_relaxed); }
  unsigned fetch_sectors() const { return fetch_sectors_; }
  void read_alone(std::uint64_t sectors) { read_alone_.fetch_add(sectors); }
  void read_with_another(std::uint64_t repeats) { read_with_another_.fetch_add(repeats); }
  // How many sectors of a request that named something new to its block were not new.
  void read_beside_new(std::uint64_t repeats) { read_beside_new_.fetch_add(repeats); }
  // Once a block that read from here: from its first sector to its last.
  void end_block(std::uint64_t extent) { read_extents_.fetch_add(extent); }
  void write(bool in_part) {
    write_requests_.fetch_add(1, std::memory_order_relaxed);
    if (in_part) write_requests_in_part_.fetch_add(1, std::memory_order_relaxed);
  }
  // What a block has done to a sector, once it has ended: the bytes of it that another block has
  // written as well, or that one of both has read and the other written.
  std::uint32_t add(const BlockSector& done);
  FootprintSums sums() const;

 private:
  void extend(std::uint64_t index);

  std::uint64_t begin_;
  unsigned fetch_sectors_;
  std::size_t sectors_;
  FootprintSums sums_;
  // A bit for each sector that was read, and for each that several blocks read; pages exist once
  // touched.
  std::atomic<std::uint64_t>*seen_, *shared_;
  // A bit for each byte that was written, above them one for each that was read; of a sector.
  std::atomic<std::uint64_t>* touched_;
  std::array<std::atomic<std::uint64_t>, reuse_classes> reuse_counts_{}, reuse_distances_{};
  std::atomic<std::uint64_t> read_extents_{0}, read_lines_{0}, read_beside_new_{0},
      read_with_another_{0}, read_fetches_by_block_{0}, read_jumps_by_block_{0}, read_alone_{0};
  std::atomic<std::uint64_t> read_requests_{0}, read_by_block_{0}, read_distinct_{0},
      read_shared_{0}, read_fetches_{0}, write_requests_{0}, write_requests_in_part_{0},
      write_distinct_{0}, write_complete_{0}, first_{~0ull}, last_{0};
};

// The footprints of one kernel run, found by address.
class FootprintMap {
 public:
  FootprintMap(DeviceMemory& memory, unsigned fetch_sectors)
      : memory_(memory), fetch_sectors_(fetch_sectors) {}

  // nullptr when the address lies in no allocation. The answer stays valid.
  Footprint* at(std::uint64_t address);
  std::vector<FootprintSums> sums() const;

  // Two blocks came by the same bytes of global memory, one of them to write.
  struct Race {
    BlockSector mine;         // of the block that was looked at later
    std::uint64_t block = 0;  // that one, by its linear index
    std::uint32_t bytes = 0;  // of the sector, a bit each
  };
  // Keeps the one at the lowest address.
  void note(const Race& race);
  const std::optional<Race>& race() const { return race_; }

 private:
  DeviceMemory& memory_;
  unsigned fetch_sectors_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Footprint>> footprints_;
  std::optional<Race> race_;
};

// Notes how often a block has jumped about in what it read. One that reads rows of a tile, or a
// word of each line, goes equally far each time, and its neighbours read what lies between.
void note_jumps(const BlockSectors& block, FootprintMap& map);

}  // namespace gpubench::model
