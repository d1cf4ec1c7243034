// Finds accesses to the same bytes by threads of one block that nothing orders, and reads of shared
// memory that nobody has written. Exact for the execution it sees: no sampling, and no state that
// is given up.
//
// What orders accesses: program order; a block's barrier, all threads (those that have ended are
// taken to have arrived); __syncwarp, the lanes of its mask, and through them what they had been
// ordered with. Shuffles and votes order nothing, as the CUDA C++ Programming Guide says ("do not
// imply a memory barrier"). Two accesses race if nothing orders them, they share a byte, one of
// them writes, and not both are atomics. Stores of one and the same value race all the same.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "harness/platform/model/emulator/trace.hpp"
#include "harness/platform/model/memory/host_memory.hpp"

namespace gpubench::model {

class MemoryChecker {
 public:
  static constexpr unsigned lanes_a_warp = 32;

  // under_way: an asynchronous copy into these bytes has not been waited for.
  enum class Verdict : std::uint8_t { good, race, never_written, under_way };

  // What the last race was with: an access of this kind to bytes of the same word by `thread` since
  // the last barrier, its last one; or by some thread of another warp than the present one's.
  struct Opponent {
    EventKind kind = EventKind::load;
    bool in_another_warp = false;
    unsigned thread = 0;
  };

  // A block of `threads` threads begins; `shared_words` 4-byte words of shared memory hold nothing.
  void begin_block(unsigned threads, std::size_t shared_words);
  // From now on accesses are those of `thread` (its linear index).
  void enter(unsigned thread) {
    const unsigned warp = thread / lanes_a_warp;
    warp_ = &warps_[warp];
    lane_ = thread % lanes_a_warp;
    bit_ = 1u << lane_;
    when_ = warp_->time << warp_bits | warp;
    store_ = warp_->time << thread_bits | thread;
  }
  void barrier();
  // The lanes of `mask` of a warp of which `all` exist have met in __syncwarp.
  void sync_warp(unsigned warp, std::uint32_t mask, std::uint32_t all);

  // An aligned access to shared memory, which begins at byte `offset` of it.
  [[gnu::always_inline]] Verdict on_shared(std::uint64_t offset, unsigned bytes, EventKind kind) {
    const std::size_t word = offset / word_bytes;
    const auto part = part_of(offset, bytes);
    Verdict verdict = Verdict::good;
    for (std::size_t i = word; i < word + (bytes + word_bytes - 1) / word_bytes; ++i) {
      if (kind == EventKind::store) {
        if (written_[i] == copying) [[unlikely]]
          return Verdict::under_way;
        written_[i] |= part;
      } else if ((written_[i] & part) != part) [[unlikely]] {
        if (written_[i] == copying) return Verdict::under_way;
        verdict = Verdict::never_written;
      }
      if (!is_good(shared_[i], part, kind)) return Verdict::race;
    }
    return verdict;
  }
  // Asynchronous copies into shared memory, of whole words. One begins where its thread starts it,
  // as a store. Who may use what it brings is for the caller to say: the thread that has waited for
  // it, from then on (`end_copy`: a second store, there), or, where others wait for it themselves,
  // each that has (`on_copied`: as on_shared() when it has arrived), and all once they have met
  // (`settle`).
  Verdict begin_copy(std::uint64_t offset, unsigned bytes, bool others_wait);
  Verdict end_copy(std::uint64_t offset, unsigned bytes);
  Verdict on_copied(std::uint64_t offset, unsigned bytes, EventKind kind);
  void settle(std::uint64_t offset, unsigned bytes);
  // One that another block of the cluster has asked for, after the cluster has met: whether what it
  // replaces has been waited for.
  bool begin_copy_by_another(std::uint64_t offset, unsigned bytes);
  // An aligned access to global memory.
  [[gnu::always_inline]] Verdict on_global(std::uint64_t address, unsigned bytes, EventKind kind) {
    Cell* cell = cells_of(address / sector_bytes) + address % sector_bytes / word_bytes;
    const auto part = part_of(address, bytes);
    for (unsigned at = 0; at < bytes; at += word_bytes, ++cell) {
      if (!is_good(*cell, part, kind)) return Verdict::race;
    }
    return Verdict::good;
  }
  // What another block of the cluster does to shared memory: stores to it, or reads it, which is
  // whether all of that has been written.
  bool note_remote(std::uint64_t offset, unsigned bytes, EventKind kind);
  const Opponent& opponent() const { return opponent_; }
  // Whether the block has written a byte of this word of shared memory.
  bool is_written(std::size_t word) const { return written_[word] != 0; }
  bool is_under_way(std::size_t word) const { return written_[word] == copying; }
  // The host has no room for more of what the block touches: what is new is not checked.
  bool is_lacking() const { return lacking_.has_value(); }
  // Why, to be thrown from outside the kernel. None is left.
  std::optional<OutOfHostMemory> take_lacking() { return std::exchange(lacking_, std::nullopt); }
  // Numbers the time between two barriers; never twice the same.
  std::uint32_t interval() const { return interval_; }

 private:
  static constexpr unsigned word_bytes = 4, sector_bytes = 32;
  static constexpr unsigned words_a_sector = sector_bytes / word_bytes;
  // How times, warps and threads are packed into words.
  static constexpr unsigned warp_bits = 5, thread_bits = 10, time_bits = 31 - thread_bits;
  static constexpr std::uint32_t nobody = ~std::uint32_t{0} >> 1;
  static constexpr std::uint32_t several_warps = ~std::uint32_t{0};
  static constexpr std::uint32_t is_rich = std::uint32_t{1} << 31;
  static constexpr std::uint32_t is_list = std::uint32_t{1} << 31;
  static constexpr std::uint8_t whole = 0xF;
  static constexpr std::uint8_t copying = 0x10;  // in place of what was written before

