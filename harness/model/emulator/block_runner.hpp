// Runs one thread block on one operating-system thread: lanes are fibers that run until they end,
// reach a barrier or need the rest of their warp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/model/emulator/fiber.hpp"
#include "harness/model/emulator/fma_chain.hpp"
#include "harness/model/emulator/trace.hpp"
#include "harness/model/executor.hpp"
#include "harness/model/memory.hpp"

namespace gpubench::model {

inline constexpr unsigned warp_lanes = 32;

// Arithmetic that the source spells as a call, counted a lane.
struct ArithmeticCounts {
  std::uint64_t fma_fp32 = 0, fma_fp64 = 0, fma_fp16x2 = 0, special = 0;
  // Of traced blocks, in fp32, the most of any lane, summed over warps: multiply-adds that depend
  // on each other, and all of them.
  std::uint64_t fma_chain = 0, fma_steps = 0;
};

struct BlockResult {
  unsigned lanes = 0;
  std::uint64_t barriers = 0;          // block-wide, counted once a warp
  std::uint64_t warp_collectives = 0;  // shuffles, votes, __syncwarp
  ArithmeticCounts arithmetic;
  std::string fault;  // not empty: what went wrong, where, and which thread did it
};

// Whether kernels may access [address, address + bytes) of the host's memory.
using MappedHost = std::function<bool(const void* address, std::size_t bytes)>;

class BlockRunner {
 public:
  // Both must outlive the runner.
  BlockRunner(DeviceMemory& memory, const MappedHost& is_mapped_host);
  BlockRunner(const BlockRunner&) = delete;
  BlockRunner& operator=(const BlockRunner&) = delete;

  // Runs block `index` of the launch to its end. `traced`: keep what every lane did, for traces().
  // Must be called from the thread that the runner was last attached to.
  BlockResult run(const KernelLaunch& launch, dim3 index, bool traced);
  // A lane's trace of the last traced run; lanes in the order of their linear thread index.
  const std::vector<LaneTrace>& traces() const { return traces_; }

  // To be called on the thread that will run blocks: shared memory is that thread's.
  void attach();
  bool is_shared(std::uint64_t address) const {
    return address - static_shared_ < static_shared_bytes_ ||
           address - dynamic_shared_begin() < launch_->shared_bytes;
  }
  std::uint64_t dynamic_shared_begin() const {
    return reinterpret_cast<std::uint64_t>(dynamic_shared_.data());
  }

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
  void on_access(const void* address, unsigned bytes, EventKind kind, const void* code) {
    const auto at = reinterpret_cast<std::uint64_t>(address);
    if (memory_.in_range(address)) {
      if (!is_known_good(address, bytes)) check_global(address, bytes, kind, code);
    } else if (!is_shared(at)) {
      check_private(address, bytes, kind, code);
      return;
    } else if (is_builtin(at)) {
      return;
    }
    if (trace_ == nullptr) return;
    trace_->events.push(make_event(code, kind, bytes));
    trace_->addresses.push(at);
  }
  void block_barrier(const void* code);
  void warp_barrier(unsigned mask, const void* code);
  std::uint64_t shuffle(unsigned mask, std::uint64_t value, Shuffle how, unsigned argument,
                        int width, const void* code);
  unsigned ballot(unsigned mask, bool predicate, const void* code);
  std::byte* dynamic_shared();
  ArithmeticCounts& arithmetic() { return result_.arithmetic; }
  void on_fma(float a, float b, float c, float result) {
    ++result_.arithmetic.fma_fp32;
    if (is_traced_) chains_[current_].note(a, b, c, result);
  }

 private:
  enum class LaneState : std::uint8_t { ready, at_barrier, at_collective, done };
  struct Lane {
    void* stack_pointer = nullptr;
    std::byte* stack = nullptr;
    LaneState state = LaneState::ready;
    const void* waiting_at = nullptr;
    unsigned mask = 0;        // of the collective it waits for
    std::uint64_t value = 0;  // given to the collective
    std::uint64_t answer = 0;
    int operation = 0;  // kind of collective; all lanes must agree
    unsigned argument = 0;
    int width = 0;
  };

  static void lane_main();
  void* enter_next(unsigned warp);  // makes a ready lane the current one; its stack pointer
  void resume(unsigned warp);       // from the scheduler to a ready lane, until one switches back
  void suspend();                   // from a lane to the warp's next one, else to the scheduler
  // Waits until every lane of `mask` has arrived; the last one resolves for all.
  std::uint64_t collective(unsigned mask, int operation, std::uint64_t value, unsigned argument,
                           int width, const void* code);
  void resolve(unsigned warp, unsigned mask);
  bool release_barrier();
  void describe_deadlock();
  [[noreturn]] void fault(std::string_view what, const void* code);
  // The built-in variables are thread-local too, beside the kernels' shared arrays.
  static bool is_builtin(std::uint64_t address) {
    const auto within = [address](const auto& variable) {
      return address - reinterpret_cast<std::uint64_t>(&variable) < sizeof(variable);
    };
    return within(threadIdx) || within(blockIdx) || within(blockDim) || within(gridDim);
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
  void check_private(const void* address, unsigned bytes, EventKind kind, const void* code);
  void check_global(const void* address, unsigned bytes, EventKind kind, const void* code);

  DeviceMemory& memory_;
  const MappedHost& is_mapped_host_;
  FiberStacks stacks_;
  std::vector<Lane> lanes_;
  std::vector<uint3> thread_index_;  // of each lane of a block of thread_index_of_
  dim3 thread_index_of_{0, 0, 0};
  std::vector<std::uint32_t> ready_;  // a bit a lane, a word a warp
  std::vector<LaneTrace> traces_;
  std::vector<FmaChain> chains_;  // of each lane, of a traced block
  bool is_traced_ = false;
  LaneTrace* trace_ = nullptr;  // the current lane's, or nullptr
  const void* left_frame_ = nullptr;
  const KernelLaunch* launch_ = nullptr;
  unsigned current_ = 0;
  unsigned live_ = 0;
  void* scheduler_stack_pointer_ = nullptr;
  BlockResult result_;
  bool faulted_ = false;

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
