// A block that runs: its launch, its memory, its lanes, and what every access of a lane has to be:
// within bounds, aligned and in order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "harness/platform/model/conditions/conditions.hpp"
#include "harness/platform/model/emulator/block_result.hpp"
#include "harness/platform/model/emulator/cluster_memory.hpp"
#include "harness/platform/model/emulator/copy_log.hpp"
#include "harness/platform/model/emulator/lane_recorder.hpp"
#include "harness/platform/model/emulator/lane_scheduler.hpp"
#include "harness/platform/model/emulator/shared_memory.hpp"
#include "harness/platform/model/launch/executor.hpp"
#include "harness/platform/model/memory/memory.hpp"

namespace gpubench::model {

// "load", "store of an asynchronous copy", ...
const char* name_of(EventKind kind);
std::string words(uint3 at);  // "(1,0,0)"

class Block {
 public:
  // `memory` and `is_mapped_host` must outlive the block; `body` runs a lane of `runner`.
  Block(DeviceMemory& memory, const MappedHost& is_mapped_host, const Ordering& ordering,
        BlockRunner* runner, void (*body)());
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  void begin(const KernelLaunch& launch, dim3 index, bool traced, ClusterMemory::Place place);
  BlockResult end();

  // --- its parts ---
  SharedMemory& shared() { return shared_; }
  const SharedMemory& shared() const { return shared_; }
  LaneRecorder& recorder() { return recorder_; }
  const LaneRecorder& recorder() const { return recorder_; }
  LaneScheduler& lanes() { return lanes_; }
  const LaneScheduler& lanes() const { return lanes_; }
  CopyLog& copies() { return copies_; }
  const KernelLaunch& launch() const { return *launch_; }
  uint3 index() const { return index_; }
  const ClusterMemory::Place& cluster() const { return cluster_; }
  unsigned rank() const { return index_.x % launch_->cluster; }  // in its cluster
  const Ordering& ordering() const { return ordering_; }
  BlockResult& result() { return result_; }
  bool is_traced() const { return recorder_.is_on(); }
  // Whether this is the current lane's stack, the program's data or the launch's arguments: what
  // no access to is counted.
  bool is_own(std::uint64_t address);
  LaneTrace* trace() { return recorder_.trace(); }  // the current lane's, or nullptr

  // --- accesses of the current lane ---
  // All that an access costs: inlined with `bytes` and `kind` known.
  [[gnu::always_inline]] void on_access(const void* address, unsigned bytes, EventKind kind,
                                        const void* code) {
    const auto at = reinterpret_cast<std::uint64_t>(address);
    const bool global = memory_.in_range(address);
    if (global) {
      if (!is_known_good(address, bytes)) check_global(address, bytes, kind, code);
    } else if (!shared_.holds(at)) {
      check_private(address, bytes, kind, code);
      return;
    } else if (!shared_.is_known_good(at, bytes)) {
      if (shared_.is_builtin(at)) return check_builtin(kind, code);
      check_shared(at, bytes, kind, code);
    }
    LaneTrace* const trace = recorder_.trace();
    if (trace == nullptr) return;
    trace->events.push(make_event(code, kind, bytes));
    trace->addresses.push(at);
    if (kind == EventKind::load && (bytes == 4 || bytes == 8)) {
      recorder_.loads().note(
          at, bytes == 8 ? word_at<std::uint64_t>(address) : word_at<std::uint32_t>(address),
          global ? Space::global : Space::shared);
    }
    if (bytes == 4 && kind == EventKind::load) {
      global ? check_word<true, EventKind::load>(at, code)
             : check_word<false, EventKind::load>(at, code);
    } else if (bytes == 4 && kind == EventKind::store) {
      global ? check_word<true, EventKind::store>(at, code)
             : check_word<false, EventKind::store>(at, code);
    } else {
      check_any_order(global, at, bytes, as_plain(kind), code);
    }
  }
  bool is_global(const void* address) const { return memory_.in_range(address); }
  bool is_mapped_host(const void* address, std::size_t bytes) const {
    return is_mapped_host_ && is_mapped_host_(address, bytes);
  }
  void check_bounds(const void* address, std::size_t bytes, EventKind kind, const void* code);
  // Bounds and alignment of what is known to lie in shared memory.
  void check_place(std::uint64_t address, unsigned bytes, EventKind kind, const void* code) {
    if (!shared_.is_known_good(address, bytes)) check_shared(address, bytes, kind, code);
  }
  [[gnu::always_inline]] void check_order(bool global, std::uint64_t address, unsigned bytes,
                                          EventKind kind, const void* code) {
    MemoryChecker& checker = recorder_.checker();
    if (!global && cluster_.memory != nullptr) [[unlikely]] {
      check_own_of_cluster(address, bytes, kind, code);
    }
    const auto verdict = global ? checker.on_global(address, bytes, kind)
                                : checker.on_shared(shared_.offset_of(address), bytes, kind);
    if (verdict != MemoryChecker::Verdict::good) [[unlikely]] {
      report(verdict, address, bytes, kind, code);
    }
  }
  // What a copy, just made at once, has brought: nobody's to use yet.
  void note_copy(const AsyncCopy& copy);
  void report(MemoryChecker::Verdict verdict, std::uint64_t address, unsigned bytes, EventKind kind,
              const void* code);

