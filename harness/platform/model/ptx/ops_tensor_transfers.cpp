// What warps load from tensor memory and store there: PTX ISA, "tcgen05.ld", "tcgen05.st",
// "tcgen05.wait", of 32x32b.
#include <string>

#include "harness/platform/model/ptx/handlers.hpp"
#include "harness/platform/model/ptx/tensor_operations.hpp"

namespace gpubench::model::ptx::tensor {
namespace {

// Where a transfer of so many columns begins, of the warp's own lanes.
std::uint32_t place_of(Warp& w, const Op& op, Mask mask, std::size_t count, const char* what) {
  require_warp(mask);
  require_fence(w, mask);
  const Extra& e = *op.extra;
  const auto address = static_cast<std::uint32_t>(same_for_all(w, e.sources[0]) +
                                                  static_cast<std::uint64_t>(e.barrier_offset));
  if (address >> 16 != w.number % 4 * lanes) {
    throw Fault{std::string(what) + " of lanes from " + std::to_string(address >> 16) +
                    " on, which are another warp's",
                0};
  }
  w.block.tensors.require_allocated(address & 0xffff, static_cast<unsigned>(count));
  w.owes_tensor_fence |= mask;
  return address;
}

void perform(Warp& w, Warp::TensorLoad& load) {
  load.is_done = true;
  const auto& to = load.op->extra->sums;
  const unsigned first_lane = load.address >> 16, first = load.address & 0xffff;
  for (unsigned i = 0; i < to.size(); ++i) {
    for (unsigned lane = 0; lane < lanes; ++lane) {
      w.row<std::uint32_t>(to[i].offset)[lane] = w.block.tensors.word(first_lane + lane, first + i);
    }
  }
}
void load(Warp& w, const Op& op, Mask mask) {
  const Extra& e = *op.extra;
  const std::uint32_t address = place_of(w, op, mask, e.sums.size(), "tcgen05.ld");
  for (const Register& r : e.sums) {
    if (w.pending[r.number]) throw Fault{"tcgen05.ld to a register that is not there yet", 0};
    w.pending[r.number] = 1;
    w.define(r, mask);
  }
  Warp::TensorLoad& asked = w.tensor_loads.emplace_back();
  asked = {&op, address, false};
  if (!w.block.conduct.late_products) perform(w, asked);
}
void wait_for_loads(Warp& w, const Op&, Mask mask) {
  require_warp(mask);
  for (Warp::TensorLoad& asked : w.tensor_loads) {
    if (!asked.is_done) perform(w, asked);
    for (const Register& r : asked.op->extra->sums) w.pending[r.number] = 0;
  }
  w.tensor_loads.clear();
}

void perform(Warp& w, const Warp::TensorStore& store) {
  for (unsigned i = 0; i < store.columns.size(); ++i) {
    w.block.tensors.store(store.address >> 16, (store.address & 0xffff) + i, store.columns[i]);
  }
}
void store(Warp& w, const Op& op, Mask mask) {
  const Extra& e = *op.extra;
  Warp::TensorStore asked{place_of(w, op, mask, e.more.size(), "tcgen05.st"), {}};
  for (const Register& r : e.more) {
    w.require(r.number, mask, "a word for tcgen05.st");
    auto& words = asked.columns.emplace_back();
    for (unsigned lane = 0; lane < lanes; ++lane) {
      words[lane] = static_cast<std::uint32_t>(w.value(r, lane));
    }
  }
  if (!w.block.conduct.late_products) return perform(w, asked);
  w.tensor_stores.push_back(std::move(asked));
}
void wait_for_stores(Warp& w, const Op&, Mask mask) {
  require_warp(mask);
  for (const Warp::TensorStore& asked : w.tensor_stores) perform(w, asked);
  w.tensor_stores.clear();
}

// "tcgen05.ld.sync.aligned.32x32b.x32.b32 {...}, [address]", and st the other way round.
void build_access(Builder& b, bool is_load) {
  const auto& p = b.instruction().parts;
  if (p.size() != 7 || p[2] != "sync" || p[3] != "aligned" || p[4] != "32x32b" || p[6] != "b32") {
    b.unknown();
  }
  b.accept_all_parts();
  Extra& extra = b.extra();
  auto& words = is_load ? extra.sums : extra.more;
  words = b.vector_of(b.operand(is_load ? 0 : 1), 4, is_load);
  const std::string count = std::to_string(words.size());
  if (!p[5].starts_with('x') || p[5].substr(1) != count) {
    b.refuse("has another number of registers");
  }
  const Operand& place = b.operand(is_load ? 1 : 0);
  extra.sources = {b.address(place, Space::shared, extra.barrier_offset)};
  add(b, is_load ? &load : &store, extra);
  b.uses_warpgroups();
}

}  // namespace

void build_transfer(Builder& b) {
  const Instruction& i = b.instruction();
  if (is(b, {"tcgen05", "wait::ld", "sync", "aligned"})) {
    add(b, &wait_for_loads, b.extra());
  } else if (is(b, {"tcgen05", "wait::st", "sync", "aligned"})) {
    add(b, &wait_for_stores, b.extra());
  } else if (i.parts[1] == "ld" || i.parts[1] == "st") {
    build_access(b, i.parts[1] == "ld");
  } else {
    b.unknown();
  }
}

}  // namespace gpubench::model::ptx::tensor
