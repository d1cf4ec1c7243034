// mbarriers and fences: PTX ISA, "mbarrier", "fence".
#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "harness/platform/model/ptx/access.hpp"
#include "harness/platform/model/ptx/cluster.hpp"
#include "harness/platform/model/ptx/handlers.hpp"

namespace gpubench::model::ptx {
namespace {

using Parts = std::initializer_list<std::string_view>;

void init_mbarrier(Warp& w, const Op& op, Mask mask) {
  const Addresses at = addresses_of(w, op, mask);
  for_lanes(mask, [&](unsigned i) {
    const auto arrivals = static_cast<unsigned>(operand_of(w, op.extra->sources[0], i));
    w.block.async.init(w, i, at[i], arrivals);
  });
}
void arrive_at_mbarrier(Warp& w, const Op& op, Mask mask) {
  w.note_telling(mask);
  const Addresses at = addresses_of(w, op, mask);
  for_lanes(mask, [&](unsigned i) {
    const auto& counts = op.extra->sources;
    w.block.async.arrive(
        at[i], counts.empty() ? 1 : static_cast<unsigned>(operand_of(w, counts[0], i)), {});
  });
}
void arrive_at_mbarrier_of_cluster(Warp& w, const Op& op, Mask mask) {
  w.note_telling(mask);
  const Addresses at = addresses_of(w, op, mask);
  for_lanes(mask, [&](unsigned i) {
    const Cluster::Place place = w.block.cluster.place_of(w.block, at[i]);
    place.block->async.arrive(place.address, 1, {.is_others = place.block != &w.block});
  });
}
void expect_at_mbarrier(Warp& w, const Op& op, Mask mask) {
  const Addresses at = addresses_of(w, op, mask);
  for_lanes(mask, [&](unsigned i) {
    const auto bytes = static_cast<std::uint32_t>(operand_of(w, op.extra->sources[0], i));
    w.block.async.expect(w, at[i], bytes);
  });
}

// try_wait may end before the phase has: then its thread comes again.
template <bool in_cluster>
bool wait_at_mbarrier(Warp& w, const Op& op, Mask mask) {
  const Addresses at = addresses_of(w, op, mask);
  const Extra& e = *op.extra;
  Mask ended = 0;
  for_lanes(mask, [&](unsigned i) {
    const auto parity = static_cast<unsigned>(operand_of(w, e.sources[0], i)) & 1;
    ended |= Mask{w.block.async.has_ended(at[i], parity)} << i;
  });
  if (ended != mask && !w.block.async.gives_up_waiting()) return false;
  for_lanes(ended,
            [&](unsigned i) { w.block.async.note_wait(w, Mask{1} << i, at[i], in_cluster); });
  Mask& p = w.predicate(e.destinations[0].offset);
  p = (p & ~mask) | ended;
  w.define(e.destinations[0], mask);
  return true;
}

// Refuses all modifiers but these, and an order without its scope or a scope without its order.
void require_parts(Builder& b, std::string_view order, Parts others) {
  const Instruction& i = b.instruction();
  for (std::size_t n = 2; n < i.parts.size(); ++n) {
    const std::string& part = i.parts[n];
    const bool is_order = !order.empty() && (part == order || part == "cta" || part == "cluster");
    if (!is_order && std::ranges::find(others, part) == others.end()) b.unknown();
  }
  if (b.has(order) != (b.has("cta") != b.has("cluster"))) b.unknown();
  b.accept_all_parts();
}

void build_mbarrier(Builder& b) {
  const Instruction& i = b.instruction();
  Extra& extra = b.extra();
  extra.space = Space::shared;
  const auto finish = [&](Op& op, const Operand& address) {
    op.extra = &extra;
    op.defines_itself = true;
    const Register a = b.address(address, Space::shared, op.offset);
    extra.address_bytes = a.bytes;
    Builder::set_a(op, a);
  };
  const bool is_shared = b.has("shared") || b.has("shared::cta");
  const bool arrives_in_cluster = b.has("shared::cluster") && i.parts[1] == "arrive" &&
                                  !b.has("expect_tx") && b.operand_count() == 2;
  if (is_shared == arrives_in_cluster) b.unknown();
  if (i.parts[1] == "init") {
    require_parts(b, "", {"shared", "shared::cta", "b64"});
    extra.sources = {b.source(b.operand(1), 4)};
    finish(b.add(&init_mbarrier), b.operand(0));
  } else if (i.parts[1] == "arrive") {
    require_parts(b, "release", {"expect_tx", "shared", "shared::cta", "shared::cluster", "b64"});
    if (b.operand(0).kind != Operand::Kind::sink) b.refuse("asks for the phase's state");
    if (b.has("expect_tx") || b.operand_count() == 3) {
      extra.sources = {b.source(b.operand(2), 4)};
    }
    finish(b.add(b.has("expect_tx")   ? &expect_at_mbarrier
                 : arrives_in_cluster ? &arrive_at_mbarrier_of_cluster
                                      : &arrive_at_mbarrier),
           b.operand(1));
  } else if (i.parts[1] == "try_wait" && b.has("parity") && b.operand_count() == 3) {
    require_parts(b, "acquire", {"parity", "shared", "shared::cta", "b64"});
    extra.destinations = {b.destination(b.operand(0), bytes_of(Type::pred))};
    extra.sources = {b.source(b.operand(2), 4)};
    finish(b.add_waiting(b.has("cluster") ? &wait_at_mbarrier<true> : &wait_at_mbarrier<false>),
           b.operand(1));
  } else {
    b.unknown();
  }
}

void nothing(Warp&, const Op&, Mask) {}
void build_nothing(Builder& b) {
  b.accept_all_parts();
  b.add(&nothing).defines_itself = true;
}

template <AsyncUnit::Fence fence>
void fence_mbarriers(Warp& w, const Op&, Mask mask) {
  w.block.async.fence(w, mask, fence);
}

bool is_one_of(const std::string& part, Parts known) {
  return std::ranges::find(known, part) != known.end();
}

// All accesses are in order here. What is followed is who knows of an mbarrier's initialisation.
void build_fence(Builder& b) {
  using Fence = AsyncUnit::Fence;
  const auto& parts = b.instruction().parts;
  const auto is = [&](Parts wanted) { return std::ranges::equal(parts, wanted); };
  const auto orders = [&](Fence fence) {
    b.accept_all_parts();
    b.add(fence == Fence::initialisation   ? &fence_mbarriers<Fence::initialisation>
          : fence == Fence::proxy_of_block ? &fence_mbarriers<Fence::proxy_of_block>
                                           : &fence_mbarriers<Fence::proxy_of_cluster>)
        .defines_itself = true;
  };
  if (is({"fence", "mbarrier_init", "release", "cluster"})) return orders(Fence::initialisation);
  if (is({"fence", "proxy", "async", "shared::cta"})) return orders(Fence::proxy_of_block);
  if (is({"fence", "proxy", "async"}) || is({"fence", "proxy", "async", "shared::cluster"})) {
    return orders(Fence::proxy_of_cluster);
  }
  const bool is_of_threads =
      parts.size() >= 2 && parts.size() <= 3 &&
      is_one_of(parts.back(), {"cta", "cluster", "gpu", "sys"}) &&
      (parts.size() == 2 || is_one_of(parts[1], {"sc", "acq_rel", "acquire", "release"}));
  const bool is_of_proxies =
      is({"fence", "proxy", "alias"}) || is({"fence", "proxy", "async", "global"});
  if (!is_of_threads && !is_of_proxies) b.unknown();
  build_nothing(b);
}

void build_membar(Builder& b) {
  const auto& parts = b.instruction().parts;
  if (parts.size() != 2 || !is_one_of(parts[1], {"cta", "gl", "sys"})) b.unknown();
  build_nothing(b);
}

void build_dependence(Builder& b) {
  const auto& parts = b.instruction().parts;
  if (parts.size() != 2 || !is_one_of(parts[1], {"wait", "launch_dependents"})) b.unknown();
  build_nothing(b);
}

// What only changes how long things take: "nanosleep.u32 t", "prefetch.global.L2 [a]".
void build_hint(Builder& b) {
  for (std::size_t i = 0; i < b.operand_count(); ++i) b.operand(i);
  build_nothing(b);
}

// "setmaxnreg.inc.sync.aligned.u32 232": registers are as many as the PTX names.
void build_registers(Builder& b) {
  const std::uint64_t count = b.operand(0).bits;
  if (count % 8 != 0 || count < 24 || count > 256)
    b.refuse("asks for a number of registers that is none");
  build_nothing(b);
}

void trap(Warp&, const Op&, Mask mask) { throw Fault{"trap", mask}; }
void build_trap(Builder& b) { b.add(&trap); }

constexpr Opcode opcodes[] = {
    {"mbarrier", &build_mbarrier},    {"fence", &build_fence},
    {"membar", &build_membar},        {"griddepcontrol", &build_dependence},
    {"setmaxnreg", &build_registers}, {"trap", &build_trap},
    {"nanosleep", &build_hint},       {"prefetch", &build_hint},
    {"prefetchu", &build_hint},
};

}  // namespace

std::span<const Opcode> async_opcodes() { return opcodes; }

}  // namespace gpubench::model::ptx
