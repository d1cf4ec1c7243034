// mma.sync, wmma.mma, ldmatrix, stmatrix and movmatrix: PTX ISA, "Warp Level Matrix
// Multiply-Accumulate Instructions".
#include <algorithm>
#include <limits>
#include <tuple>

#include "harness/platform/model/ptx/access.hpp"
#include "harness/platform/model/ptx/cluster.hpp"
#include "harness/platform/model/ptx/fragments.hpp"
#include "harness/platform/model/ptx/handlers.hpp"
#include "harness/platform/model/ptx/matrix_elements.hpp"
#include "harness/platform/model/ptx/scaled_matrix.hpp"
#include "harness/platform/model/ptx/tile_access.hpp"

namespace gpubench::model::ptx {
namespace {

constexpr unsigned largest = 32 * 16;  // elements of a matrix

// Calls `visit` with the number and value of each element that a lane has. Registers behind them
// are skipped: they repeat the first ones.
template <class Visit>
void each_element(Warp& w, const std::vector<Register>& registers, Type type, unsigned elements,
                  unsigned lane, Visit&& visit) {
  const unsigned bytes = bytes_of(type);
  unsigned i = 0;
  for (const Register& r : registers) {
    const std::byte* const at = w.row<std::byte>(r.offset) + lane * r.bytes;
    for (unsigned done = 0; done < r.bytes && i < elements; done += bytes) {
      visit(i++, element(type, at + done));
    }
  }
}

// A sum as its type has it: integers wrap around, or stop at the last one.
void put_sum(Warp& w, const Extra& e, unsigned lane, unsigned i, double sum) {
  const Register& d = e.destinations[i * bytes_of(e.sum_type) / e.destinations[0].bytes];
  switch (e.sum_type) {
    case Type::f64:
      w.row<double>(d.offset)[lane] = sum;
      break;
    case Type::f32:
      w.row<float>(d.offset)[lane] = static_cast<float>(sum);
      break;
    case Type::f16:
      w.row<std::uint16_t>(d.offset)[2 * lane + i % 2] =
          static_cast<std::uint16_t>(encode(sum, half, Rounding::nearest, false));
      break;
    default: {
      constexpr double low = std::numeric_limits<std::int32_t>::min();
      constexpr double high = std::numeric_limits<std::int32_t>::max();
      const double kept = e.saturates ? std::clamp(sum, low, high) : sum;
      w.row<std::uint32_t>(d.offset)[lane] =
          static_cast<std::uint32_t>(static_cast<std::int64_t>(kept));
    }
  }
}

void multiply(Warp& w, const Op& op, Mask mask) {
  if (mask != ~Mask{0}) throw Fault{"matrix multiplication by fewer than 32 lanes", mask};
  const Extra& e = *op.extra;
  for (const auto* list : {&e.sources, &e.more, &e.sums}) {
    for (const Register& r : *list) w.require(r.number, mask, "an element of a matrix");
  }
  double a[largest], b[largest], sums[largest];
  const unsigned rows = e.rows, columns = e.columns, depth = e.depth;
  const unsigned along_a = neighbours(e.type), along_b = neighbours(e.type_of_b);
  for (unsigned lane = 0; lane < lanes; ++lane) {
    each_element(w, e.sources, e.type, rows * depth / lanes, lane, [&](unsigned i, double x) {
      const Place p = place_in(rows, along_a, lane, i);
      a[p.row * depth + p.column] = x;
    });
    each_element(w, e.more, e.type_of_b, columns * depth / lanes, lane, [&](unsigned i, double x) {
      const Place p = place_in_b(depth, along_b, lane, i);
      b[p.row * columns + p.column] = x;
    });
    each_element(w, e.sums, e.type_of_c, rows * columns / lanes, lane, [&](unsigned i, double x) {
      const Place p = place_in(rows, neighbouring_sums, lane, i);
      sums[p.row * columns + p.column] = x;
    });
  }
  (has_wide_vectors() ? add_products_wide : add_products)(a, b, sums, rows, columns, depth);
  for (unsigned lane = 0; lane < lanes; ++lane) {
    for (unsigned i = 0; i < rows * columns / lanes; ++i) {
      const Place p = place_in(rows, neighbouring_sums, lane, i);
      put_sum(w, e, lane, i, sums[p.row * columns + p.column]);
    }
  }
  for (const Register& r : e.destinations) w.define(r, mask);
  BlockResult& result = w.block.result;
  // One of wmma's is two of mma.sync's.
  result.warp_operations[static_cast<std::size_t>(WarpOperation::matrices)] +=
      std::max(1u, rows * columns / (16 * 8));
  result.tensor_flops[static_cast<std::size_t>(e.tensor)] +=
      std::uint64_t{2} * rows * columns * depth;
}

// What the types of a product may be, and the shapes that there are of it.
struct Kind {
  Tensor tensor;
  std::string_view factors, sums;
  std::string_view shapes;       // those of mma.sync
  std::string_view wide_shapes;  // those of wmma.mma
};
constexpr std::string_view of_16_bits = "m16n8k16 m16n8k8";
constexpr Kind kinds[] = {
    {Tensor::fp16, "f16", "f16 f32", of_16_bits, tiles},
    {Tensor::bf16, "bf16", "f32", of_16_bits, tiles},
    {Tensor::tf32, "tf32", "f32", "m16n8k8 m16n8k4", tiles_of_tf32},
    {Tensor::fp8, "e4m3 e5m2", "f16 f32", "m16n8k32 m16n8k16", ""},
    {Tensor::int8, "s8 u8", "s32", "m16n8k32 m16n8k16 m8n8k16", tiles},
    {Tensor::fp64, "f64", "f64", "m8n8k4 m16n8k4 m16n8k8 m16n8k16", tiles_of_f64},
};

// What an instruction says of a product.
struct Product {
  bool is_wide = false, saturates = false;
  std::string shape{};
  std::string_view d{}, a{}, b{}, c{};  // types: of the result, A, B and what is added

