// What a warp's lanes do together: PTX ISA, "shfl.sync", "vote.sync", "match.sync", "redux.sync",
// "bar.warp.sync", and the block's barriers.
#include <algorithm>
#include <bit>
#include <functional>

#include "harness/platform/model/ptx/block.hpp"
#include "harness/platform/model/ptx/handlers.hpp"
#include "harness/platform/model/ptx/numbers.hpp"

namespace gpubench::model::ptx {
namespace {

// Runs an operation for each group of lanes that name the same mask, as tiles of a warp do. The
// lanes that a mask names must be those that are here: whoever is elsewhere would be waited for,
// and parts of a warp meet at the end of a branch only.
template <Handler operation>
void each_group(Warp& w, const Op& op, Mask mask) {
  const Register& masks = op.extra->sources[0];
  w.require(masks.number, mask, "a mask of lanes");
  for (Mask rest = mask; rest != 0;) {
    const auto named =
        static_cast<Mask>(w.value(masks, static_cast<unsigned>(std::countr_zero(rest))));
    Mask group = 0;
    for_lanes(rest, [&](unsigned i) {
      group |= Mask{static_cast<Mask>(w.value(masks, i)) == named} << i;
    });
    const Mask outside = group & ~named, absent = named & w.live & ~group;
    if (outside != 0) throw Fault{"a lane that its own mask leaves out", outside};
    if (absent != 0) throw Fault{"a warp's operation without a lane that its mask names", absent};
    operation(w, op, group);
    rest &= ~group;
  }
}

enum class Exchange : std::int64_t { up, down, bfly, idx };

// c: the clamp in its bits 0 to 4, the mask of segments in 8 to 12.
void shuffle(Warp& w, const Op& op, Mask mask) {
  const Extra& e = *op.extra;
  const auto* const a = w.row<std::uint32_t>(op.a);
  const auto* const b = w.row<std::uint32_t>(op.b);
  const auto* const c = w.row<std::uint32_t>(op.c);
  for (const std::uint32_t number : {op.bn, op.cn}) w.require(number, mask, "a shuffle's operand");
  const Mask known = w.defined(op.an);
  std::array<std::uint32_t, lanes> result{};
  Mask inside = 0, defined = 0;
  for_lanes(mask, [&](unsigned i) {
    const unsigned segment = c[i] >> 8 & 31, clamp = c[i] & 31, by = b[i] & 31;
    const unsigned highest = (i & segment) | (clamp & ~segment), lowest = i & segment;
    unsigned from = i;
    bool is_inside = false;
    switch (static_cast<Exchange>(op.offset)) {
      case Exchange::up:
        from = i - by;
        is_inside = static_cast<int>(from) >= static_cast<int>(highest);
        break;
      case Exchange::down:
        from = i + by;
        is_inside = from <= highest;
        break;
      case Exchange::bfly:
        from = i ^ by;
        is_inside = from <= highest;
        break;
      case Exchange::idx:
        from = lowest | (by & ~segment);
        is_inside = from <= highest;
        break;
    }
    if (!is_inside) from = i;
    // Undefined, and no error where nobody uses it.
    result[i] = (mask >> from & 1) != 0 ? a[from] : ~0u;
    inside |= Mask{is_inside} << i;
    defined |= ((known & mask) >> from & 1) << i;
  });
  auto* const d = w.row<std::uint32_t>(op.d);
  if (op.dn != nowhere) for_lanes(mask, [&](unsigned i) { d[i] = result[i]; });
  w.defined(op.dn) = (w.defined(op.dn) & ~mask) | defined;
  if (!e.destinations.empty()) {
    Mask& p = w.predicate(e.destinations[0].offset);
    p = (p & ~mask) | inside;
    w.define(e.destinations[0], mask);
  }
}

void build_shuffle(Builder& b) {
  if (!b.has("sync") || !b.has("b32")) b.unknown();
  Op& op = b.add(&each_group<&shuffle>);
  op.defines_itself = true;
  op.count_as = static_cast<std::uint8_t>(Tally::shuffle);
  op.offset = static_cast<std::int64_t>(b.has("up")     ? Exchange::up
                                        : b.has("down") ? Exchange::down
                                        : b.has("bfly") ? Exchange::bfly
                                                        : Exchange::idx);
  b.accept({"idx"});
  Extra& extra = b.extra();
  const Operand& to = b.operand(0);
  if (to.kind == Operand::Kind::pair) {
    Builder::set_destination(op, b.destination(to.elements[0], 4));
    extra.destinations = {b.destination(to.elements[1], bytes_of(Type::pred))};
  } else {
    Builder::set_destination(op, b.destination(to, 4));
  }
  Builder::set_a(op, b.source(b.operand(1), 4));
  Builder::set_b(op, b.source(b.operand(2), 4));
  Builder::set_c(op, b.source(b.operand(3), 4));
  extra.sources = {b.source(b.operand(4), 4)};
  op.extra = &extra;
}

enum class Vote : std::int64_t { all, any, uni, ballot };
void vote(Warp& w, const Op& op, Mask mask) {
  const Extra& e = *op.extra;
  w.require(op.an, mask, "a predicate");
  const Mask yes = (e.first_sign < 0 ? ~w.predicate(op.a) : w.predicate(op.a)) & mask;
  bool answer = false;
  switch (static_cast<Vote>(op.offset)) {
    case Vote::all:
      answer = yes == mask;
      break;
    case Vote::any:
      answer = yes != 0;
      break;
    case Vote::uni:
      answer = yes == mask || yes == 0;
      break;
    case Vote::ballot:
      for_lanes(mask, [&](unsigned i) { w.row<std::uint32_t>(op.d)[i] = yes; });
      w.defined(op.dn) |= mask;
      return;
  }
  Mask& d = w.predicate(op.d);
  d = answer ? d | mask : d & ~mask;
  w.defined(op.dn) |= mask;
}
void build_vote(Builder& b) {
  if (!b.has("sync")) b.unknown();
  Op& op = b.add(&each_group<&vote>);
  op.defines_itself = true;
  op.count_as = static_cast<std::uint8_t>(Tally::vote);
  op.offset = static_cast<std::int64_t>(b.has("all")   ? Vote::all
                                        : b.has("any") ? Vote::any
                                        : b.has("uni") ? Vote::uni
                                                       : Vote::ballot);
  const bool is_ballot = b.has("ballot");
  b.accept({is_ballot ? "b32" : "pred"});
  Builder::set_destination(op, b.destination(b.operand(0), is_ballot ? 4 : bytes_of(Type::pred)));
  bool is_negated = false;
  Builder::set_a(op, b.negatable(b.operand(1), is_negated));
  Extra& extra = b.extra();
  extra.first_sign = is_negated ? -1 : 1;
  extra.sources = {b.source(b.operand(2), 4)};
  op.extra = &extra;
}

// "redux.sync.add.u32 d, a, mask": of a's lanes, to all of them.
template <class T, class F>
void reduce(Warp& w, const Op& op, Mask mask) {
  w.require(op.an, mask, "a term of a warp's sum");
  const T* const a = w.row<T>(op.a);
  T result = a[std::countr_zero(mask)];
  for_lanes(mask & (mask - 1), [&](unsigned i) { result = F()(result, a[i]); });
  for_lanes(mask, [&](unsigned i) { w.row<T>(op.d)[i] = result; });
}
void build_reduction(Builder& b) {
  if (!b.has("sync")) b.unknown();
  const Type type = b.type();
  const bool is_signed = type == Type::s32, is_bits = type == Type::b32;
  if (!is_signed && !is_bits && type != Type::u32) b.unknown();
  Handler run = nullptr;
  if (is_bits) {
    run = b.has("and")   ? &each_group<&reduce<std::uint32_t, std::bit_and<>>>
          : b.has("or")  ? &each_group<&reduce<std::uint32_t, std::bit_or<>>>
          : b.has("xor") ? &each_group<&reduce<std::uint32_t, std::bit_xor<>>>
                         : nullptr;
  } else if (b.has("add")) {
    run = &each_group<&reduce<std::uint32_t, std::plus<>>>;
  } else if (b.has("min")) {
    run = is_signed ? &each_group<&reduce<std::int32_t, Smaller>>
                    : &each_group<&reduce<std::uint32_t, Smaller>>;
  } else if (b.has("max")) {
    run = is_signed ? &each_group<&reduce<std::int32_t, Larger>>
                    : &each_group<&reduce<std::uint32_t, Larger>>;
  }
  if (run == nullptr) b.unknown();
  Op& op = b.add(run);
  op.count_as = static_cast<std::uint8_t>(Tally::shuffle);
  Builder::set_destination(op, b.destination(b.operand(0), 4));
  Builder::set_a(op, b.source(b.operand(1), 4));
  Extra& extra = b.extra();
  extra.sources = {b.source(b.operand(2), 4)};
  op.extra = &extra;
}

// "match.any.sync.b32 d, a, mask": the lanes whose a is one's own.
template <class T>
void match_any(Warp& w, const Op& op, Mask mask) {
  w.require(op.an, mask, "a value to match");
  const T* const a = w.row<T>(op.a);
  for_lanes(mask, [&](unsigned i) {
    Mask equal = 0;
    for_lanes(mask, [&](unsigned other) { equal |= Mask{a[other] == a[i]} << other; });
    w.row<std::uint32_t>(op.d)[i] = equal;
  });
}
// "match.all.sync.b32 d|p, a, mask": all of them if all have the same a, or none; p says which.
template <class T>
void match_all(Warp& w, const Op& op, Mask mask) {
  w.require(op.an, mask, "a value to match");
  const T* const a = w.row<T>(op.a);
  const T first = a[std::countr_zero(mask)];
  bool same = true;
  for_lanes(mask, [&](unsigned i) { same = same && a[i] == first; });
  for_lanes(mask, [&](unsigned i) { w.row<std::uint32_t>(op.d)[i] = same ? mask : 0; });
  for (const Register& r : op.extra->destinations) {
    Mask& p = w.predicate(r.offset);
    p = same ? p | mask : p & ~mask;
    w.define(r, mask);
  }
}
void build_match(Builder& b) {
  const bool all = b.has("all");
  if (b.has("any") == all || !b.has("sync")) b.unknown();
  const Type type = b.type();
  if (type != Type::b32 && type != Type::b64) b.unknown();
  const bool is_long = type == Type::b64;
  Op& op = b.add(all       ? is_long ? &each_group<&match_all<std::uint64_t>>
                                     : &each_group<&match_all<std::uint32_t>>
                       : is_long ? &each_group<&match_any<std::uint64_t>>
                           : &each_group<&match_any<std::uint32_t>>);
  op.count_as = static_cast<std::uint8_t>(Tally::vote);
  Extra& extra = b.extra();
  const Operand& to = b.operand(0);
  if (all && to.kind == Operand::Kind::pair) {
    extra.destinations = {b.destination(to.elements[1], bytes_of(Type::pred))};
  }
  const bool is_pair = !extra.destinations.empty();
  Builder::set_destination(op, b.destination(is_pair ? to.elements[0] : to, 4));
  Builder::set_a(op, b.source(b.operand(1), bytes_of(type)));
  extra.sources = {b.source(b.operand(2), 4)};
  op.extra = &extra;
}

void active_mask(Warp& w, const Op& op, Mask mask) {
  for_lanes(mask, [&](unsigned i) { w.row<std::uint32_t>(op.d)[i] = mask; });
}
void build_active_mask(Builder& b) {
  b.accept({"b32"});
  Builder::set_destination(b.add(&active_mask), b.destination(b.operand(0), 4));
}

// Groups that meet side by side do so in one instruction.
void do_nothing(Warp&, const Op&, Mask) {}
void warp_barrier(Warp& w, const Op& op, Mask mask) {
  each_group<&do_nothing>(w, op, mask);
  ++w.block.result.warp_operations[static_cast<std::size_t>(WarpOperation::warp_barrier)];
}
unsigned barrier_operand(Warp& w, const Op& op, Mask mask, std::size_t operand) {
  const auto& all = op.extra->sources;
  if (operand >= all.size()) return 0;
  w.require(all[operand].number, mask, "a barrier's operand");
  return static_cast<unsigned>(
      w.value(all[operand], static_cast<unsigned>(std::countr_zero(mask))));
}
bool block_barrier(Warp& w, const Op& op, Mask mask) {
  w.note_telling(mask);
  w.note_told(mask);
  return w.block.meet(w, barrier_operand(w, op, mask, 0), barrier_operand(w, op, mask, 1), mask);
}
bool barrier_arrival(Warp& w, const Op& op, Mask mask) {
  w.note_telling(mask);
  return w.block.pass(w, barrier_operand(w, op, mask, 0), barrier_operand(w, op, mask, 1), mask);
}

// What all threads learn: how many vote, whether one does, or all.
enum class Count : std::int64_t { number, any, all };
bool counting_barrier(Warp& w, const Op& op, Mask mask) {
  w.note_telling(mask);
  w.note_told(mask);
  const Extra& e = *op.extra;
  w.require(op.bn, mask, "a predicate");
  const Mask yes = (e.first_sign < 0 ? ~w.predicate(op.b) : w.predicate(op.b)) & mask;
  const unsigned number = barrier_operand(w, op, mask, 0);
  if (!w.block.meet(w, number, 0, mask, yes)) return false;
  const unsigned votes = w.block.votes_at(number);
  if (static_cast<Count>(op.offset) == Count::number) {
    for_lanes(mask, [&](unsigned i) { w.row<std::uint32_t>(op.d)[i] = votes; });
  } else {
    const bool all = static_cast<Count>(op.offset) == Count::all;
    const bool holds = all ? votes == w.block.threads_at(number) : votes > 0;
    Mask& d = w.predicate(op.d);
    d = holds ? d | mask : d & ~mask;
  }
  w.defined(op.dn) |= mask;
  return true;
}
// "bar.red.popc.u32 d, barrier, p", "bar.red.and.pred d, barrier, !p"
void build_counting_barrier(Builder& b) {
  const bool counts = b.has("popc"), all = b.has("and");
  if (counts + all + b.has("or") != 1 || b.operand_count() != 3) b.unknown();
  b.accept({counts ? "u32" : "pred"});
  Extra& extra = b.extra();
  Op& op = b.add_waiting(&counting_barrier);
  op.is_block_barrier = true;
  op.offset = static_cast<std::int64_t>(counts ? Count::number : all ? Count::all : Count::any);
  Builder::set_destination(op, b.destination(b.operand(0), counts ? 4 : bytes_of(Type::pred)));
  bool is_negated = false;
  Builder::set_b(op, b.negatable(b.operand(2), is_negated));
  extra.first_sign = is_negated ? -1 : 1;
  extra.sources = {b.source(b.operand(1), 4)};
  op.extra = &extra;
}
void build_barrier(Builder& b) {
  Extra& extra = b.extra();
  b.accept({"cta", "aligned"});
  if (b.has("warp") && b.has("sync")) {
    extra.sources = {b.source(b.operand(0), 4)};
    b.add(&warp_barrier).extra = &extra;
    return;
  }
  if (b.has("cluster")) return build_cluster_barrier(b);
  if (b.has("red")) return build_counting_barrier(b);
  const bool arrives = b.has("arrive");
  if (b.has("sync") == arrives || (arrives && b.operand_count() != 2)) b.unknown();
  for (std::size_t k = 0; k < b.operand_count(); ++k) {
    extra.sources.push_back(b.source(b.operand(k), 4));
  }
  Op& op = b.add_waiting(arrives ? &barrier_arrival : &block_barrier);
  op.is_block_barrier = true;
  op.extra = &extra;
}

constexpr Opcode opcodes[] = {
    {"redux", &build_reduction},        {"match", &build_match},
    {"shfl", &build_shuffle},           {"vote", &build_vote},
    {"activemask", &build_active_mask}, {"bar", &build_barrier},
    {"barrier", &build_barrier},
};

}  // namespace

std::span<const Opcode> warp_opcodes() { return opcodes; }

}  // namespace gpubench::model::ptx
