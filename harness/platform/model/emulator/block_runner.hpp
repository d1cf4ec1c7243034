// Runs one thread block on one operating-system thread: lanes are fibers that run until they end,
// reach a barrier or need the rest of their warp.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/platform/model/conditions/conditions.hpp"
#include "harness/platform/model/emulator/fiber.hpp"
#include "harness/platform/model/emulator/fma_chain.hpp"
#include "harness/platform/model/emulator/load_chain.hpp"
#include "harness/platform/model/emulator/memory_checker.hpp"
#include "harness/platform/model/emulator/trace.hpp"
#include "harness/platform/model/include/warp_matrix.h"
#include "harness/platform/model/launch/executor.hpp"
#include "harness/platform/model/memory/memory.hpp"

namespace gpubench::model {

inline constexpr unsigned warp_lanes = 32;

// What a warp does together, but for the block's barrier.
enum class WarpOperation : std::uint8_t { shuffle, vote, warp_barrier, matrices, matrix_load };
inline constexpr std::size_t warp_operation_kinds = 5;

struct BlockResult {
  unsigned lanes = 0;
  std::uint64_t barriers = 0;  // block-wide, counted once a warp
  std::array<std::uint64_t, warp_operation_kinds>
      warp_operations{};                                      // by WarpOperation, a warp each
  std::array<std::uint64_t, tensor_types> tensor_flops{};     // by Tensor, a warp each
  std::array<std::uint64_t, tensor_types> warpgroup_flops{};  // likewise, by wgmma
  // Of traced blocks: of the host's memory, lane by lane.
  std::uint64_t host_bytes_read = 0, host_bytes_written = 0;
  std::string fault;  // not empty: what went wrong, where, and which thread did it
};

// How often a lane waited for asynchronous copies, each time by the share of a latency that is
// left: one with n others under way behind it has seen n of n + 1 pass. So has a bulk copy that had
// n others under way beside it at any time, though by now fewer are left.
struct CopyWaits {
  double alone = 0;   // with nothing computed since the copy was started
  double beside = 0;  // while multiply-adds went on
};

// Whether kernels may access [address, address + bytes) of the host's memory.
using MappedHost = std::function<bool(const void* address, std::size_t bytes)>;

class BlockRunner {
 public:
  // Both must outlive the runner. `ordering`: in which order lanes run and copies land.
  BlockRunner(DeviceMemory& memory, const MappedHost& is_mapped_host,
              const Ordering& ordering = {});
  BlockRunner(const BlockRunner&) = delete;
  BlockRunner& operator=(const BlockRunner&) = delete;

  // Runs block `index` of the launch to its end. `traced`: keep what every lane did, for traces().
  // Must be called from the thread that the runner was last attached to.
  BlockResult run(const KernelLaunch& launch, dim3 index, bool traced);
  // A lane's trace of the last traced run; lanes in the order of their linear thread index.
  const std::vector<LaneTrace>& traces() const { return traces_; }
  // Of the same lanes.
  const FmaChain& chain(std::size_t lane) const { return chains_[lane]; }
  const LoadChain& load_chain(std::size_t lane) const { return load_chains_[lane]; }
  const CopyWaits& copy_waits(std::size_t lane) const { return lanes_[lane].copy_waits; }

  // To be called on the thread that will run blocks: shared memory is that thread's.
  void attach();
  bool is_shared(std::uint64_t address) const {
    return address - static_shared_ < static_shared_bytes_ ||
           address - dynamic_shared_begin() < launch_->shared_bytes;
  }
  std::uint64_t dynamic_shared_begin() const {
    return reinterpret_cast<std::uint64_t>(dynamic_shared_.data());
  }

  // What an address of device or shared memory belongs to ("'tile'"), and where that begins.
  std::pair<std::string, std::uint64_t> home_of(std::uint64_t address) const;

  // Static shared variables (indices of thread_variables()) that the last block wrote, if it was
  // traced. Those given to poison() hold no earlier block's values when a block begins.
  std::vector<std::size_t> written_variables() const;
  void poison(std::vector<std::size_t> variables) { poisoned_ = std::move(variables); }

