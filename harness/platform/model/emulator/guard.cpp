#include "harness/platform/model/emulator/guard.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "harness/platform/model/emulator/block_runner.hpp"
#include "harness/platform/model/emulator/host_code.hpp"
#include "harness/platform/model/emulator/source_location.hpp"

namespace gpubench::model {
namespace {

// For the host's main thread, on which a program's own code runs.
GuardState host_guard;
HostMemory host_memory{};

[[noreturn]] void refuse(std::string_view what, const void* code) {
  if (running_block != nullptr) running_block->refuse(what, code);
  std::fprintf(stderr, "model device: %s by the host's code at %s\n", std::string(what).c_str(),
               source_location(code).c_str());
  std::fflush(stderr);
  std::_Exit(EXIT_FAILURE);
}

[[noreturn]] void refuse_access(std::uint64_t at, std::uint64_t bytes, bool stores,
                                const void* code) {
  char text[96];
  if (running_block == nullptr && host_memory.is_device != nullptr &&
      host_memory.is_device(reinterpret_cast<const void*>(at))) {
    std::snprintf(text, sizeof text, "%llu-byte %s of a device's memory, which only copies reach,",
                  static_cast<unsigned long long>(bytes), stores ? "store" : "load");
    refuse(text, code);
  }
  std::snprintf(text, sizeof text, "forbidden %llu-byte %s at 0x%llx",
                static_cast<unsigned long long>(bytes), stores ? "store" : "load",
                static_cast<unsigned long long>(at));
  refuse(text, code);
}

// What is not the code's own, and what the emulator has not announced.
bool is_allowed(const GuardState& guard, std::uint64_t at, std::uint64_t bytes, bool stores) {
  const auto* const address = reinterpret_cast<const void*>(at);
  if (running_block != nullptr) {
    return !stores && (running_block->is_programs(at) ||
                       (at >= guard.entry && running_block->is_stack(at + bytes - 1)));
  }
  if (host_memory.is_pinned == nullptr) return false;
  if (stores) return host_memory.is_pinned(address, bytes);
  return !host_memory.is_device(address);
}

}  // namespace

void use_host_memory(const HostMemory& memory) { host_memory = memory; }

void begin_guard(std::byte* stack) {
  auto* const guard = reinterpret_cast<GuardState*>(stack);
  guard->depth = 0;
  guard->entry = 0;
  guard->lowest = reinterpret_cast<std::uint64_t>(stack) + sizeof(GuardState) +
                  GuardState::most_frame_bytes + GuardState::reserve_bytes;
  std::memset(guard->announced, 0, sizeof guard->announced);
}

[[gnu::target("general-regs-only")]] GuardState& current_guard() {
  return running_block != nullptr ? *running_block->guard() : host_guard;
}

void require_own(const void* address, std::size_t bytes, EventKind kind, const void* code) {
  const GuardState& guard = current_guard();
  if (!guard.is_running() || bytes == 0) return;
  const auto at = reinterpret_cast<std::uint64_t>(address);
  const bool stores = kind == EventKind::store;
  const auto from = reinterpret_cast<std::uint64_t>(__builtin_frame_address(0));
  if (guard.owns(at, bytes, from) || is_allowed(guard, at, bytes, stores)) return;
  for (const GuardState::Range& range : guard.announced) {
    if (range.covers(at, bytes, stores)) return;
  }
  refuse_access(at, bytes, stores, code);
}

}  // namespace gpubench::model

using gpubench::model::current_guard;
using gpubench::model::EventKind;
using gpubench::model::GuardState;
using gpubench::model::require_own;

