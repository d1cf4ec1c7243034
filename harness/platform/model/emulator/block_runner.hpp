// Runs one thread block on one operating-system thread, and answers what its kernel's code calls.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/platform/model/emulator/arrivals.hpp"
#include "harness/platform/model/emulator/block.hpp"
#include "harness/platform/model/emulator/block_result.hpp"
#include "harness/platform/model/emulator/bulk_copies.hpp"
#include "harness/platform/model/emulator/guard.hpp"
#include "harness/platform/model/emulator/host_code.hpp"
#include "harness/platform/model/emulator/matrix_unit.hpp"
#include "harness/platform/model/emulator/mbarriers.hpp"
#include "harness/platform/model/emulator/multimem.hpp"
#include "harness/platform/model/emulator/tensor_memory.hpp"
#include "harness/platform/model/emulator/thread_copies.hpp"
#include "harness/platform/model/emulator/trace.hpp"
#include "harness/platform/model/emulator/warp_collectives.hpp"
#include "harness/platform/model/emulator/warpgroup_reads.hpp"
#include "harness/platform/model/include/warp_matrix.h"
#include "harness/platform/model/launch/executor.hpp"
#include "harness/platform/model/memory/memory.hpp"

namespace gpubench::model {

class BlockRunner {
 public:
  // Both must outlive the runner. `ordering`: in which order lanes run and copies land.
  BlockRunner(DeviceMemory& memory, const MappedHost& is_mapped_host,
              const Ordering& ordering = {});
  BlockRunner(const BlockRunner&) = delete;
  BlockRunner& operator=(const BlockRunner&) = delete;

  // Runs block `index` of the launch to its end. `traced`: keep what every lane did, for traces().
  // Must be called from the thread that the runner was last attached to. OutOfHostMemory: what it
  // touches does not fit.
  BlockResult run(const KernelLaunch& launch, dim3 index, bool traced);
  // The same in turns with the other blocks that run together.
  void begin(const KernelLaunch& launch, dim3 index, bool traced, ClusterMemory::Place place);
  // This block, of an odd rank, and that one are a pair (tcgen05's cta_group::2); both have begun.
  void pair_with(BlockRunner& even);
  bool is_running() const;  // has lanes left, and no fault
  bool advance();           // as far as it comes alone; whether it could do anything
  // All blocks that run together wait for one another, or have ended: lets the lanes go on.
  bool release_cluster() { return release(block_.lanes().release_cluster(), true); }
  void end_in_deadlock() { block_.end_in_deadlock(); }
  BlockResult end();
  Block& block() { return block_; }
  // A lane's trace of the last traced run; lanes in the order of their linear thread index.
  const std::vector<LaneTrace>& traces() const { return block_.recorder().traces(); }
  // The same lanes' chains of operations, and their waits for copies.
  const FmaChain& chain(std::size_t lane) const { return block_.recorder().chain(lane); }
  const LoadChain& load_chain(std::size_t lane) const { return block_.recorder().load_chain(lane); }
  const CopyWaits& copy_waits(std::size_t lane) const { return block_.recorder().copy_waits(lane); }

  const char* kernel_name() const { return block_.launch().name; }

  // To be called on the thread that will run blocks: shared memory is that thread's.
  void attach() { block_.shared().attach(); }
  Space space_of(std::uint64_t address) const {
    if (block_.shared().holds(address)) return Space::shared;
    const ClusterMemory* const cluster = block_.cluster().memory;
    if (cluster == nullptr || block_.is_global(reinterpret_cast<const void*>(address))) {
      return Space::global;
    }
    return cluster->owner_of(address) ? Space::remote : Space::global;
  }
  // What an address of device or shared memory belongs to ("'tile'"), and where that begins.
  std::pair<std::string, std::uint64_t> home_of(std::uint64_t address) const {
    return block_.home_of(address);
  }
  // Static shared variables (indices of thread_variables()) that the last block wrote, if it was
  // traced. Those given to poison() hold no earlier block's values when a block begins.
  std::vector<std::size_t> written_variables() const {
    return block_.shared().written_variables(block_.recorder().checker());
  }
  std::size_t static_shared_bytes() const { return block_.shared().bytes_of(written_variables()); }
  void poison(std::vector<std::size_t> variables) { block_.shared().poison(std::move(variables)); }

