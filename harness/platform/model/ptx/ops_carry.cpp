// Sums of several words: PTX ISA, "Extended-Precision Integer Arithmetic Instructions". The carry
// is a predicate that the text does not name.
#include <limits>

#include "harness/platform/model/ptx/handlers.hpp"

namespace gpubench::model::ptx {
namespace {

template <class T>
using Wide =
    std::conditional_t<sizeof(T) == 8,
                       std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>,
                       std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>;

enum class Form : std::uint8_t { add, subtract, add_low_product, add_high_product };
struct Chain {
  Form form;
  bool takes, gives;  // a carry
};
Chain chain_of(const Op& op) {
  return {static_cast<Form>(op.offset >> 2), (op.offset & 1) != 0, (op.offset & 2) != 0};
}

template <class T>
void run_chain(Warp& w, const Op& op, Mask mask) {
  using Bits = std::make_unsigned_t<T>;
  const Chain chain = chain_of(op);
  const Register& carry = op.extra->sources[0];
  const Mask taken = chain.takes ? w.predicate(carry.offset) : 0;
  Mask given = 0;
  for_lanes(mask, [&](unsigned i) {
    const T a = w.row<T>(op.a)[i], b = w.row<T>(op.b)[i];
    const bool adds_product = chain.form >= Form::add_low_product;
    const auto product = static_cast<Wide<Bits>>(static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b));
    const bool high = chain.form == Form::add_high_product;
    const auto x = adds_product ? static_cast<Bits>(high ? product >> 8 * sizeof(T) : product)
                                : static_cast<Bits>(a);
    const auto y = static_cast<Bits>(adds_product ? w.row<T>(op.c)[i] : b);
    const auto more = static_cast<Wide<Bits>>(y) + (taken >> i & 1);
    const bool subtracts = chain.form == Form::subtract;
    w.row<Bits>(op.d)[i] = static_cast<Bits>(subtracts ? x - more : x + more);
    const bool carries =
        subtracts ? x < more : static_cast<Wide<Bits>>(x) + more > std::numeric_limits<Bits>::max();
    given |= Mask{carries} << i;
  });
  Mask known = w.defined(op.an) & w.defined(op.bn) & w.defined(op.cn) & mask;
  if (chain.takes) known &= w.defined(carry.number);
  w.defined(op.dn) = (w.defined(op.dn) & ~mask) | known;
  if (!chain.gives) return;
  w.predicate(carry.offset) = (w.predicate(carry.offset) & ~mask) | given;
  w.defined(carry.number) = (w.defined(carry.number) & ~mask) | known;
}

}  // namespace

// "add.cc.u32 d, a, b", "madc.hi.cc.u32 d, a, b, c"
void build_with_carry(Builder& b) {
  const std::string& name = b.instruction().parts[0];
  const bool adds_product = name.starts_with("mad");
  const bool high = adds_product && b.has("hi");
  if (adds_product && high == b.has("lo")) b.unknown();
  const Form form = adds_product ? high ? Form::add_high_product : Form::add_low_product
                    : name.starts_with("sub") ? Form::subtract
                                              : Form::add;
  const bool takes = name.ends_with('c'), gives = b.has("cc");
  const unsigned width = bytes_of(b.type());
  const unsigned sources[] = {width, width, width};
  with_integer(b.type(), [&]<class T>(T) {
    if constexpr (sizeof(T) >= 4) {
      Op& op = b.add_simple(&run_chain<T>, width, std::span(sources).first(adds_product ? 3 : 2));
      op.defines_itself = true;
      op.offset = static_cast<std::int64_t>(form) << 2 | (gives ? 2 : 0) | (takes ? 1 : 0);
      Extra& extra = b.extra();
      extra.sources = {b.carry()};
      op.extra = &extra;
    }
  });
}

}  // namespace gpubench::model::ptx
