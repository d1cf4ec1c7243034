// PTX ISA, "wmma.load", "wmma.store". What a GPU's accesses are is open; here each lane loads its
// neighbours together where they lie side by side in memory, and apart elsewhere.
#include <cstring>
#include <string>

#include "harness/platform/model/ptx/access.hpp"
#include "harness/platform/model/ptx/cluster.hpp"
#include "harness/platform/model/ptx/fragments.hpp"
#include "harness/platform/model/ptx/tile_access.hpp"

namespace gpubench::model::ptx {
namespace {

constexpr Mask whole_warp = ~Mask{0};

// A number that all lanes must agree on.
std::uint64_t common(Warp& w, const Register& r, const char* what) {
  w.require(r.number, whole_warp, what);
  const std::uint64_t first = w.value(r, 0);
  for (unsigned i = 1; i < lanes; ++i) {
    if (w.value(r, i) != first) {
      throw Fault{std::string("lanes that disagree on ") + what + " of a matrix", Mask{1} << i};
    }
  }
  return first;
}

// `count` elements from the i-th on of each lane's registers, at these addresses.
template <bool writes>
void move_elements(Warp& w, const Op& op, const Addresses& all, unsigned i, unsigned count) {
  const Extra& e = *op.extra;
  const unsigned bytes = bytes_of(e.type);
  const auto& registers = writes ? e.sources : e.destinations;
  each_space(e.space, whole_warp, all, [&](Space space, Mask here, const Addresses& addresses) {
    Mask host = 0;
    const View view = w.block.view(space, here, addresses, count * bytes, writes, w.number, &host);
    note_access(w, op, space, writes ? EventKind::store : EventKind::load, count * bytes, here,
                addresses, host);
    for_lanes(here, [&](unsigned lane) {
      for (unsigned n = 0; n < count; ++n) {
        const Register& r = registers[(i + n) * bytes / registers[0].bytes];
        std::byte* const own =
            w.row<std::byte>(r.offset) + lane * r.bytes + (i + n) * bytes % r.bytes;
        std::byte* const there = view.at(addresses[lane], lane) + n * bytes;
        std::memcpy(writes ? there : own, writes ? own : there, bytes);
      }
    });
  });
}

template <bool writes>
void access_tile(Warp& w, const Op& op, Mask mask) {
  if (mask != whole_warp) throw Fault{"wmma by fewer than 32 lanes", mask};
  const Extra& e = *op.extra;
  const unsigned bytes = bytes_of(e.type), elements = e.rows * e.columns / lanes;
  const std::uint64_t begin = addresses_of(w, op, mask)[0];
  common(w, e.held[0], "the address");
  const std::uint64_t stride = common(w, e.more[0], "the stride");
  // CUDA C++ Programming Guide, "Warp Matrix Functions".
  if (begin % 32 != 0) throw Fault{"a matrix at an address that is no multiple of 32", mask};
  if (stride * bytes % 16 != 0) {
    throw Fault{"a matrix whose rows or columns are no multiple of 16 bytes apart", mask};
  }
  for (const Register& r : e.sources) w.require(r.number, mask, "an element of a matrix");
  const bool by_rows = !e.transposed, are_joined = by_rows != e.is_tile_of_b;
  const unsigned together = are_joined ? e.neighbours : 1;
  for (unsigned i = 0; i < elements; i += together) {
    Addresses at;
    for (unsigned lane = 0; lane < lanes; ++lane) {
      const Place p = e.is_tile_of_b ? place_in_b(e.rows, e.neighbours, lane, i)
                                     : place_in(e.rows, e.neighbours, lane, i);
      at[lane] = begin + bytes * (by_rows ? p.row * stride + p.column : p.column * stride + p.row);
    }
    move_elements<writes>(w, op, at, i, together);
  }
  if constexpr (writes) {
    w.block.cluster.waits().note_progress();
    return;
  }
  const std::size_t own = registers_for(elements, e.type);
  for (std::size_t r = 0; r < e.destinations.size(); ++r) {
    const Register &to = e.destinations[r], &from = e.destinations[r % own];
    if (r >= own) {
      std::memcpy(w.row<std::byte>(to.offset), w.row<std::byte>(from.offset), lanes * to.bytes);
    }
    w.define(to, mask);
  }
}

bool is_element(char matrix, Type type) {
  switch (type) {
    case Type::f16:
    case Type::f64:
      return true;
    case Type::bf16:
    case Type::tf32:
    case Type::s8:
    case Type::u8:
      return matrix == 'a' || matrix == 'b';
    default:
      return (type == Type::f32 || type == Type::s32) && (matrix == 'c' || matrix == 'd');
  }
}
bool is_shape(const std::string& shape, Type type) {
  if (type == Type::f64) return is_among(tiles_of_f64, shape);
  if (type == Type::tf32) return is_among(tiles_of_tf32, shape);
  return is_among(tiles, shape) || (type == Type::f32 && is_among(tiles_of_tf32, shape));
}

}  // namespace

// "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {...}, [p], stride"
void build_tile_access(Builder& b) {
  const auto& parts = b.instruction().parts;
  const bool stores = b.has("store");
  if (parts.size() < 8 || parts[1] != (stores ? "store" : "load") || parts[2].size() != 1 ||
      parts[3] != "sync" || parts[4] != "aligned" || !type_named(parts.back())) {
    b.unknown();
  }
  const char matrix = parts[2][0];
  const Type type = b.type_at(parts.size() - 1);
  const bool is_matrix = stores ? matrix == 'd' : matrix >= 'a' && matrix <= 'c';
  if (!is_matrix || !is_element(matrix, type) || !is_shape(parts[6], type)) b.unknown();
  b.accept({parts[1], parts[2], "sync", "aligned", parts[6]});
  Extra& extra = b.extra();
  const auto [m, n, k] = extents_of(parts[6]);
  extra.rows = matrix == 'b' ? k : m;
  extra.columns = matrix == 'a' ? k : n;
  extra.is_tile_of_b = matrix == 'b';
  extra.neighbours = matrix >= 'c' ? neighbouring_sums : neighbours(type);
  extra.type = type;
  extra.transposed = b.has("col");
  if (b.has("row") == extra.transposed) b.unknown();
  extra.space = space_of(b);
  auto& registers = stores ? extra.sources : extra.destinations;
  registers = b.vector_of(b.operand(stores ? 1 : 0), std::max(4u, bytes_of(type)), !stores);
  const bool repeats = matrix <= 'b' && type == Type::f16;
  if (registers.size() !=
      (repeats ? registers_of_halves : registers_for(extra.rows * extra.columns / lanes, type))) {
    b.refuse("has another number of registers");
  }
  const Operand& address = b.operand(stores ? 0 : 1);
  extra.more = {b.operand_count() > 2
                    ? b.source(b.operand(2), 4)
                    : b.constant(extra.transposed ? extra.rows : extra.columns, 4)};
  add_access(b, stores ? &access_tile<true> : &access_tile<false>, address, extra);
  std::int64_t offset = 0;
  extra.held = {b.address(address, extra.space, offset)};
}

}  // namespace gpubench::model::ptx
