// Kernels with one mistake in their use of memory each, and what they are without it; and one that
// carries out whatever program it is given.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace gpubench::kernels {

struct Mistake {
  const char* name;
  // Launches one block on 1024 words, `words`, that hold zeros; `fixed`: without the mistake.
  void (*launch)(unsigned* words, bool fixed);
  int first, second;  // lines of the two accesses, in any order; 0: there is no second one
  const char* says;   // how the diagnostic begins
};
std::span<const Mistake> memory_mistakes();

// Every block but the first and the last reads shared memory that it has not written into
// out[block], then writes it.
void leave_in_shared(unsigned* out, unsigned blocks);

// One thread's part in a step of a program.
struct Op {
  enum What : std::uint8_t { nothing, load, store, atomic, meet_warp, meet_block };
  What what = nothing;
  std::uint8_t bytes = 0;    // 1, 2, 4 or 8; of an atomic 4 or 8
  std::uint16_t offset = 0;  // a multiple of `bytes`
  std::uint32_t mask = 0;    // of meet_warp
};
// ops[step * threads + thread], in device memory, on `bytes` bytes of shared memory or, if it is
// given, of `global`. `fill`: the shared bytes are set to zero first.
void run_program(const Op* ops, unsigned steps, unsigned threads, unsigned bytes, bool fill,
                 std::byte* global, unsigned* out);

}  // namespace gpubench::kernels
