// Loads and stores: PTX ISA, "Data Movement and Conversion Instructions".
#include <algorithm>

#include "harness/platform/model/ptx/access.hpp"
#include "harness/platform/model/ptx/cluster.hpp"
#include "harness/platform/model/ptx/handlers.hpp"

namespace gpubench::model::ptx {
namespace {

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
  const EventKind kind = writes ? EventKind::store : EventKind::load;
  note_remote_access(w, op, kind, e.bytes, mask, all);
  each_space(e.space, mask, all, [&](Space space, Mask here, const Addresses& addresses) {
    Mask host = 0;
    const View view = w.block.view(space, here, addresses, e.bytes, writes, w.number, &host);
    note_access(w, op, space, kind, e.bytes, here, addresses, host);
    const auto known = counted_space(space);
    if (!writes && w.block.is_traced && known) {
      w.note_load(*known, e.bytes, here, addresses, view.base);
    }
    move(w, op, here, view, addresses);
  });
  if (writes) {
    w.block.cluster.waits().note_progress();
    return;
  }
  for (const Register& r : e.destinations) w.define(r, mask);
  const bool is_own = e.space == Space::local || e.space == Space::parameter;
  if (!is_own) w.block.cluster.waits().note_look(w, op, mask, all, false);
}

// A load that may wait for what other blocks do.
bool load_acquired(Warp& w, const Op& op, Mask mask) {
  if (!is_grid_barrier(addresses_of(w, op, mask), mask)) {
    access<false>(w, op, mask);
    return true;
  }
  const auto word = w.block.cluster.grid_word(w);
  if (!word) return false;
  const Register& to = op.extra->destinations.front();
  for_lanes(mask, [&](unsigned i) { w.row<std::uint32_t>(to.offset)[i] = *word; });
  w.define(to, mask);
  return true;
}

unsigned vector_length(Builder& b) { return b.has("v2") ? 2 : b.has("v4") ? 4 : 1; }

// Parts of loads and stores that change nothing here: caching, and an order between threads that
// the engine keeps anyway.
constexpr std::string_view harmless[] = {"global",
                                         "shared",
                                         "shared::cta",
                                         "local",
                                         "param",
                                         "const",
                                         "v2",
                                         "v4",
                                         "nc",
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
                                         "cta",
                                         "cluster",
                                         "gpu",
                                         "sys",
                                         "L1::no_allocate",
                                         "L1::evict_first",
                                         "L1::evict_last",
                                         "L1::evict_normal",
                                         "L1::evict_unchanged",
                                         "L2::64B",
                                         "L2::128B",
                                         "L2::256B",
                                         "L2::cache_hint"};
void check_parts(Builder& b) {
  const auto& all = b.instruction().parts;
  for (std::size_t i = 1; i + 1 < all.size(); ++i) {
    if (std::ranges::find(harmless, all[i]) == std::end(harmless)) b.unknown();
  }
  b.accept_all_parts();
  // An eviction policy is one more operand.
  if (b.has("L2::cache_hint")) b.operand(b.operand_count() - 1);
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
  if (b.has("acquire") && extra.type == Type::u32 && vector_length(b) == 1) {
    add_waiting_access(b, &load_acquired, b.operand(1), extra);
  } else {
    add_access(b, &access<false>, b.operand(1), extra);
  }
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

constexpr Opcode opcodes[] = {{"ld", &load}, {"st", &store}};

}  // namespace

std::span<const Opcode> memory_opcodes() { return opcodes; }

}  // namespace gpubench::model::ptx
