// Who has which columns of tensor memory: PTX ISA, "tcgen05.alloc", "tcgen05.dealloc",
// "tcgen05.relinquish_alloc_permit". For a pair, a warp of each block takes part, and the first one
// waits for the other.
#include <cstring>

#include "harness/platform/model/ptx/access.hpp"
#include "harness/platform/model/ptx/cluster.hpp"
#include "harness/platform/model/ptx/tensor_operations.hpp"

namespace gpubench::model::ptx::tensor {
namespace {

TensorUnit::Meeting allocate(Warp& w, const Op& op, Mask mask) {
  require_warp(mask);
  w.block.tensors.require_group(op.extra->group);
  if (op.extra->group == 2 && !w.block.cluster.has_met(w.block)) {
    throw Fault{"tcgen05.alloc of cta_group::2 with a block that need not have begun", mask};
  }
  const std::uint64_t to = addresses_of(w, op, mask)[0];
  const auto count = static_cast<unsigned>(same_for_all(w, op.extra->sources[0]));
  const std::uint32_t address = w.block.tensors.allocate(count);
  std::byte* const place = w.block.memory.shared_piece(to, sizeof address, sizeof address);
  std::memcpy(place, &address, sizeof address);
  w.block.memory.note_written(to, sizeof address);
  return {true, address, count};
}
void relinquish(Warp& w, const Op& op, Mask mask) {
  require_warp(mask);
  w.block.tensors.require_group(op.extra->group);
  w.block.tensors.relinquish();
}
TensorUnit::Meeting free_columns(Warp& w, const Op& op, Mask mask) {
  require_warp(mask);
  w.block.tensors.require_group(op.extra->group);
  const auto& of = op.extra->sources;
  const auto address = static_cast<std::uint32_t>(same_for_all(w, of[0]));
  const auto count = static_cast<unsigned>(same_for_all(w, of[1]));
  w.block.tensors.free(address, count);
  return {false, address, count};
}
using Allocation = TensorUnit::Meeting (*)(Warp&, const Op&, Mask);
template <Allocation act>
void alone(Warp& w, const Op& op, Mask mask) {
  act(w, op, mask);
}
template <Allocation act>
bool in_pair(Warp& w, const Op& op, Mask mask) {
  TensorUnit& unit = w.block.tensors;
  if (!unit.is_meeting(w.number)) unit.begin_meeting(w.number, act(w, op, mask));
  return unit.has_met();
}

}  // namespace

void build_allocation(Builder& b) {
  const Instruction& i = b.instruction();
  Extra& extra = b.extra();
  extra.group = group_of(b);
  const bool is_pairs = extra.group == 2;
  const std::string& group = i.parts[2];
  if (is(b, {"tcgen05", "alloc", group, "sync", "aligned", "shared::cta", "b32"})) {
    extra.sources = {b.source(b.operand(1), 4)};
    extra.space = Space::shared;
    if (is_pairs) {
      add_waiting_access(b, &in_pair<allocate>, b.operand(0), extra);
    } else {
      add_access(b, &alone<allocate>, b.operand(0), extra);
    }
  } else if (is(b, {"tcgen05", "dealloc", group, "sync", "aligned", "b32"})) {
    extra.sources = {b.source(b.operand(0), 4), b.source(b.operand(1), 4)};
    if (is_pairs) {
      b.add_waiting(&in_pair<free_columns>).extra = &extra;
    } else {
      add(b, &alone<free_columns>, extra);
    }
  } else if (is(b, {"tcgen05", "relinquish_alloc_permit", group, "sync", "aligned"})) {
    add(b, &relinquish, extra);
  } else {
    b.unknown();
  }
}

}  // namespace gpubench::model::ptx::tensor