extern "C" {

// `what`: the bytes of the access, and beyond them whether it is a store. `stack`: the stack
// pointer.
[[gnu::target("general-regs-only")]] bool gpubench_guard_allows(std::uint64_t at, unsigned what,
                                                                std::uint64_t stack) {
  const GuardState& guard = current_guard();
  const std::uint64_t bytes = what & 0xFF;
  if (at >= stack && at < guard.entry && bytes <= guard.entry - at) return true;
  // The last one first: it is nearly always the one.
  for (unsigned i = 1; i <= GuardState::kept_ranges; ++i) {
    const unsigned which = (guard.next_announced - i) % GuardState::kept_ranges;
    if (guard.announced[which].covers(at, bytes, what >> 8 != 0)) return true;
  }
  return false;
}

void gpubench_guard_decides(std::uint64_t at, unsigned what, const void* code) {
  const std::uint64_t bytes = what & 0xFF;
  const bool stores = what >> 8 != 0;
  if (gpubench::model::is_allowed(current_guard(), at, bytes, stores)) return;
  gpubench::model::refuse_access(at, bytes, stores, code);
}

void gpubench_guard_overrun(std::uint64_t return_address) {
  gpubench::model::refuse("calls nested too deep, or more memory on the stack than there is,",
                          reinterpret_cast<const void*>(return_address));
}
void gpubench_guard_astray(std::uint64_t return_address) {
  gpubench::model::refuse("a return address, or a register of the caller's, was overwritten",
                          reinterpret_cast<const void*>(return_address));
}

// `slot` holds the return address; `saved`: what the caller wants back.
[[gnu::target("general-regs-only")]] bool gpubench_guard_entered(const std::uint64_t* slot,
                                                                 const std::uint64_t* saved) {
  GuardState& guard = current_guard();
  const auto at = reinterpret_cast<std::uint64_t>(slot);
  // Those that an exception has left are below the caller's frame: nobody returns to them.
  while (guard.depth > 0 && guard.frames[guard.depth - 1].slot <= at) --guard.depth;
  if (guard.depth == 0) {
    guard.entry = at;
    for (unsigned i = 0; i < GuardState::saved_registers; ++i) guard.saved[i] = saved[i];
    if (gpubench::model::running_block == nullptr) guard.lowest = at - (std::uint64_t{1} << 20);
  }
  if (at < guard.lowest || guard.depth == GuardState::most_frames) return false;
  guard.frames[guard.depth].slot = at;
  guard.frames[guard.depth].return_address = *slot;
  ++guard.depth;
  return true;
}

[[gnu::target("general-regs-only")]] bool gpubench_guard_left(const std::uint64_t* slot,
                                                              const std::uint64_t* saved) {
  GuardState& guard = current_guard();
  if (guard.depth == 0) return false;
  const GuardState::Frame& frame = guard.frames[--guard.depth];
  if (frame.slot != reinterpret_cast<std::uint64_t>(slot)) return false;
  if (frame.return_address != *slot) return false;
  if (guard.depth > 0) return true;
  for (unsigned i = 0; i < GuardState::saved_registers; ++i) {
    if (guard.saved[i] != saved[i]) return false;
  }
  return true;
}

// What guarded code calls instead of the functions that write where they are told.
void* gpubench_guarded_memcpy(void* to, const void* from, std::size_t bytes) {
  require_own(from, bytes, EventKind::load, __builtin_return_address(0));
  require_own(to, bytes, EventKind::store, __builtin_return_address(0));
  return std::memcpy(to, from, bytes);
}
void* gpubench_guarded_memmove(void* to, const void* from, std::size_t bytes) {
  require_own(from, bytes, EventKind::load, __builtin_return_address(0));
  require_own(to, bytes, EventKind::store, __builtin_return_address(0));
  return std::memmove(to, from, bytes);
}
void* gpubench_guarded_memset(void* to, int byte, std::size_t bytes) {
  require_own(to, bytes, EventKind::store, __builtin_return_address(0));
  return std::memset(to, byte, bytes);
}
void gpubench_guarded_sincosf(float x, float* sine, float* cosine) {
  require_own(sine, sizeof *sine, EventKind::store, __builtin_return_address(0));
  require_own(cosine, sizeof *cosine, EventKind::store, __builtin_return_address(0));
  *sine = std::sin(x);
  *cosine = std::cos(x);
}
void gpubench_guarded_sincos(double x, double* sine, double* cosine) {
  require_own(sine, sizeof *sine, EventKind::store, __builtin_return_address(0));
  require_own(cosine, sizeof *cosine, EventKind::store, __builtin_return_address(0));
  *sine = std::sin(x);
  *cosine = std::cos(x);
}

}  // extern "C"