  // --- what went wrong ---
  // Ends the block: the current lane did it, at `code`.
  [[noreturn]] void fault(std::string_view what, const void* code);
  [[noreturn]] void fault_of_access(std::string_view what, const void* code);
  [[noreturn]] void fault(std::string_view what);  // nobody knows in which line
  // Whether a frame of the current lane lies below its stack.
  bool has_overrun_stack(const void* frame) const {
    return static_cast<const std::byte*>(frame) < lanes_.current_lane().stack;
  }
  // Ends the block, whose lanes wait for what never comes.
  void end_in_deadlock();
  // The first read of shared memory that nobody had written. As lanes run one after the other, it
  // may be a race with a store that is still to come, so it is reported at the next barrier.
  bool has_unwritten_read() const { return unwritten_.bytes != 0; }

  // What an address of device or shared memory belongs to ("'tile'"), and where that begins.
  std::pair<std::string, std::uint64_t> home_of(std::uint64_t address) const;
  // "bytes 128..131 of 'tile'"
  std::string place(std::uint64_t address, unsigned bytes) const;

 private:
  struct UnwrittenRead {
    unsigned lane = 0;
    std::uint64_t address = 0;
    unsigned bytes = 0;  // 0: there was none
    EventKind kind = EventKind::load;
    const void* code = nullptr;
  };

  template <class Word>
  [[gnu::always_inline]] static Word word_at(const void* address) {
    Word word;
    __builtin_memcpy(&word, address, sizeof(word));
    return word;
  }
  // An aligned access to a page that is there, of one of the allocations used last.
  bool is_known_good(const void* address, unsigned bytes) const {
    if (reinterpret_cast<std::uintptr_t>(address) % bytes != 0) return false;
    for (const Allocation* a : recent_) {
      if (a == nullptr) return false;
      if (a->contains(address, bytes)) return DeviceMemory::is_present(*a, address);
    }
    return false;
  }
  // Calls, so that accesses that need no check save no registers for it; one each for the usual
  // ones.
  template <bool global, EventKind kind>
  [[gnu::noinline]] void check_word(std::uint64_t address, const void* code) {
    check_order(global, address, 4, kind, code);
  }
  [[gnu::noinline]] void check_any_order(bool global, std::uint64_t address, unsigned bytes,
                                         EventKind kind, const void* code) {
    check_order(global, address, bytes, kind, code);
  }
  void check_builtin(EventKind kind, const void* code);
  void check_own_of_cluster(std::uint64_t address, unsigned bytes, EventKind kind,
                            const void* code);
  // Whether the address is another block's of the cluster; then it does what on_access() does.
  bool is_remote_access(const void* address, unsigned bytes, EventKind kind, const void* code);
  bool is_forbidden_store(std::uint64_t at, unsigned bytes, EventKind kind);
  void check_private(const void* address, unsigned bytes, EventKind kind, const void* code);
  void check_global(const void* address, unsigned bytes, EventKind kind, const void* code);
  void check_shared(std::uint64_t address, unsigned bytes, EventKind kind, const void* code);

  // --- in race_report.cpp ---
  std::string describe_unwritten() const;
  [[noreturn]] void report_unawaited(std::uint64_t address, unsigned bytes, EventKind kind,
                                     const void* code);
  [[noreturn]] void report_race(std::uint64_t address, unsigned bytes, EventKind kind,
                                const void* code);
  // The last access of that kind to a byte of [begin, end) that the lane made since the last
  // barrier: its code address and bytes, as an event, and its address. No event: there is none.
  std::pair<Event, std::uint64_t> last_access(unsigned lane, EventKind kind, std::uint64_t begin,
                                              std::uint64_t end) const;

  DeviceMemory& memory_;
  const MappedHost& is_mapped_host_;
  const Ordering ordering_;
  LaneRecorder recorder_;
  SharedMemory shared_;
  std::array<Allocation*, 4> recent_{};  // the last allocations that were accessed
  unsigned next_recent_ = 0;
  const KernelLaunch* launch_ = nullptr;
  uint3 index_;
  ClusterMemory::Place cluster_;
  LaneScheduler lanes_;
  CopyLog copies_;
  BlockResult result_;
  UnwrittenRead unwritten_;
};

}  // namespace gpubench::model
