// Operations at multicast addresses: PTX ISA, "multimem.ld_reduce, multimem.st, multimem.red".
#include <algorithm>
#include <atomic>
#include <bit>
#include <vector>

#include "harness/platform/model/ptx/access.hpp"
#include "harness/platform/model/ptx/numbers.hpp"

namespace gpubench::model::ptx {
namespace {

// An element is a word of 32 bits: a float, or two numbers of 16 bits.
struct Element {
  float low = 0, high = 0;
};
Element element_in(Type type, std::uint32_t word) {
  if (type == Type::f32) return {std::bit_cast<float>(word), 0};
  const auto first = static_cast<std::uint16_t>(word);
  const auto second = static_cast<std::uint16_t>(word >> 16);
  if (type == Type::f16x2) return {half_to_float(first), half_to_float(second)};
  return {bfloat16_to_float(first), bfloat16_to_float(second)};
}
std::uint32_t packed(Type type, Element e) {
  if (type == Type::f32) return std::bit_cast<std::uint32_t>(e.low);
  const Format& format = type == Type::f16x2 ? half : bfloat16;
  return encode(e.low, format, Rounding::nearest, false) |
         encode(e.high, format, Rounding::nearest, false) << 16;
}
Element added(Element a, Element b) { return {a.low + b.low, a.high + b.high}; }

std::uint32_t* multicast_word(std::byte* place, std::size_t k) {
  return reinterpret_cast<std::uint32_t*>(place) + k;
}

// Notes the request, and calls `visit(lane, places)` with what each lane's address reaches.
template <class Visit>
void each_place(Warp& w, const Op& op, Mask mask, EventKind kind, const Visit& visit) {
  const unsigned bytes = op.extra->bytes;
  const Addresses addresses = addresses_of(w, op, mask);
  std::vector<std::vector<std::byte*>> places(lanes);
  for_lanes(mask, [&](unsigned i) {
    places[i] = w.block.memory.multicast_places(i, addresses[i], bytes);
  });
  note_access(w, op, Space::global, kind, bytes, mask, addresses, 0);
  for_lanes(mask, [&](unsigned i) { visit(i, places[i]); });
}

void load_sum(Warp& w, const Op& op, Mask mask) {
  const Extra& e = *op.extra;
  each_place(w, op, mask, EventKind::load, [&](unsigned i, const auto& places) {
    for (std::size_t k = 0; k < e.destinations.size(); ++k) {
      Element sum;
      for (std::byte* const place : places) {
        sum = added(sum, element_in(e.type, *multicast_word(place, k)));
      }
      w.row<std::uint32_t>(e.destinations[k].offset)[i] = packed(e.type, sum);
    }
  });
  for (const Register& r : e.destinations) w.define(r, mask);
}

void require_stored(Warp& w, const Op& op, Mask mask) {
  for (const Register& r : op.extra->sources) w.require(r.number, mask, "a value to store");
}

void store_to_all(Warp& w, const Op& op, Mask mask) {
  const Extra& e = *op.extra;
  require_stored(w, op, mask);
  each_place(w, op, mask, EventKind::store, [&](unsigned i, const auto& places) {
    for (std::byte* const place : places) {
      for (std::size_t k = 0; k < e.sources.size(); ++k) {
        *multicast_word(place, k) = w.row<std::uint32_t>(e.sources[k].offset)[i];
      }
    }
  });
}

void add_to_all(Warp& w, const Op& op, Mask mask) {
  const Extra& e = *op.extra;
  require_stored(w, op, mask);
  each_place(w, op, mask, EventKind::atomic, [&](unsigned i, const auto& places) {
    for (std::byte* const place : places) {
      for (std::size_t k = 0; k < e.sources.size(); ++k) {
        const std::uint32_t mine = w.row<std::uint32_t>(e.sources[k].offset)[i];
        const Element more = element_in(e.type, mine);
        std::atomic_ref<std::uint32_t> here(*multicast_word(place, k));
        std::uint32_t old = here.load();
        while (!here.compare_exchange_weak(old,
                                           packed(e.type, added(element_in(e.type, old), more)))) {
        }
      }
    }
  });
}

// What every form names beside its operation and its type: an order that the engine keeps anyway,
// and global memory.
constexpr std::string_view parts_of_all[] = {
    "weak", "relaxed", "acquire", "release", "cta", "cluster", "gpu", "sys", "global", "v2", "v4"};

void multimem(Builder& b) {
  const auto& parts = b.instruction().parts;
  const Type type = b.type();
  const std::string_view operation = parts.size() > 1 ? parts[1] : std::string_view();
  const bool loads = operation == "ld_reduce", stores = operation == "st";
  if (!loads && !stores && operation != "red") b.unknown();
  if (type != Type::f32 && type != Type::f16x2 && type != Type::bf16x2) b.unknown();
  for (std::size_t i = 2; i + 1 < parts.size(); ++i) {
    const bool is_known = std::ranges::find(parts_of_all, parts[i]) != std::end(parts_of_all) ||
                          (!stores && parts[i] == "add") || (loads && parts[i] == "acc::f32");
    if (!is_known) b.unknown();
  }
  // Sums of 16 bits are rounded after each addition unless they are taken in fp32, which is all
  // that the suite asks for.
  const bool is_short = type != Type::f32, in_fp32 = b.has("acc::f32");
  if (!b.has("global") || (!stores && !b.has("add")) || in_fp32 != (loads && is_short)) {
    b.unknown();
  }
  b.accept_all_parts();
  Extra& extra = b.extra();
  extra.space = Space::global;
  extra.type = type;
  const std::size_t elements = b.has("v4") ? 4 : b.has("v2") ? 2 : 1;
  auto& registers = loads ? extra.destinations : extra.sources;
  registers = b.vector_of(b.operand(loads ? 0 : 1), sizeof(std::uint32_t), loads);
  if (registers.size() != elements) b.refuse("has another number of registers");
  extra.bytes = static_cast<unsigned>(elements * sizeof(std::uint32_t));
  add_access(b,
             loads    ? &load_sum
             : stores ? &store_to_all
                      : &add_to_all,
             b.operand(loads ? 1 : 0), extra);
}

constexpr Opcode opcodes[] = {{"multimem", &multimem}};

}  // namespace

std::span<const Opcode> multimem_opcodes() { return opcodes; }

}  // namespace gpubench::model::ptx
