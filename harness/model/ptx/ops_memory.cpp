// Loads, stores and atomics: PTX ISA, "Data Movement and Conversion Instructions", "atom", "red".
#include <atomic>

#include "harness/model/ptx/block.hpp"
#include "harness/model/ptx/handlers.hpp"
#include "harness/model/ptx/windows.hpp"

namespace gpubench::model::ptx {
void build_bulk_copy_of(Builder& b);  // ops_async.cpp

Addresses addresses_of(Warp& w, const Op& op, Mask mask) {
  w.require(op.an, mask, "an address");
  Addresses all;
  const auto offset = static_cast<std::uint64_t>(op.offset);
  if (op.extra->address_bytes == 4) {
    const auto* const a = w.row<std::uint32_t>(op.a);
    for (unsigned i = 0; i < lanes; ++i) all[i] = static_cast<std::uint32_t>(a[i] + offset);
  } else {
    const auto* const a = w.row<std::uint64_t>(op.a);
    for (unsigned i = 0; i < lanes; ++i) all[i] = a[i] + offset;
  }
  return all;
}

namespace {

// Calls `visit(space, lanes, addresses in it)` for each space that generic addresses name.
template <class Visit>
void each_space(Space space, Mask mask, const Addresses& addresses, Visit&& visit) {
  if (space != Space::generic) {
    visit(space, mask, addresses);
    return;
  }
  std::array<Mask, 4> in{};
  for_lanes(mask, [&](unsigned i) {
    const std::uint64_t window = addresses[i] & ~(window_bytes - 1);
    const unsigned which = window == shared_window      ? 1
                           : window == local_window     ? 2
                           : window == parameter_window ? 3
                                                        : 0;
    in[which] |= Mask{1} << i;
  });
  constexpr Space spaces[] = {Space::global, Space::shared, Space::local, Space::parameter};
  for (unsigned which = 0; which < in.size(); ++which) {
    if (in[which] == 0) continue;
    Addresses within = addresses;
    if (which != 0) {
      for (std::uint64_t& a : within) a &= window_bytes - 1;
    }
    visit(spaces[which], in[which], within);
  }
}

// Of a traced block: what global and shared memory see of an access.
void note_access(Warp& w, const Op& op, Space space, EventKind kind, unsigned bytes, Mask mask,
                 const Addresses& addresses, Mask host) {
  if (!w.block.is_traced || space == Space::local || space == Space::parameter) return;
  if (space == Space::shared) {
    Addresses generic = addresses;
    for (std::uint64_t& a : generic) a += shared_window;
    w.note(kind, bytes, mask, generic.data(), op);
    return;
  }
  const auto of_host = static_cast<std::uint64_t>(std::popcount(host)) * bytes;
  (kind == EventKind::load ? w.block.result.host_bytes_read : w.block.result.host_bytes_written) +=
      of_host;
  if ((mask & ~host) != 0) w.note(kind, bytes, mask & ~host, addresses.data(), op);
}

template <class Word>
void load_words(Warp& w, const Op& op, Mask mask, const View& view, const Addresses& addresses) {
  const Extra& e = *op.extra;
  for (std::size_t k = 0; k < e.destinations.size(); ++k) {
    const Register& r = e.destinations[k];
    if (r.number == nowhere) continue;
    const std::size_t offset = k * sizeof(Word);
    const auto fetch = [&](unsigned i) {
      Word word;
      std::memcpy(&word, view.at(addresses[i], i) + offset, sizeof word);
      return word;
    };
    if (r.bytes == sizeof(Word)) {
      Word* const d = w.row<Word>(r.offset);
      for_lanes(mask, [&](unsigned i) { d[i] = fetch(i); });
    } else {  // a wider register: filled by its sign
      for_lanes(mask, [&](unsigned i) {
        const Word word = fetch(i);
        const bool extends = is_signed(e.type);
        const auto with_sign =
            static_cast<std::int64_t>(static_cast<std::make_signed_t<Word>>(word));
        w.set_value(r, i, extends ? static_cast<std::uint64_t>(with_sign) : word);
      });
    }
  }
}
template <class Word>
void store_words(Warp& w, const Op& op, Mask mask, const View& view, const Addresses& addresses) {
  const Extra& e = *op.extra;
  for (std::size_t k = 0; k < e.sources.size(); ++k) {
    const Register& r = e.sources[k];
    w.require(r.number, mask, "a value to store");
    const std::byte* const from = w.row<std::byte>(r.offset);
    const std::size_t offset = k * sizeof(Word);
    for_lanes(mask, [&](unsigned i) {
      std::memcpy(view.at(addresses[i], i) + offset, from + i * r.bytes, sizeof(Word));
    });
  }
}

using Mover = void (*)(Warp&, const Op&, Mask, const View&, const Addresses&);

Mover loader(unsigned bytes) {
  switch (bytes) {
    case 1:
      return &load_words<std::uint8_t>;
    case 2:
      return &load_words<std::uint16_t>;
    case 4:
      return &load_words<std::uint32_t>;
    default:
      return &load_words<std::uint64_t>;
  }
}
Mover storer(unsigned bytes) {
  switch (bytes) {
    case 1:
      return &store_words<std::uint8_t>;
    case 2:
      return &store_words<std::uint16_t>;
    case 4:
      return &store_words<std::uint32_t>;
    default:
      return &store_words<std::uint64_t>;
  }
}

template <bool writes>
void access(Warp& w, const Op& op, Mask mask) {
  const Extra& e = *op.extra;
  const Addresses all = addresses_of(w, op, mask);
  const Mover move = writes ? storer(bytes_of(e.type)) : loader(bytes_of(e.type));
  each_space(e.space, mask, all, [&](Space space, Mask here, const Addresses& addresses) {
    Mask host = 0;
    const View view = w.block.memory.view(space, here, addresses, e.bytes, writes, w.number, &host);
    note_access(w, op, space, writes ? EventKind::store : EventKind::load, e.bytes, here, addresses,
                host);
    if (!writes && w.block.is_traced && (space == Space::shared || space == Space::global)) {
      w.note_load(space == Space::shared, e.bytes, here, addresses, view.base);
    }
    move(w, op, here, view, addresses);
  });
  if (!writes) {
    for (const Register& r : e.destinations) w.define(r, mask);
  }
}

}  // namespace

void note_shared_request(Warp& w, const Op& op, unsigned bytes, Mask mask, const Addresses& at) {
  note_access(w, op, Space::shared, EventKind::load, bytes, mask, at, 0);
}

namespace {

struct SpaceName {
  std::string_view name;
  Space space;
};
constexpr SpaceName space_names[] = {
    {"global", Space::global}, {"shared", Space::shared},   {"shared::cta", Space::shared},
    {"local", Space::local},   {"param", Space::parameter}, {"const", Space::constant},
};
Space space_of(const Builder& b) {
  for (const std::string& part : b.instruction().parts) {
    for (const SpaceName& s : space_names) {
      if (s.name == part) return s.space;
    }
  }
  return Space::generic;
}
unsigned vector_length(const Builder& b) {
  return b.instruction().has("v2")   ? 2
         : b.instruction().has("v4") ? 4
         : b.instruction().has("v8") ? 8
                                     : 1;
}

// The parts of loads and stores that change nothing here: caching, and an order between threads
// that the engine keeps anyway.
bool is_harmless(std::string_view part) {
  for (const std::string_view known : {"nc",
                                       "ca",
                                       "cg",
                                       "cs",
                                       "lu",
                                       "cv",
                                       "wb",
                                       "wt",
                                       "volatile",
                                       "relaxed",
                                       "acquire",
                                       "release",
                                       "weak",
                                       "gpu",
                                       "cta",
                                       "sys",
                                       "cluster",
                                       "v2",
                                       "v4",
                                       "L1::no_allocate",
                                       "L1::evict_last",
                                       "L1::evict_first",
                                       "L2::128B",
                                       "L2::256B",
                                       "L2::64B",
                                       "relaxed",
                                       "acq_rel"}) {
    if (part == known) return true;
  }
  return false;
}
void check_parts(const Builder& b) {
  const auto& parts = b.instruction().parts;
  for (std::size_t i = 1; i + 1 < parts.size(); ++i) {
    bool known = is_harmless(parts[i]);
    for (const SpaceName& s : space_names) known = known || s.name == parts[i];
    if (!known) b.unknown();
  }
}

Op& add_access(Builder& b, Handler run, const Operand& address, Extra& extra) {
  Op& op = b.add(run);
  op.defines_itself = true;
  op.extra = &extra;
  const Register a = b.address(address, extra.space, op.offset);
  extra.address_bytes = a.bytes;
  Builder::set_a(op, a);
  return op;
}

void load(Builder& b) {
  check_parts(b);
  Extra& extra = b.extra();
  extra.space = space_of(b);
  extra.type = b.type();
  const unsigned width = bytes_of(extra.type);
  extra.destinations = b.vector_of(b.operand(0), width, true);
  if (extra.destinations.size() != vector_length(b)) b.refuse("has another number of registers");
  extra.bytes = width * vector_length(b);
  add_access(b, &access<false>, b.operand(1), extra);
}
void store(Builder& b) {
  check_parts(b);
  Extra& extra = b.extra();
  extra.space = space_of(b);
  extra.type = b.type();
  const unsigned width = bytes_of(extra.type);
  extra.sources = b.vector_of(b.operand(1), width, false);
  if (extra.sources.size() != vector_length(b)) b.refuse("has another number of registers");
  extra.bytes = width * vector_length(b);
  add_access(b, &access<true>, b.operand(0), extra);
}

// --- atomics ---

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

template <class T>
void atomic(Warp& w, const Op& op, Mask mask) {
  const Extra& e = *op.extra;
  const Addresses all = addresses_of(w, op, mask);
  w.require(op.bn, mask, "an atomic's operand");
  w.require(op.cn, mask, "an atomic's operand");
  T* const d = op.dn == nowhere ? nullptr : w.row<T>(op.d);
  const T* const b = w.row<T>(op.b);
  const T* const c = w.row<T>(op.c);
  each_space(e.space, mask, all, [&](Space space, Mask here, const Addresses& addresses) {
    Mask host = 0;
    w.block.memory.view(space, here, addresses, e.bytes, false, w.number, nullptr);
    const View view = w.block.memory.view(space, here, addresses, e.bytes, true, w.number, &host);
    note_access(w, op, space, EventKind::atomic, e.bytes, here, addresses, host);
    for_lanes(here, [&](unsigned i) {
      const T old = exchange_with<T>(view.at(addresses[i], i), [&](T value) {
        return changed<T>(static_cast<Change>(e.mask), value, b[i], c[i]);
      });
      if (d != nullptr) d[i] = old;
    });
  });
  if (d != nullptr) w.defined(op.dn) |= mask;
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
  with_integer(type, [&]<class T>(T) {
    if constexpr (sizeof(T) >= 4) run = &atomic<T>;
  });
  const auto& parts = b.instruction().parts;
  const ChangeName* change = nullptr;
  for (const std::string& part : parts) {
    for (const ChangeName& c : change_names) {
      if (c.name == part) change = &c;
    }
  }
  const bool of_float = is_float(type) && change != nullptr && change->change != Change::add &&
                        change->change != Change::exch;
  if (run == nullptr || change == nullptr || of_float || vector_length(b) != 1) b.unknown();
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

// --- cp.async ---

void copy_async(Warp& w, const Op& op, Mask mask) {
  const Extra& e = *op.extra;
  const Addresses to = addresses_of(w, op, mask);
  w.require(op.bn, mask, "an address");
  w.require(op.cn, mask, "a number of bytes");
  const auto* const from_row = w.row<std::uint64_t>(op.b);
  const auto* const exist_row = w.row<std::uint32_t>(op.c);
  Addresses from;
  std::array<unsigned, lanes> exist;
  for_lanes(mask, [&](unsigned i) {
    from[i] = from_row[i] + e.mask;
    exist[i] = exist_row[i];
    if (exist[i] > e.bytes) throw Fault{"cp.async of more bytes than it copies", Mask{1} << i};
  });
  w.block.async.copy(w, mask, to, from, e.bytes, exist);
  if (!w.block.is_traced) return;
  // What is cut short reads pieces that are powers of two.
  std::array<unsigned, lanes> done{};
  for (unsigned piece = e.bytes; piece > 0; piece /= 2) {
    Mask here = 0;
    Addresses at = from;
    for_lanes(mask, [&](unsigned i) {
      at[i] = from[i] + done[i];
      if (done[i] + piece > exist[i]) return;
      here |= Mask{1} << i;
      done[i] += piece;
    });
    if (here != 0) w.note(EventKind::copied_from, piece, here, at.data(), op);
  }
  note_access(w, op, Space::shared, EventKind::copied_to, e.bytes, mask, to, 0);
}

void commit_group(Warp& w, const Op&, Mask mask) { w.block.async.commit_copies(w, mask); }
void wait_group(Warp& w, const Op& op, Mask mask) {
  w.block.async.wait_for_copies(w, mask, static_cast<unsigned>(op.offset));
}

void copy(Builder& b) {
  const Instruction& i = b.instruction();
  if (i.parts.size() < 2 || i.parts[1] != "async") b.unknown();
  if (i.has("bulk")) return build_bulk_copy_of(b);
  if (i.has("commit_group")) {
    b.add(&commit_group);
  } else if (i.has("wait_group") || i.has("wait_all")) {
    Op& op = b.add(&wait_group);
    if (i.has("wait_group")) op.offset = static_cast<std::int64_t>(b.operand(0).bits);
  } else if (i.has("shared") && i.has("global") && b.operand_count() <= 4) {
    Extra& extra = b.extra();
    extra.space = Space::shared;
    extra.bytes = static_cast<unsigned>(b.operand(2).bits);
    if (extra.bytes != 4 && extra.bytes != 8 && extra.bytes != 16)
      b.refuse("copies 4, 8 or 16 bytes");
    if (i.has("cg") && extra.bytes != 16) b.refuse("copies 16 bytes with .cg");
    Op& op = add_access(b, &copy_async, b.operand(0), extra);
    std::int64_t from_offset = 0;
    Builder::set_b(op, b.address(b.operand(1), Space::global, from_offset));
    extra.mask = static_cast<std::uint64_t>(from_offset);
    Builder::set_c(op,
                   b.operand_count() == 4 ? b.source(b.operand(3), 4) : b.constant(extra.bytes, 4));
  } else {
    b.unknown();
  }
}

constexpr Opcode opcodes[] = {
    {"ld", &load}, {"st", &store}, {"atom", &atom}, {"red", &red}, {"cp", &copy}};

}  // namespace

std::span<const Opcode> memory_opcodes() { return opcodes; }

}  // namespace gpubench::model::ptx
