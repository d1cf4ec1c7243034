// From register to register: PTX ISA, "mov", "cvta".
#include "harness/platform/model/ptx/access.hpp"
#include "harness/platform/model/ptx/handlers.hpp"
#include "harness/platform/model/ptx/windows.hpp"

namespace gpubench::model::ptx {
namespace {

struct Copy {
  template <class T>
  T operator()(T a) const {
    return a;
  }
};
void copy_mask(Warp& w, const Op& op, Mask mask) {
  Mask& d = w.predicate(op.d);
  d = (d & ~mask) | (w.predicate(op.a) & mask);
}

// Several registers to one, or one to several, the first of them lowest.
void pack(Warp& w, const Op& op, Mask mask) {
  const Extra& e = *op.extra;
  for_lanes(mask, [&](unsigned i) {
    std::uint64_t bits = 0;
    unsigned at = 0;
    for (const Register& r : e.sources) {
      bits |= w.value(r, i) << at;
      at += 8 * r.bytes;
    }
    w.set_value(e.destinations[0], i, bits);
  });
  Mask& defined = w.defined(e.destinations[0].number);
  defined = (defined & ~mask) | w.defined_in(e.sources, mask);
}
void unpack(Warp& w, const Op& op, Mask mask) {
  const Extra& e = *op.extra;
  const Mask known = w.defined_in(e.sources, mask);
  unsigned at = 0;
  for (const Register& r : e.destinations) {
    if (r.number != nowhere) {
      for_lanes(mask, [&](unsigned i) { w.set_value(r, i, w.value(e.sources[0], i) >> at); });
      Mask& defined = w.defined(r.number);
      defined = (defined & ~mask) | known;
    }
    at += 8 * r.bytes;
  }
}

void move(Builder& b) {
  const Type type = b.type();
  const unsigned width = bytes_of(type);
  const Operand &to = b.operand(0), &from = b.operand(1);
  const bool packs = from.kind == Operand::Kind::vector;
  if (packs || to.kind == Operand::Kind::vector) {
    const auto count = static_cast<unsigned>((packs ? from : to).elements.size());
    Extra& extra = b.extra();
    extra.destinations = b.vector_of(to, packs ? width : width / count, true);
    extra.sources = b.vector_of(from, packs ? width / count : width, false);
    Op& op = b.add(packs ? &pack : &unpack);
    op.defines_itself = true;
    op.extra = &extra;
    return;
  }
  const unsigned sources[] = {width};
  if (type == Type::pred) {
    b.add_simple(&copy_mask, width, sources);
    return;
  }
  with_integer(as_unsigned(type),
               [&]<class T>(T) { b.add_simple(Unary<Copy, T, T>::handler(), width, sources); });
}

// Addresses in a space and generic ones differ by where the space's window is.
struct Added {
  std::uint64_t operator()(std::uint64_t a, std::uint64_t b) const { return a + b; }
};
void convert_address(Builder& b) {
  const bool is_narrow = b.type() == Type::u32;
  std::uint64_t window = 0;
  if (b.has("shared") || b.has("shared::cta")) window = shared_window;
  if (b.has("local")) window = local_window;
  if (b.has("param")) window = parameter_window;
  if (is_narrow || (window == 0 && !b.has("global") && !b.has("const"))) b.unknown();
  Op& op = b.add(Binary<Added, std::uint64_t, std::uint64_t>::handler());
  Builder::set_destination(op, b.destination(b.operand(0), 8));
  Builder::set_a(op, b.source(b.operand(1), 8));
  Builder::set_b(op, b.constant(b.has("to") ? ~window + 1 : window, 8));
}

constexpr Opcode opcodes[] = {{"mov", &move}, {"cvta", &convert_address}};

}  // namespace

std::span<const Opcode> move_opcodes() { return opcodes; }

}  // namespace gpubench::model::ptx
