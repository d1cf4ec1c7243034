// The banks of shared memory, and how long a request queues for them.
#pragma once

#include <cstddef>
#include <numeric>

namespace bank_conflicts {

inline constexpr unsigned threads = 256;
inline constexpr unsigned warp = 32;
inline constexpr unsigned banks = 32;

// What a thread does in a row of accesses in a pattern.
inline constexpr unsigned unroll = 8;
inline constexpr unsigned window = 1024;  // elements: lane 31 at stride 33 is at the last
inline constexpr std::size_t bytes_a_thread = 2048;  // of shared memory

// Wavefronts of a request in which `elements` different elements of `bytes` bytes are read,
// `stride` elements apart, by all lanes alike. Each bank has a queue of its own, and the longest
// decides: of 4-byte words gcd(stride, 32) for a full warp. Wider elements are taken to be served
// by half-warps (8 bytes) and quarter-warps (16), as for earlier parts; nobody has confirmed it.
constexpr unsigned wavefronts(unsigned bytes, unsigned stride, unsigned elements = warp) {
  const unsigned passes = bytes / 4;
  const unsigned groups = banks / passes;  // of the banks that an element takes
  if (stride == 0) return passes;
  const unsigned a_pass = (elements + passes - 1) / passes;
  return passes * ((a_pass * std::gcd(stride, groups) + groups - 1) / groups);
}

}  // namespace bank_conflicts
