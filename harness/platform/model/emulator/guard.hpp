// Code that nobody trusts: a lab's submission. Its assembly calls in here before every access that
// the compiler did not place in the frame of its own function, and around every function
// (labs/checker/guarded.py puts the calls there). So it can touch nothing but its own stack and
// what the emulator has seen and allowed, and it returns to nobody but its callers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "harness/platform/model/emulator/trace.hpp"

// Defined by the assembly of a guarded unit.
extern "C" [[gnu::weak]] const char gpubench_guarded_unit;

namespace gpubench::model {

// One run of such code: of a lane, or of the host's main thread. Plain, and without constructors:
// it lies at the bottom of a lane's stack.
struct GuardState {
  struct Frame {
    std::uint64_t slot, return_address;  // where the return address stands, and what it was
  };
  struct Range {
    std::uint64_t begin, bytes;
    bool stores;
    bool covers(std::uint64_t at, std::uint64_t size, bool to_store) const {
      const std::uint64_t offset = at - begin;
      return offset < bytes && size <= bytes - offset && (stores || !to_store);
    }
  };
  static constexpr unsigned most_frames = 256, kept_ranges = 8, saved_registers = 6;
  // What a function may need below its return address, and the emulator's own calls below that.
  static constexpr std::size_t most_frame_bytes = 64 << 10, reserve_bytes = 16 << 10;

  std::uint64_t lowest;          // that a return address may stand at
  std::uint64_t entry;           // where the outermost call's stands: own memory ends here
  Range announced[kept_ranges];  // the last accesses that the emulator has allowed
  unsigned next_announced, depth;
  std::uint64_t saved[saved_registers];  // of the caller of the outermost function
  Frame frames[most_frames];

  bool is_running() const { return depth > 0; }
  bool owns(std::uint64_t at, std::uint64_t bytes, std::uint64_t from) const {
    return at >= from && at < entry && bytes <= entry - at;
  }
  void announce(std::uint64_t at, std::uint64_t bytes, bool stores) {
    announced[next_announced++ % kept_ranges] = {at, bytes, stores};
  }
};

// Whether this program holds such code at all.
inline bool holds_guarded_code() { return &gpubench_guarded_unit != nullptr; }
// That of a lane whose stack begins at `stack`, which has not been entered yet.
void begin_guard(std::byte* stack);
// That of the code that runs on this thread.
GuardState& current_guard();

// What else the host's code may reach, as the runtime knows it: page-locked memory, and no
// device's.
struct HostMemory {
  bool (*is_pinned)(const void* address, std::size_t bytes);
  bool (*is_device)(const void* address);
};
void use_host_memory(const HostMemory& memory);

// Ends the lane, or on the host the program, unless guarded code may store to, or load from, these
// bytes of its own.
void require_own(const void* address, std::size_t bytes, EventKind kind, const void* code);

}  // namespace gpubench::model
