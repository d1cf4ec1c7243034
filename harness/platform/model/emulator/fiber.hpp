// Fibers: a lane's own stack, and the switch between two of them on one operating-system thread.
#pragma once

#include <cstddef>
#include <vector>

namespace gpubench::model {

// Saves the callee-saved registers and the stack pointer in *from, continues at `to`.
extern "C" void gpubench_switch_fiber(void** from, void* to);

// Stacks of one size with a guard page under each, handed out and taken back; a kernel without
// barriers reuses a single one, which stays in the cache.
class FiberStacks {
 public:
  // CUDA's most for a thread's local memory, and room for what the emulator does on a lane's stack.
  static constexpr std::size_t stack_bytes = (std::size_t{512} + 160) << 10;

  FiberStacks() = default;
  ~FiberStacks();
  FiberStacks(const FiberStacks&) = delete;
  FiberStacks& operator=(const FiberStacks&) = delete;

  std::byte* take();
  void give_back(std::byte* stack) { free_.push_back(stack); }

  // A stack pointer that, when switched to, enters `entry`, which must never return.
  static void* prepare(std::byte* stack, void (*entry)());

 private:
  std::vector<std::byte*> free_;
  std::vector<std::byte*> all_;
};

}  // namespace gpubench::model