  // --- called from the kernel's code, on a lane's fiber ---
  // `frame`: where the instrumentation call stands on the stack; the same in all of one function.
  void on_block(const void* code, const void* frame) {
    // The block that returns from a function comes after its leave: it is not the caller's.
    if (trace_ != nullptr && frame != left_frame_) {
      trace_->events.push(make_event(code, EventKind::block));
    }
  }
  void on_enter(const void* call) {
    left_frame_ = nullptr;
    if (trace_ != nullptr) trace_->events.push(make_event(call, EventKind::enter));
  }
  void on_leave(const void* frame) {
    left_frame_ = frame;
    if (trace_ != nullptr) trace_->events.push(make_event(nullptr, EventKind::leave));
  }
  // Inlined with `bytes` and `kind` known, as it is all that an access costs.
  [[gnu::always_inline]] void on_access(const void* address, unsigned bytes, EventKind kind,
                                        const void* code) {
    const auto at = reinterpret_cast<std::uint64_t>(address);
    const bool global = memory_.in_range(address);
    if (global) {
      if (!is_known_good(address, bytes)) check_global(address, bytes, kind, code);
    } else if (!is_shared(at)) {
      check_private(address, bytes, kind, code);
      return;
    } else if (!is_known_good_shared(at, bytes)) {
      if (is_builtin(at)) return;
      check_shared(at, bytes, kind, code);
    }
    if (trace_ == nullptr) return;
    trace_->events.push(make_event(code, kind, bytes));
    trace_->addresses.push(at);
    if (kind == EventKind::load && (bytes == 4 || bytes == 8)) {
      load_chains_[current_].note(
          at, bytes == 8 ? word_at<std::uint64_t>(address) : word_at<std::uint32_t>(address),
          !global);
    }
    if (bytes == 4 && kind == EventKind::load) {
      global ? check_word<true, EventKind::load>(at, code)
             : check_word<false, EventKind::load>(at, code);
    } else if (bytes == 4 && kind == EventKind::store) {
      global ? check_word<true, EventKind::store>(at, code)
             : check_word<false, EventKind::store>(at, code);
    } else {
      check_order(global, at, bytes, as_plain(kind), code);
    }
  }
  void block_barrier(const void* code);
  void grid_barrier(const void* code);
  void warp_barrier(unsigned mask, const void* code);
  std::uint64_t shuffle(unsigned mask, std::uint64_t value, Shuffle how, unsigned argument,
                        int width, const void* code);
  unsigned ballot(unsigned mask, bool predicate, const void* code);
  void multiply_matrices(Tensor type, bool by_warpgroup, MatrixElements mine, const void* code);
  void load_matrices(unsigned* to, const void* row, bool transposed, const void* code);
  [[noreturn]] void no_clock(const void* code);
  void copy_asynchronously(void* to_shared, const void* from_global, std::size_t bytes,
                           std::size_t zeros, const void* code);
  void commit_copies();
  void wait_for_copies(std::size_t groups_left, const void* code);
  // Barriers in shared memory that bulk copies arrive at (include/bulk_copy.hpp).
  void begin_mbarrier(void* barrier, unsigned arrivals, const void* code);
  void arrive_at(void* barrier, const void* code);
  void copy_box(void* to_shared, const void* map, unsigned column, unsigned row, void* barrier,
                const void* code);
  void multiply_shared(const SharedProduct& mine, const void* code);
  void commit_products(const void* code);
  void wait_for_products(unsigned groups_left, const void* code);
  void expect_bytes(void* barrier, std::size_t bytes, const void* code);
  void copy_bulk(void* to_shared, const void* from_global, std::size_t bytes, void* barrier,
                 const void* code);
  void wait_for_phase(void* barrier, unsigned parity, const void* code);
  std::byte* dynamic_shared();
  // A function that takes so many operations of the special-function unit.
  void on_special(unsigned operations, const void* code) {
    if (trace_ != nullptr) trace_->events.push(make_event(code, EventKind::special, operations));
  }
  void on_arithmetic(Arithmetic unit, const void* code) {
    if (trace_ != nullptr) trace_->add(unit, code);
  }
  void on_fma(float a, float b, float c, float result, const void* code) {
    if (trace_ == nullptr) return;
    trace_->add(Arithmetic::fma_fp32, code);
    chains_[current_].note(a, b, c, result);
  }
  // sums[i * columns + j] += a[i] * b[j]
  void add_products(float* sums, const float* a, unsigned rows, const float* b, unsigned columns,
                    const void* code);