  // --- called from the kernel's code, on a lane's fiber ---
  // `frame`: where the instrumentation call stands on the stack; the same in all of one function.
  void on_block(const void* code, const void* frame) {
    // The block that returns from a function comes after its leave: it is not the caller's.
    LaneTrace* const trace = block_.trace();
    if (trace != nullptr && frame != left_frame_) {
      trace->events.push(make_event(code, EventKind::block));
    }
  }
  void on_enter(const void* call) {
    if (block_.has_overrun_stack(__builtin_frame_address(0))) {
      block_.fault("local arrays of more than the 672 KB of a thread's stack used", call);
    }
    left_frame_ = nullptr;
    if (auto* trace = block_.trace()) trace->events.push(make_event(call, EventKind::enter));
  }
  void on_leave(const void* frame) {
    left_frame_ = frame;
    if (auto* trace = block_.trace()) trace->events.push(make_event(nullptr, EventKind::leave));
  }
  // Inlined with `bytes` and `kind` known, as it is all that an access costs.
  [[gnu::always_inline]] void on_access(const void* address, unsigned bytes, EventKind kind,
                                        const void* code) {
    block_.on_access(address, bytes, kind, code);
  }
  // A function that takes so many operations of the special-function unit.
  void on_special(unsigned operations, const void* code) {
    if (auto* trace = block_.trace()) {
      trace->events.push(make_event(code, EventKind::special, operations));
    }
  }
  void on_arithmetic(Arithmetic unit, const void* code) {
    if (auto* trace = block_.trace()) trace->add(unit, code);
  }
  void on_fma(float a, float b, float c, float result, const void* code) {
    LaneTrace* const trace = block_.trace();
    if (trace == nullptr) return;
    trace->add(Arithmetic::fma_fp32, code);
    block_.recorder().multiply_adds().note(a, b, c, result);
  }
  // sums[i * columns + j] += a[i] * b[j]
  void add_products(float* sums, const float* a, unsigned rows, const float* b, unsigned columns,
                    const void* code);
  void block_barrier(const void* code);
  // The same with a predicate from each thread: how many came, and with one that holds.
  struct Vote {
    unsigned cast = 0, holding = 0;
  };
  Vote block_vote(bool holds, const void* code);
  void cluster_barrier(const void* code);
  unsigned cluster_rank() const { return block_.rank(); }
  unsigned cluster_blocks() const { return block_.launch().cluster; }
  void* shared_of(const void* mine, unsigned rank, const void* code);
  void grid_barrier(const void* code);
  bool is_cooperative() const { return block_.launch().cooperative; }
  [[noreturn]] void no_clock(const void* code);
  // For code that nobody trusts (guard.hpp): the state of the current lane, what else it may read,
  // and the end of it.
  GuardState* guard() { return reinterpret_cast<GuardState*>(block_.lanes().current_lane().stack); }
  void note_guessed_struct() { block_.result().has_guessed_structs = true; }
  bool is_programs(std::uint64_t address) const { return block_.shared().is_programs(address); }
  // Whether it is the lane's own: variables and arguments, accesses to which are not counted.
  bool is_own(std::uint64_t address) { return block_.is_own(address); }
  bool is_own(const void* begin, std::size_t bytes) {
    const auto first = reinterpret_cast<std::uint64_t>(begin);
    return is_own(first) && is_own(first + bytes - 1);
  }
  bool is_stack(std::uint64_t address) {
    return address - reinterpret_cast<std::uint64_t>(block_.lanes().current_lane().stack) <
           FiberStacks::stack_bytes;
  }
  // Where the current lane's stack would go on if there were more of it.
  bool is_below_stack(const void* address) {
    constexpr std::uint64_t reach = std::uint64_t{1} << 30;
    return reinterpret_cast<std::uint64_t>(block_.lanes().current_lane().stack) -
               reinterpret_cast<std::uint64_t>(address) <
           reach;
  }
  // The current lane's trace has grown long: ends the block if the lane only waits.
  void look_for_vain_wait();
  [[noreturn]] void refuse(std::string_view what, const void* code) { block_.fault(what, code); }
  [[noreturn]] void refuse_access(std::string_view what, const void* code) {
    block_.fault_of_access(what, code);
  }

  // --- what else the kernel's code calls, by subject ---
  WarpCollectives& collectives() { return collectives_; }
  MatrixUnit& matrices() { return matrices_; }
  ThreadCopies& thread_copies() { return thread_copies_; }
  Mbarriers& mbarriers() { return mbarriers_; }
  BulkCopies& bulk_copies() { return bulk_copies_; }
  TensorMemory& tensor_memory() { return tensor_memory_; }
  TensorFences& tensor_fences() { return tensor_fences_; }
  Multimem& multimem() { return multimem_; }
  std::byte* dynamic_shared() { return block_.shared().dynamic(); }

 private:
  static void run_lanes();
  void run_lane();
  void wait_for_blocks(const void* code);  // all that run together
  // So many warps have been let go from the block's barrier, or the cluster's; whether any was.
  bool release(unsigned warps, bool of_cluster);

  Block block_;
  const void* left_frame_ = nullptr;
  // At the barrier to come, and at the last one: its lanes read theirs before they reach the next.
  std::array<Vote, 2> votes_;
  unsigned passed_barriers_ = 0;
  Arrivals arrivals_;
  WarpCollectives collectives_;
  WarpgroupReads warpgroup_reads_;
  MatrixUnit matrices_;
  ThreadCopies thread_copies_;
  TensorFences tensor_fences_;
  Mbarriers mbarriers_;
  BulkCopies bulk_copies_;
  TensorMemory tensor_memory_;
  Multimem multimem_;
};

// Counts an instruction that the lane on this thread executes, if a kernel runs there. `code`:
// where in the kernel it was called.
[[gnu::always_inline]] inline void count_arithmetic(Arithmetic unit, const void* code) {
  if (BlockRunner* block = running_block) block->on_arithmetic(unit, code);
}

}  // namespace gpubench::model