  const Kind* kind() const {
    for (const Kind& k : kinds) {
      if (is_among(k.factors, a) && is_among(k.factors, b) && is_among(k.sums, c) &&
          is_among(k.sums, d) && (is_wide || c == d) &&
          is_among(is_wide ? k.wide_shapes : k.shapes, shape)) {
        return &k;
      }
    }
    return nullptr;
  }
};

void build_product(Builder& b, const Product& product) {
  const Kind* const kind = product.kind();
  if (kind == nullptr) b.unknown();
  b.accept_all_parts();
  Extra& extra = b.extra();
  std::tie(extra.rows, extra.columns, extra.depth) = extents_of(product.shape);
  extra.tensor = kind->tensor;
  extra.saturates = product.saturates;
  extra.type = *type_named(product.a);
  extra.type_of_b = *type_named(product.b);
  extra.type_of_c = *type_named(product.c);
  extra.sum_type = *type_named(product.d);
  const auto registers = [&](std::size_t operand, Type type, unsigned elements, bool written) {
    auto all = b.vector_of(b.operand(operand), std::max(4u, bytes_of(type)), written);
    const bool repeats =
        product.is_wide && kind->tensor == Tensor::fp16 && (operand == 1 || operand == 2);
    if (all.size() != (repeats ? registers_of_halves : registers_for(elements / lanes, type))) {
      b.refuse("has another number of registers");
    }
    return all;
  };
  extra.destinations = registers(0, extra.sum_type, extra.rows * extra.columns, true);
  extra.sources = registers(1, extra.type, extra.rows * extra.depth, false);
  extra.more = registers(2, extra.type_of_b, extra.columns * extra.depth, false);
  extra.sums = registers(3, extra.type_of_c, extra.rows * extra.columns, false);
  Op& op = b.add(&multiply);
  op.defines_itself = true;
  op.extra = &extra;
}

// The parts from `first` on, without what says how sums are rounded or limited.
std::vector<std::string_view> layout_and_types(const Instruction& i, std::size_t first,
                                               bool& saturates) {
  std::vector<std::string_view> rest;
  for (std::size_t at = first; at < i.parts.size(); ++at) {
    const bool is_limit = i.parts[at] == "satfinite" && i.has("s32");
    saturates = saturates || is_limit;
    if (!is_limit && (i.parts[at] != "rn" || !i.has("f64"))) rest.emplace_back(i.parts[at]);
  }
  return rest;
}

// "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 d, a, b, c"
void build_multiply(Builder& b) {
  if (b.has("block_scale")) return build_scaled_multiply(b);
  Product product;
  const auto p = layout_and_types(b.instruction(), 1, product.saturates);
  if (p.size() != 9 || p[0] != "sync" || p[1] != "aligned" || p[3] != "row" || p[4] != "col") {
    b.unknown();
  }
  product.shape = p[2];
  product.d = p[5];
  product.a = p[6];
  product.b = p[7];
  product.c = p[8];
  build_product(b, product);
}

// "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 d, a, b, c", of halves; others name all types.
// How A and B lay in memory does not matter to their fragments.
void build_wide_multiply(Builder& b) {
  Product product{.is_wide = true};
  const auto p = layout_and_types(b.instruction(), 2, product.saturates);
  const bool is_half = p.size() == 7;
  if ((!is_half && p.size() != 9) || p[0] != "sync" || p[1] != "aligned" ||
      !is_among("row col", p[2]) || !is_among("row col", p[3])) {
    b.unknown();
  }
  product.shape = p[4];
  product.d = p[5];
  product.a = is_half ? "f16" : p[6];
  product.b = is_half ? "f16" : p[7];
  product.c = is_half ? p[6] : p[8];
  build_product(b, product);
}

// Lane i names row i % 8 of matrix i / 8; of each matrix a lane has two neighbours of row lane / 4,
// or, transposed, of column lane / 4.
template <bool writes>
void access_matrices(Warp& w, const Op& op, Mask mask) {
  const char* const name = writes ? "stmatrix" : "ldmatrix";
  if (mask != ~Mask{0}) throw Fault{std::string(name) + " by fewer than 32 lanes", mask};
  const Extra& e = *op.extra;
  const auto& registers = writes ? e.sources : e.destinations;
  const auto matrices = static_cast<unsigned>(registers.size());
  const Mask named = matrices == 4 ? ~Mask{0} : (Mask{1} << 8 * matrices) - 1;
  const Addresses at = addresses_of(w, op, named);
  constexpr unsigned bytes = 16;
  const View view = w.block.memory.view(Space::shared, named, at, bytes, writes, w.number);
  note_access(w, op, Space::shared, writes ? EventKind::store : EventKind::load, bytes, named, at,
              0);
  for (unsigned m = 0; m < matrices; ++m) {
    const Register& r = registers[m];
    if constexpr (writes) w.require(r.number, mask, "an element of a matrix");
    for (unsigned lane = 0; lane < lanes; ++lane) {
      for (unsigned i = 0; i < 2; ++i) {
        const unsigned along = lane % 4 * 2 + i, across = lane / 4;
        const unsigned row = e.transposed ? along : across, column = e.transposed ? across : along;
        const unsigned who = 8 * m + row;
        std::byte* const there = view.at(at[who], who) + 2 * column;
        std::byte* const own = w.row<std::byte>(r.offset) + lane * r.bytes + 2 * i;
        std::memcpy(writes ? there : own, writes ? own : there, 2);
      }
    }
    if constexpr (!writes) w.define(r, mask);
  }
  if constexpr (writes) {
    w.block.cluster.waits().note_progress();
  } else {
    ++w.block.result.warp_operations[static_cast<std::size_t>(WarpOperation::matrix_load)];
  }
}
template <bool writes>
void build_matrix_access(Builder& b) {
  const bool is_shared = b.has("shared") || b.has("shared::cta");
  if (!b.has("sync") || !b.has("m8n8") || !b.has("b16") || !is_shared) b.unknown();
  b.accept({"aligned"});
  Extra& extra = b.extra();
  extra.space = Space::shared;
  extra.transposed = b.has("trans");
  auto& registers = writes ? extra.sources : extra.destinations;
  registers = b.vector_of(b.operand(writes ? 1 : 0), 4, !writes);
  const std::size_t matrices = b.has("x4") ? 4 : b.has("x2") ? 2 : 1;
  b.accept({"x1"});
  if (registers.size() != matrices) b.refuse("has another number of registers");
  for (const Register& r : registers) {
    if (r.bytes != 4) b.refuse("has a register of another width");
  }
  add_access(b, &access_matrices<writes>, b.operand(writes ? 0 : 1), extra);
}

// "movmatrix.sync.aligned.m8n8.trans.b16 d, a": such a matrix, transposed.
void transpose_matrix(Warp& w, const Op& op, Mask mask) {
  if (mask != ~Mask{0}) throw Fault{"movmatrix by fewer than 32 lanes", mask};
  w.require(op.an, mask, "an element of a matrix");
  std::uint16_t from[2 * lanes];
  std::memcpy(from, w.row<std::uint16_t>(op.a), sizeof from);
  auto* const to = w.row<std::uint16_t>(op.d);
  for (unsigned i = 0; i < 2 * lanes; ++i) to[i] = from[i % 8 * 8 + i / 8];
}
void build_transpose(Builder& b) {
  for (const char* part : {"sync", "aligned", "m8n8", "trans", "b16"}) {
    if (!b.has(part)) b.unknown();
  }
  constexpr unsigned sources[] = {4};
  b.add_simple(&transpose_matrix, 4, sources);
}

// "wmma.mma" multiplies what "wmma.load" has loaded and "wmma.store" stores.
void build_wmma(Builder& b) {
  if (b.has("mma")) return build_wide_multiply(b);
  build_tile_access(b);
}

constexpr Opcode opcodes[] = {
    {"mma", &build_multiply},
    {"wmma", &build_wmma},
    {"ldmatrix", &build_matrix_access<false>},
    {"stmatrix", &build_matrix_access<true>},
    {"movmatrix", &build_transpose},
};

}  // namespace

std::span<const Opcode> matrix_opcodes() { return opcodes; }

}  // namespace gpubench::model::ptx