 private:
  enum class LaneState : std::uint8_t { ready, at_barrier, at_collective, at_mbarrier, done };
  struct Lane {
    void* stack_pointer = nullptr;
    std::byte* stack = nullptr;
    LaneState state = LaneState::ready;
    const void* waiting_at = nullptr;
    unsigned mask = 0;        // of the collective it waits for
    std::uint64_t value = 0;  // given to the collective
    std::uint64_t answer = 0;
    int operation = 0;           // kind of collective; all lanes must agree
    std::uint32_t ended_in = 0;  // the interval between barriers, once done
    unsigned argument = 0;
    int width = 0;
    bool lacks_ended = false;  // its collective needs what a lane that has ended would have given
    bool has_open_copies = false;   // that no group was committed for
    std::uint64_t copy_groups = 0;  // committed, the last one lowest; a bit says it holds copies
    std::uint32_t commits = 0;
    std::uint32_t fmas_at_commit = 0;
    std::uint32_t phases_seen = 0;  // that brought bulk copies
    CopyWaits copy_waits;
  };
  // By warp, how many of its arrivals at mbarriers somebody knows of.
  using Known = std::vector<std::uint32_t>;
  // In shared memory, at `address`. A phase ends when its arrivals and its bytes are there.
  struct Mbarrier {
    std::uint64_t address = 0;
    std::uint32_t begun_in = 0;  // the interval between barriers
    unsigned begun_by = 0;
    std::uint32_t phase = 0;          // how many have ended
    std::uint32_t arrivals = 1;       // of a phase
    std::uint32_t missing = 1;        // of the present one
    std::int64_t bytes = 0;           // expected and not there yet
    bool brings_copies = false;       // the present phase
    bool brought_copies = false;      // the one before
    std::uint32_t fmas_at_start = 0;  // of the lane that expected them
    std::uint32_t fmas_before = 0;
    std::uint32_t beside = 0;         // phases that were under way with its last one, at the most
    std::vector<std::uint32_t> seen;  // by lane: phases that it has seen end
    Known told, arriving;             // what those know who have seen the last phase end; the next
  };
  struct MatrixRow {
    unsigned* to;  // the lane's part of each matrix
    const std::byte* row;
  };
  // An asynchronous copy into shared memory, in a traced block.
  struct Copy {
    std::uint64_t to = 0;
    unsigned bytes = 0;
    unsigned lane = 0;  // that started it
    const void* code = nullptr;
    const Mbarrier* barrier = nullptr;  // a bulk copy's
    std::uint32_t group = 0;            // of its lane, or phase of its barrier
    // By warp: the arrival that follows its last wgmma from here, once that has been waited for;
    // `reading` until then, 0 if there was none.
    Known read = {};
  };
  static constexpr std::uint32_t reading = ~std::uint32_t{0};
  // What is still to land of a bulk copy, and where it then arrives.
  struct Piece {
    std::uint64_t to = 0, from = 0;
    std::uint32_t bytes = 0, room = 0;
  };
  struct LateCopy {
    Mbarrier* barrier = nullptr;
    unsigned bytes = 0;
    std::vector<Piece> pieces{};
  };
  // The wgmma of a warp that have not been waited for.
  struct Products {
    std::uint32_t groups = 0;                                    // committed
    std::vector<std::pair<std::uint32_t, std::uint32_t>> reads;  // index of copies_, group
  };

