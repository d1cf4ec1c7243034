// What the operations of tcgen05 have in common.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "harness/platform/model/ptx/block.hpp"
#include "harness/platform/model/ptx/builder.hpp"

namespace gpubench::model::ptx::tensor {

inline void require_warp(Mask mask) {
  if (mask != ~Mask{0}) throw Fault{"tcgen05 by fewer than the 32 threads of its warp", mask};
}
// Where threads meet or wait for each other, fences order what they do with tensor memory.
inline void require_fence(const Warp& w, Mask mask) {
  const Mask lacking = w.lacks_tensor_fence & mask;
  if (lacking == 0) return;
  throw Fault{"tcgen05 behind a wait without tcgen05.fence::after_thread_sync", lacking};
}
inline std::uint64_t same_for_all(Warp& w, const Register& r) {
  w.require(r.number, ~Mask{0}, "an operand of tcgen05");
  for (unsigned i = 1; i < lanes; ++i) {
    if (w.value(r, i) != w.value(r, 0)) throw Fault{"tcgen05 whose lanes name different things", 0};
  }
  return w.value(r, 0);
}

inline Op& add(Builder& b, Handler run, Extra& extra) {
  Op& op = b.add(run);
  op.defines_itself = true;
  op.extra = &extra;
  return op;
}
inline bool is(Builder& b, std::initializer_list<std::string_view> parts) {
  const bool all = std::ranges::equal(b.instruction().parts, parts);
  if (all) b.accept_all_parts();
  return all;
}

// The blocks of a tcgen05 instruction: its .cta_group.
inline unsigned group_of(Builder& b) {
  const auto& parts = b.instruction().parts;
  if (parts.size() < 3 || (parts[2] != "cta_group::1" && parts[2] != "cta_group::2")) b.unknown();
  return parts[2] == "cta_group::1" ? 1 : 2;
}

// alloc, dealloc and relinquish_alloc_permit.
void build_allocation(Builder& b);
// ld, st and their waits.
void build_transfer(Builder& b);

}  // namespace gpubench::model::ptx::tensor
