#include "harness/platform/model/emulator/fiber.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <new>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

// The system's own swapcontext makes a system call for the signal mask at each switch, ten times
// the price of what is needed here.
#if defined(__x86_64__)
asm(R"(
.text
.globl gpubench_switch_fiber
.type gpubench_switch_fiber, @function
gpubench_switch_fiber:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size gpubench_switch_fiber, .-gpubench_switch_fiber
)");
#elif defined(__aarch64__)
asm(R"(
.text
.globl gpubench_switch_fiber
.type gpubench_switch_fiber, %function
gpubench_switch_fiber:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
.size gpubench_switch_fiber, .-gpubench_switch_fiber
)");
#else
#error "the emulator's fiber switch is written for x86-64 and aarch64"
#endif

namespace gpubench::model {
namespace {
constexpr std::size_t guard_bytes = 4096;
}

FiberStacks::~FiberStacks() {
  for (std::byte* stack : all_) munmap(stack - guard_bytes, stack_bytes + guard_bytes);
}

std::byte* FiberStacks::take() {
  if (free_.empty()) {
    void* range = mmap(nullptr, stack_bytes + guard_bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED) throw std::bad_alloc();
    mprotect(range, guard_bytes, PROT_NONE);
    all_.push_back(static_cast<std::byte*>(range) + guard_bytes);
    return all_.back();
  }
  std::byte* stack = free_.back();
  free_.pop_back();
  return stack;
}

void* FiberStacks::prepare(std::byte* stack, void (*entry)()) {
#if defined(__SANITIZE_ADDRESS__)
  // Calls that a fiber never returned from, since it ended in the midst of them, have left marks.
  __asan_unpoison_memory_region(stack, stack_bytes);
#endif
  auto* top = reinterpret_cast<std::uint64_t*>(stack + stack_bytes);
#if defined(__x86_64__)
  // Six saved registers, then the return address; the ABI wants the stack 8 past a multiple of 16
  // at a function's entry.
  top -= 8;
  for (int i = 0; i < 6; ++i) top[i] = 0;
  top[6] = reinterpret_cast<std::uint64_t>(entry);
  top[7] = 0;
#else
  top -= 20;
  for (int i = 0; i < 20; ++i) top[i] = 0;
  top[11] = reinterpret_cast<std::uint64_t>(entry);  // x30, the link register
#endif
  return top;
}

}  // namespace gpubench::model