  template <class Word>
  [[gnu::always_inline]] static Word word_at(const void* address) {
    Word word;
    __builtin_memcpy(&word, address, sizeof(word));
    return word;
  }
  static void lane_main();
  unsigned take_ready_lane(unsigned warp);
  void shuffle_turns();
  void* enter_next(unsigned warp);  // makes a ready lane the current one; its stack pointer
  void resume(unsigned warp);       // from the scheduler to a ready lane, until one switches back
  void suspend();                   // from a lane to the warp's next one, else to the scheduler
  // Waits until every lane of `mask` has arrived or ended; the last one resolves for all.
  std::uint64_t collective(unsigned mask, int operation, std::uint64_t value, unsigned argument,
                           int width, const void* code);
  bool has_arrived(unsigned warp, unsigned mask, int operation) const;
  void resolve(unsigned warp, unsigned mask);
  void resolve_without_ended(unsigned warp);
  unsigned lanes_in(unsigned warp) const {  // a partial last warp has fewer
    return std::min(warp_lanes, static_cast<unsigned>(lanes_.size()) - warp * warp_lanes);
  }
  unsigned multiply(int operation, unsigned warp);
  void distribute_matrices(bool transposed, unsigned warp);
  void multiply_from_shared(unsigned warp);
  void wait_for_reads(unsigned warp, unsigned groups_left);
  // The 16-byte pieces of `rows` rows from `first` on, two each, that `warp` reads now.
  std::vector<const std::byte*> pieces_of(std::uint64_t descriptor, unsigned first, unsigned rows,
                                          unsigned warp);
  void note_read(std::uint64_t address, unsigned warp);
  void replace_read_copies(const Copy& by);
  void tell(Mbarrier& barrier);
  void learn(const Known& told);
  bool release_barrier();
  Mbarrier& mbarrier_at(const void* barrier, const char* what, const void* code);
  void end_phase(Mbarrier& barrier);
  // The engine has brought so many bytes to shared memory.
  void arrive_with(Mbarrier& barrier, std::uint64_t to, unsigned bytes, const void* code);
  // A piece of a bulk copy: `bytes` of it exist, the rest of `room` is zeros.
  void bring(std::uint64_t to, std::uint64_t from, std::uint32_t bytes, std::uint32_t room);
  static void land(const Piece& piece);
  bool land_late_copies();
  void settle_copies();
  void note_copy(Copy copy);
  const Copy* copy_into(std::uint64_t address) const;
  bool may_use(std::uint64_t address, unsigned bytes) const;
  std::uint32_t fmas() const { return is_traced_ ? chains_[current_].count() : 0; }
  void describe_deadlock();
  [[noreturn]] void fault(std::string_view what, const void* code);
  // Where in shared memory an address lies: the static part, then the dynamic one.
  std::uint64_t shared_offset(std::uint64_t address) const {
    const std::uint64_t offset = address - static_shared_;
    return offset < static_shared_bytes_ ? offset
                                         : static_shared_bytes_ + address - dynamic_shared_begin();
  }
  // An aligned access to words that lie in one of the kernels' shared variables as a whole.
  bool is_known_good_shared(std::uint64_t address, unsigned bytes) const {
    if (address % bytes != 0) return false;
    const std::uint64_t first = address - static_shared_;
    if (first >= static_shared_bytes_) {
      return address + bytes <= dynamic_shared_begin() + launch_->shared_bytes;
    }
    return words_of_variables_[first / 4] == Word::variable &&
           (bytes <= 4 || words_of_variables_[(first + bytes - 1) / 4] == Word::variable);
  }
  // The built-in variables are thread-local too, beside the kernels' shared arrays.
  bool is_builtin(std::uint64_t address) const {
    const std::uint64_t offset = address - static_shared_;
    return offset < static_shared_bytes_ && words_of_variables_[offset / 4] == Word::builtin;
  }
  void check_shared(std::uint64_t address, unsigned bytes, EventKind kind, const void* code);
  void find_variables();
  // Calls, so that accesses that need no check save no registers for it; one each for the usual
  // ones.
  template <bool global, EventKind kind>
  [[gnu::noinline]] void check_word(std::uint64_t address, const void* code) {
    check(global, address, 4, kind, code);
  }
  [[gnu::noinline]] void check_order(bool global, std::uint64_t address, unsigned bytes,
                                     EventKind kind, const void* code) {
    check(global, address, bytes, kind, code);
  }
  [[gnu::always_inline]] void check(bool global, std::uint64_t address, unsigned bytes,
                                    EventKind kind, const void* code) {
    const auto verdict = global ? checker_.on_global(address, bytes, kind)
                                : checker_.on_shared(shared_offset(address), bytes, kind);
    if (verdict != MemoryChecker::Verdict::good) [[unlikely]] {
      report(verdict, address, bytes, kind, code);
    }
  }
  void report(MemoryChecker::Verdict verdict, std::uint64_t address, unsigned bytes, EventKind kind,
              const void* code);
  std::string describe_unwritten() const;
  // The last access of that kind to a byte of [begin, end) that the lane made since the last
  // barrier: its code address and bytes, as an event, and its address. No event: there is none.
  std::pair<Event, std::uint64_t> last_access(unsigned lane, EventKind kind, std::uint64_t begin,
                                              std::uint64_t end) const;
  // "bytes 128..131 of tile"
  std::string place(std::uint64_t address, unsigned bytes) const;
  // An aligned access to a page that is there, of one of the allocations used last.
  bool is_known_good(const void* address, unsigned bytes) const {
    if (reinterpret_cast<std::uintptr_t>(address) % bytes != 0) return false;
    for (const Allocation* a : recent_) {
      if (a == nullptr) return false;
      if (a->contains(address, bytes)) return DeviceMemory::is_present(*a, address);
    }
    return false;
  }
  void check_private(const void* address, unsigned bytes, EventKind kind, const void* code);
  void check_global(const void* address, unsigned bytes, EventKind kind, const void* code);
  void check_bounds(const void* address, std::size_t bytes, EventKind kind, const void* code);

