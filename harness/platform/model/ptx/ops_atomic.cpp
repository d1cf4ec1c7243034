// Atomics: PTX ISA, "atom", "red". Several threads of the host may run blocks at once.
#include <atomic>
#include <cstring>

#include "harness/platform/model/ptx/access.hpp"
#include "harness/platform/model/ptx/cluster.hpp"
#include "harness/platform/model/ptx/handlers.hpp"
#include "harness/platform/model/ptx/small_floats.hpp"

namespace gpubench::model::ptx {
namespace {

template <class T, class F>
T exchange_with(std::byte* at, F change) {
  std::atomic_ref<T> word(*reinterpret_cast<T*>(at));
  T old = word.load();
  while (!word.compare_exchange_weak(old, change(old))) {
  }
  return old;
}

enum class Change : std::int64_t { add, min, max, land, lor, lxor, exch, cas, inc, dec };
template <class T>
T changed(Change how, T old, T b, T c) {
  if constexpr (std::is_floating_point_v<T>) {
    return how == Change::add ? old + b : b;  // or exch
  } else {
    switch (how) {
      case Change::add:
        return static_cast<T>(old + b);
      case Change::min:
        return b < old ? b : old;
      case Change::max:
        return old < b ? b : old;
      case Change::land:
        return old & b;
      case Change::lor:
        return old | b;
      case Change::lxor:
        return old ^ b;
      case Change::exch:
        return b;
      case Change::cas:
        return old == b ? c : old;
      case Change::inc:
        return old >= b ? T{0} : static_cast<T>(old + 1);
      case Change::dec:
        return old == 0 || old > b ? b : static_cast<T>(old - 1);
    }
    return old;
  }
}

// `change` makes of a word, and of the lane's operands, what is there behind it.
template <class T, class F>
void exchange_each(Warp& w, const Op& op, Mask mask, F change) {
  const Extra& e = *op.extra;
  const Addresses all = addresses_of(w, op, mask);
  w.require(op.bn, mask, "an atomic's operand");
  w.require(op.cn, mask, "an atomic's operand");
  T* const d = op.dn == nowhere ? nullptr : w.row<T>(op.d);
  bool changes = false;
  const T* const b = w.row<T>(op.b);
  const T* const c = w.row<T>(op.c);
  note_remote_access(w, op, EventKind::atomic, e.bytes, mask, all);
  each_space(e.space, mask, all, [&](Space space, Mask here, const Addresses& addresses) {
    Mask host = 0;
    w.block.view(space, here, addresses, e.bytes, false, w.number, nullptr);
    const View view = w.block.view(space, here, addresses, e.bytes, true, w.number, &host);
    note_access(w, op, space, EventKind::atomic, e.bytes, here, addresses, host);
    for_lanes(here, [&](unsigned i) {
      T now{};
      const T old = exchange_with<T>(view.at(addresses[i], i),
                                     [&](T value) { return now = change(value, b[i], c[i]); });
      changes = changes || std::memcmp(&now, &old, sizeof now) != 0;
      if (d != nullptr) d[i] = old;
    });
  });
  if (d != nullptr) w.defined(op.dn) |= mask;
  VainWait& waits = w.block.cluster.waits();
  changes ? waits.note_progress() : waits.note_look(w, op, mask, all, true);
}

template <class T>
void atomic(Warp& w, const Op& op, Mask mask) {
  const auto how = static_cast<Change>(op.extra->mask);
  exchange_each<T>(w, op, mask, [how](T old, T b, T c) { return changed<T>(how, old, b, c); });
}
// The same of one or two numbers of 16 bits.
template <class T, class F>
void add_small(Warp& w, const Op& op, Mask mask) {
  exchange_each<T>(w, op, mask, [](T old, T b, T) { return F()(old, b); });
}
Handler small_addition(Type type) {
  switch (type) {
    case Type::f16:
      return &add_small<std::uint16_t, InSmall<OddAdd, AsHalf>>;
    case Type::bf16:
      return &add_small<std::uint16_t, InSmall<OddAdd, AsBfloat>>;
    case Type::f16x2:
      return &add_small<std::uint32_t, InSmallPair<OddAdd, AsHalf>>;
    case Type::bf16x2:
      return &add_small<std::uint32_t, InSmallPair<OddAdd, AsBfloat>>;
    default:
      return nullptr;
  }
}

// An addition that others may wait for.
void add_and_release(Warp& w, const Op& op, Mask mask) {
  if (!is_grid_barrier(addresses_of(w, op, mask), mask)) return atomic<std::uint32_t>(w, op, mask);
  w.require(op.bn, mask, "an atomic's operand");
  auto* const d = w.row<std::uint32_t>(op.d);
  const auto* const b = w.row<std::uint32_t>(op.b);
  for_lanes(mask, [&](unsigned i) { d[i] = w.block.cluster.add_to_grid(w, b[i]); });
  w.defined(op.dn) |= mask;
}

// A vector's atomic is atomic for each element only.
void add_vector(Warp& w, const Op& op, Mask mask) {
  const Extra& e = *op.extra;
  for (const Register& r : e.sources) w.require(r.number, mask, "an atomic's operand");
  const Addresses all = addresses_of(w, op, mask);
  each_space(e.space, mask, all, [&](Space space, Mask here, const Addresses& addresses) {
    Mask host = 0;
    const View view = w.block.view(space, here, addresses, e.bytes, true, w.number, &host);
    note_access(w, op, space, EventKind::atomic, e.bytes, here, addresses, host);
    for (std::size_t k = 0; k < e.sources.size(); ++k) {
      const float* const more = w.row<float>(e.sources[k].offset);
      for_lanes(here, [&](unsigned i) {
        const float old = exchange_with<float>(view.at(addresses[i], i) + k * sizeof(float),
                                               [&](float value) { return value + more[i]; });
        if (!e.destinations.empty()) w.row<float>(e.destinations[k].offset)[i] = old;
      });
    }
  });
  for (const Register& r : e.destinations) w.define(r, mask);
  w.block.cluster.waits().note_progress();
}

// "atom.global.add.v2.f32 {d, e}, [a], {b, c}", which global memory alone has.
void build_vector(Builder& b, bool returns) {
  const std::size_t elements = b.has("v2") ? 2 : b.has("v4") ? 4 : 0;
  if (elements == 0 || b.type() != Type::f32 || !b.has("add") || !b.has("global")) b.unknown();
  Extra& extra = b.extra();
  extra.space = space_of(b);
  extra.bytes = static_cast<unsigned>(elements * sizeof(float));
  const std::size_t first = returns ? 1 : 0;
  if (returns) extra.destinations = b.vector_of(b.operand(0), sizeof(float), true);
  extra.sources = b.vector_of(b.operand(first + 1), sizeof(float), false);
  if (extra.sources.size() != elements || (returns && extra.destinations.size() != elements)) {
    b.refuse("has another number of registers");
  }
  add_access(b, &add_vector, b.operand(first), extra);
}

struct ChangeName {
  std::string_view name;
  Change change;
};
constexpr ChangeName change_names[] = {
    {"add", Change::add}, {"min", Change::min},  {"max", Change::max},   {"and", Change::land},
    {"or", Change::lor},  {"xor", Change::lxor}, {"exch", Change::exch}, {"cas", Change::cas},
    {"inc", Change::inc}, {"dec", Change::dec},
};

void build_atomic(Builder& b, bool returns) {
  const Type type = b.type();
  Handler run = nullptr;
  if (type == Type::f32) run = &atomic<float>;
  if (type == Type::f64) run = &atomic<double>;
  if (type == Type::b16 && b.has("cas")) run = &atomic<std::uint16_t>;
  if (is_float(type) && b.has("add") && b.has("noftz")) run = small_addition(type);
  with_integer(type, [&]<class T>(T) {
    if constexpr (sizeof(T) >= 4) run = &atomic<T>;
  });
  b.accept({"relaxed", "acquire", "release", "acq_rel", "cta", "cluster", "gpu", "sys"});
  if (b.operand(returns ? 2 : 1).kind == Operand::Kind::vector) return build_vector(b, returns);
  const ChangeName* change = nullptr;
  for (const ChangeName& c : change_names) {
    if (b.has(c.name)) change = &c;
  }
  const bool released = returns && type == Type::u32 && b.has("release") && change != nullptr &&
                        change->change == Change::add;
  if (released) run = &add_and_release;
  const bool of_float = is_float(type) && change != nullptr && change->change != Change::add &&
                        change->change != Change::exch;
  if (run == nullptr || change == nullptr || of_float) b.unknown();
  Extra& extra = b.extra();
  extra.space = space_of(b);
  extra.type = type;
  extra.bytes = bytes_of(type);
  extra.mask = static_cast<std::uint64_t>(change->change);
  const std::size_t first = returns ? 1 : 0;
  Op& op = add_access(b, run, b.operand(first), extra);
  if (returns) Builder::set_destination(op, b.destination(b.operand(0), extra.bytes));
  Builder::set_b(op, b.source(b.operand(first + 1), extra.bytes));
  if (change->change == Change::cas) {
    Builder::set_c(op, b.source(b.operand(first + 2), extra.bytes));
  }
}
void atom(Builder& b) { build_atomic(b, true); }
void red(Builder& b) { build_atomic(b, false); }

constexpr Opcode opcodes[] = {{"atom", &atom}, {"red", &red}};

}  // namespace

std::span<const Opcode> atomic_opcodes() { return opcodes; }

}  // namespace gpubench::model::ptx