  // Loads, or atomics, since the last barrier that may still matter: by the lanes of one warp, all
  // at one time of its clock, or by threads of several warps.
  struct Record {
    std::uint32_t when = 0;  // time << warp_bits | warp, or several_warps
    std::uint32_t lanes = 0;
  };
  // What happened to a word since the last barrier. As long as there was no race, stores are in
  // order, so the last one is enough.
  struct Cell {
    std::uint32_t interval = 0;    // of the others; if it is over: nothing
    std::uint32_t store = nobody;  // time << thread_bits | thread, or is_rich | an index of rich_
    Record load;
  };
  // The same where that does not say it all: with atomics, byte by byte, or as a list.
  struct Rich {
    std::uint32_t store = nobody;
    std::uint32_t detail = 0;  // 0, 1 + an index of splits_, or is_list | an index of lists_
    Record load, atomic;
  };
  // What a warp has that met in parts: an entry for each access that nothing has overtaken.
  struct Entry {
    std::uint32_t time;
    std::uint16_t thread;
    EventKind kind;
  };
  struct Warp {
    std::uint32_t time = 1;  // moves on with every __syncwarp
    std::uint32_t full = 0;  // the last time at which all lanes met
    bool in_parts = false;   // some met without the others
    // Once in parts: accesses of lane j before known[i][j] are ordered before what lane i does
    // next.
    std::array<std::array<std::uint32_t, lanes_a_warp>, lanes_a_warp> known;
  };
  struct Slot {
    std::uint64_t sector = 0;
    std::uint32_t block = 0;  // of another block: free
    std::uint32_t cells = 0;  // an index of global_, in sectors
  };

  // The bytes of its (first) word that an aligned access covers, a bit each.
  static std::uint8_t part_of(std::uint64_t at, unsigned bytes) {
    return bytes >= word_bytes ? whole
                               : static_cast<std::uint8_t>(((1u << bytes) - 1) << at % word_bytes);
  }
  // The cells of a sector, in this block.
  [[gnu::always_inline]] Cell* cells_of(std::uint64_t sector) {
    std::size_t i = home_of(sector);
    while (slots_[i].block == block_) {
      if (slots_[i].sector == sector) {
        return &global_[slots_[i].cells * std::size_t{words_a_sector}];
      }
      i = (i + 1) & (slots_.size() - 1);
    }
    return add_sector(sector, i);
  }
  // Neighbours stay neighbours, eight at a time; the multiplier is 2^64 over the golden ratio.
  std::size_t home_of(std::uint64_t sector) const {
    return ((sector >> 3) * 0x9E3779B97F4A7C15u >> slot_shift_ << 3) | (sector & 7);
  }
  [[gnu::cold]] Cell* add_sector(std::uint64_t sector, std::size_t slot);
  bool has_room(std::size_t elements, std::size_t bytes_each);

  [[gnu::always_inline]] bool is_good(Cell& cell, std::uint8_t part, EventKind kind) {
    if (part == whole && kind != EventKind::atomic) {
      const bool load = kind == EventKind::load;
      if (cell.interval != interval_) {
        cell = load ? Cell{interval_, nobody, {when_, bit_}} : Cell{interval_, store_, {}};
        return true;
      }
      if (load && cell.store == nobody) {
        if (cell.load.when == when_) {
          cell.load.lanes |= bit_;
          return true;
        }
        if (cell.load.when == several_warps) return true;
      }
    }
    return is_good_in_detail(cell, part, kind);
  }
  bool is_good_in_detail(Cell& cell, std::uint8_t part, EventKind kind);
  void begin_clocks();
  std::uint32_t new_list();
  void split(Rich& word);
  bool take(Rich& rich, EventKind kind);
  bool take_listed(std::uint32_t list, EventKind kind);
  bool merge(Record& record);
  void to_list(Rich& rich);
  unsigned me() const { return store_ & ((1u << thread_bits) - 1); }
  bool is_before(unsigned thread, std::uint32_t time) const;
  bool is_before(const Record& record, EventKind kind);
  bool is_store_before(std::uint32_t store);
  bool lost_to(EventKind kind, bool in_another_warp, unsigned thread);

  std::uint32_t interval_ = 0;
  std::uint32_t block_ = 0;
  // The thread whose turn it is.
  Warp* warp_ = nullptr;
  unsigned lane_ = 0;
  std::uint32_t bit_ = 0, when_ = 0, store_ = 0;

  std::vector<Warp> warps_;
  std::vector<Cell> shared_;
  std::vector<std::uint8_t> written_;  // bytes of each word of shared memory, a bit each
  std::vector<Slot> slots_;
  unsigned slot_shift_ = 64;
  std::vector<Cell> global_;  // words_a_sector for each sector of this block
  std::uint32_t sectors_ = 0;
  std::optional<OutOfHostMemory> lacking_;
  std::array<Cell, words_a_sector> unkept_{};  // of any sector, once it is lacking
  std::vector<Rich> rich_;
  std::vector<std::array<Rich, word_bytes>> splits_;
  std::vector<std::vector<Entry>> lists_;
  std::uint32_t lists_used_ = 0;
  Opponent opponent_;
};

}  // namespace gpubench::model