  DeviceMemory& memory_;
  const MappedHost& is_mapped_host_;
  const Ordering ordering_;
  std::uint64_t drawn_ = 0;         // random numbers, of this block
  std::uint64_t block_seed_ = 0;    // that they follow from
  std::vector<unsigned> turns_;     // warps in the order in which they run
  std::vector<Piece> late_pieces_;  // of the copy that is being made
  std::vector<LateCopy> late_copies_;
  FiberStacks stacks_;
  std::vector<Lane> lanes_;
  std::vector<uint3> thread_index_;  // of each lane of a block of thread_index_of_
  dim3 thread_index_of_{0, 0, 0};
  std::vector<std::uint32_t> ready_;    // a bit a lane, a word a warp
  std::vector<std::uint32_t> waiting_;  // for their warp; likewise
  std::vector<LaneTrace> traces_;
  std::vector<FmaChain> chains_;  // of each lane, of a traced block
  std::vector<LoadChain> load_chains_;
  bool is_traced_ = false;
  LaneTrace* trace_ = nullptr;  // the current lane's, or nullptr
  const void* left_frame_ = nullptr;
  const KernelLaunch* launch_ = nullptr;
  unsigned current_ = 0;
  unsigned live_ = 0;
  void* scheduler_stack_pointer_ = nullptr;
  BlockResult result_;
  bool faulted_ = false;

  std::deque<Mbarrier> mbarriers_;
  std::uint32_t bulk_phases_ = 0;       // of the block, that bring copies
  std::uint32_t bulk_phases_seen_ = 0;  // by the lane that has seen most
  std::vector<Copy> copies_;
  std::vector<std::uint32_t> copy_of_word_;           // of shared memory: 1 + an index of copies_
  std::vector<std::vector<std::uint32_t>> unwaited_;  // by lane: indices of copies_
  std::vector<std::uint32_t> unsettled_;              // bulk copies
  std::vector<Products> products_;                    // by warp
  std::vector<Known> known_;                          // likewise; its own: its arrivals

  MemoryChecker checker_;
  // The first read of shared memory that nobody had written. As lanes run one after the other, it
  // may be a race with a store that is still to come, so it is reported at the next barrier.
  struct UnwrittenRead {
    unsigned lane = 0;
    std::uint64_t address = 0;
    unsigned bytes = 0;  // 0: there was none
    EventKind kind = EventKind::load;
    const void* code = nullptr;
  } unwritten_;
  // What each word of the thread's variables is: all of it one's that kernels may use, a built-in
  // variable's, or anything else.
  enum class Word : std::uint8_t { other, variable, builtin };
  std::vector<Word> words_of_variables_;
  std::vector<std::size_t> poisoned_;
  std::uint64_t static_shared_ = 0;
  std::uint64_t static_shared_bytes_ = 0;
  std::uint64_t program_begin_ = 0;
  std::uint64_t program_bytes_ = 0;
  struct alignas(128) BankRow {  // one word of each of the 32 banks
    std::array<std::byte, 128> bytes;
  };
  std::vector<BankRow> dynamic_shared_;
  std::array<Allocation*, 4> recent_{};  // the last allocations that were accessed
  unsigned next_recent_ = 0;
};

// The runner whose lane is running on this thread, or nullptr on the host's own code.
extern __constinit thread_local BlockRunner* running_block;

}  // namespace gpubench::model