#ifdef __x86_64__
// What guarded.py has the assembly call: all registers survive, and what they call knows no others.
asm(R"(
.text
.globl gpubench_guard
.type gpubench_guard, @function
gpubench_guard:
  pushq %rax
  pushq %rcx
  pushq %rdx
  pushq %r8
  pushq %r9
  pushq %r10
  pushq %r11
  pushq %rbp
  movq %rsp, %rbp
  pushq %rdi
  pushq %rsi
  leaq 96(%rbp), %rdx
  andq $-16, %rsp
  call gpubench_guard_allows
  testb %al, %al
  je 1f
2:
  movq %rbp, %rsp
  popq %rbp
  popq %r11
  popq %r10
  popq %r9
  popq %r8
  popq %rdx
  popq %rcx
  popq %rax
  ret
1:
  movq -8(%rbp), %rdi
  movq -16(%rbp), %rsi
  movq 64(%rbp), %rdx
  subq $256, %rsp
  movups %xmm0, (%rsp)
  movups %xmm1, 16(%rsp)
  movups %xmm2, 32(%rsp)
  movups %xmm3, 48(%rsp)
  movups %xmm4, 64(%rsp)
  movups %xmm5, 80(%rsp)
  movups %xmm6, 96(%rsp)
  movups %xmm7, 112(%rsp)
  movups %xmm8, 128(%rsp)
  movups %xmm9, 144(%rsp)
  movups %xmm10, 160(%rsp)
  movups %xmm11, 176(%rsp)
  movups %xmm12, 192(%rsp)
  movups %xmm13, 208(%rsp)
  movups %xmm14, 224(%rsp)
  movups %xmm15, 240(%rsp)
  call gpubench_guard_decides
  movups (%rsp), %xmm0
  movups 16(%rsp), %xmm1
  movups 32(%rsp), %xmm2
  movups 48(%rsp), %xmm3
  movups 64(%rsp), %xmm4
  movups 80(%rsp), %xmm5
  movups 96(%rsp), %xmm6
  movups 112(%rsp), %xmm7
  movups 128(%rsp), %xmm8
  movups 144(%rsp), %xmm9
  movups 160(%rsp), %xmm10
  movups 176(%rsp), %xmm11
  movups 192(%rsp), %xmm12
  movups 208(%rsp), %xmm13
  movups 224(%rsp), %xmm14
  movups 240(%rsp), %xmm15
  jmp 2b
.size gpubench_guard, .-gpubench_guard

.macro GPUBENCH_GUARD_CALL name, callee, failure
.globl \name
.type \name, @function
\name:
  pushq %rax
  pushq %rcx
  pushq %rdx
  pushq %r8
  pushq %r9
  pushq %r10
  pushq %r11
  pushq %r15
  pushq %r14
  pushq %r13
  pushq %r12
  pushq %rbp
  pushq %rbx
  movq %rsp, %rsi
  movq %rsp, %rbp
  movq %rdi, %rbx
  andq $-16, %rsp
  call \callee
  testb %al, %al
  je 1f
  movq %rbp, %rsp
  popq %rbx
  popq %rbp
  popq %r12
  popq %r13
  popq %r14
  popq %r15
  popq %r11
  popq %r10
  popq %r9
  popq %r8
  popq %rdx
  popq %rcx
  popq %rax
  ret
1:
  movq 104(%rbp), %rdi
  call \failure
.size \name, .-\name
.endm
GPUBENCH_GUARD_CALL gpubench_guard_enter, gpubench_guard_entered, gpubench_guard_overrun
GPUBENCH_GUARD_CALL gpubench_guard_leave, gpubench_guard_left, gpubench_guard_astray
.purgem GPUBENCH_GUARD_CALL
)");
#endif
