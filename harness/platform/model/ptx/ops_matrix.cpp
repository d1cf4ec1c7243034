// mma.sync and ldmatrix: PTX ISA, "Matrix Fragments for mma.m8n8k4 / m16n8k4 / k8 / k16 / k32",
// "ldmatrix".
#include <algorithm>
#include <optional>

#include "harness/platform/model/ptx/access.hpp"
#include "harness/platform/model/ptx/handlers.hpp"
#include "harness/platform/model/ptx/matrix_elements.hpp"
#include "harness/platform/model/ptx/scaled_matrix.hpp"

namespace gpubench::model::ptx {
namespace {

constexpr unsigned most_rows = 16, columns = 8;

struct Place {
  unsigned row, column;
};
// Where element i of lane's part of A, B and C stands, by the elements' bytes.
Place place_of_a(unsigned bytes, unsigned lane, unsigned i) {
  const unsigned g = lane / 4, t = lane % 4;
  if (bytes == 8) return {g + 8 * (i % 2), i / 2 * 4 + t};
  const unsigned each = 4 / bytes;  // in a register
  const unsigned r = i / each;
  return {g + 8 * (r % 2), r / 2 * 4 * each + t * each + i % each};
}
Place place_of_b(unsigned bytes, unsigned lane, unsigned i) {
  const unsigned g = lane / 4, t = lane % 4;
  if (bytes == 8) return {i * 4 + t, g};
  const unsigned each = 4 / bytes;
  return {i / each * 4 * each + t * each + i % each, g};
}
Place place_of_c(unsigned lane, unsigned i) {
  return {lane / 4 + 8 * (i / 2), lane % 4 * 2 + i % 2};
}

// What the elements of a lane's registers are, one after the other.
template <class Visit>
void each_element(Warp& w, const std::vector<Register>& registers, Type type, unsigned lane,
                  Visit&& visit) {
  const unsigned bytes = bytes_of(type);
  unsigned i = 0;
  for (const Register& r : registers) {
    const std::byte* const at = w.row<std::byte>(r.offset) + lane * r.bytes;
    for (unsigned done = 0; done < r.bytes; done += bytes) visit(i++, element(type, at + done));
  }
}

void multiply(Warp& w, const Op& op, Mask mask) {
  if (mask != ~Mask{0}) throw Fault{"matrix multiplication by fewer than 32 lanes", mask};
  const Extra& e = *op.extra;
  for (const auto* list : {&e.sources, &e.more, &e.sums}) {
    for (const Register& r : *list) w.require(r.number, mask, "an element of a matrix");
  }
  double a[most_rows * 32], b[32 * columns], sums[most_rows * columns];
  const unsigned rows = e.rows, depth = e.depth, bytes = bytes_of(e.type);
  for (unsigned lane = 0; lane < lanes; ++lane) {
    each_element(w, e.sources, e.type, lane, [&](unsigned i, double x) {
      const Place p = place_of_a(bytes, lane, i);
      a[p.row * depth + p.column] = x;
    });
    each_element(w, e.more, e.type, lane, [&](unsigned i, double x) {
      const Place p = place_of_b(bytes, lane, i);
      b[p.row * columns + p.column] = x;
    });
    each_element(w, e.sums, e.sum_type, lane, [&](unsigned i, double x) {
      const Place p = place_of_c(lane, i);
      sums[p.row * columns + p.column] = x;
    });
  }
  (has_wide_vectors() ? add_products_wide : add_products)(a, b, sums, rows, columns, depth);
  for (unsigned lane = 0; lane < lanes; ++lane) {
    for (unsigned i = 0; i < e.destinations.size(); ++i) {
      const Place p = place_of_c(lane, i);
      const double sum = sums[p.row * columns + p.column];
      const Register& d = e.destinations[i];
      if (e.sum_type == Type::f64) {
        w.row<double>(d.offset)[lane] = sum;
      } else if (e.sum_type == Type::f32) {
        w.row<float>(d.offset)[lane] = static_cast<float>(sum);
      } else {  // wraps around
        w.row<std::uint32_t>(d.offset)[lane] =
            static_cast<std::uint32_t>(static_cast<std::int64_t>(sum));
      }
    }
  }
  for (const Register& r : e.destinations) w.define(r, mask);
  BlockResult& result = w.block.result;
  ++result.warp_operations[static_cast<std::size_t>(WarpOperation::matrices)];
  result.tensor_flops[static_cast<std::size_t>(e.tensor)] +=
      std::uint64_t{2} * rows * columns * depth;
}

struct Shape {
  std::string_view shape, sum, a, b;
  Type type, sum_type;
  Tensor tensor;
  unsigned rows, depth;
};
constexpr Shape shapes[] = {
    {"m16n8k16", "f32", "f16", "f16", Type::f16, Type::f32, Tensor::fp16, 16, 16},
    {"m16n8k16", "f32", "bf16", "bf16", Type::bf16, Type::f32, Tensor::bf16, 16, 16},
    {"m16n8k8", "f32", "tf32", "tf32", Type::tf32, Type::f32, Tensor::tf32, 16, 8},
    {"m16n8k32", "f32", "e4m3", "e4m3", Type::e4m3, Type::f32, Tensor::fp8, 16, 32},
    {"m16n8k32", "s32", "s8", "s8", Type::s8, Type::s32, Tensor::int8, 16, 32},
    {"m16n8k16", "f64", "f64", "f64", Type::f64, Type::f64, Tensor::fp64, 16, 16},
    {"m16n8k8", "f64", "f64", "f64", Type::f64, Type::f64, Tensor::fp64, 16, 8},
    {"m16n8k4", "f64", "f64", "f64", Type::f64, Type::f64, Tensor::fp64, 16, 4},
    {"m8n8k4", "f64", "f64", "f64", Type::f64, Type::f64, Tensor::fp64, 8, 4},
};

// "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 d, a, b, c"
void build_multiply(Builder& b) {
  if (b.has("block_scale")) return build_scaled_multiply(b);
  const auto& p = b.instruction().parts;
  const Shape* shape = nullptr;
  for (const Shape& s : shapes) {
    if (p.size() == 10 && p[1] == "sync" && p[2] == "aligned" && p[3] == s.shape && p[4] == "row" &&
        p[5] == "col" && p[6] == s.sum && p[7] == s.a && p[8] == s.b && p[9] == s.sum) {
      shape = &s;
    }
  }
  if (shape == nullptr) b.unknown();
  b.accept_all_parts();
  const unsigned width = shape->type == Type::f64 ? 8 : 4;
  Extra& extra = b.extra();
  extra.type = shape->type;
  extra.sum_type = shape->sum_type;
  extra.tensor = shape->tensor;
  extra.rows = shape->rows;
  extra.depth = shape->depth;
  extra.destinations = b.vector_of(b.operand(0), bytes_of(shape->sum_type), true);
  extra.sources = b.vector_of(b.operand(1), width, false);
  extra.more = b.vector_of(b.operand(2), width, false);
  extra.sums = b.vector_of(b.operand(3), bytes_of(shape->sum_type), false);
  const auto registers = [&](unsigned elements) {
    return std::size_t{elements} * bytes_of(shape->type) / lanes / width;
  };
  const std::size_t of_sums = shape->rows * columns / lanes;
  if (extra.destinations.size() != of_sums || extra.sums.size() != of_sums ||
      extra.sources.size() != registers(shape->rows * shape->depth) ||
      extra.more.size() != registers(columns * shape->depth)) {
    b.refuse("has another number of registers");
  }
  Op& op = b.add(&multiply);
  op.defines_itself = true;
  op.extra = &extra;
}

// Lane i names row i % 8 of matrix i / 8; of each matrix a lane gets two neighbours of row
// lane / 4, or, transposed, of column lane / 4.
void load_matrices(Warp& w, const Op& op, Mask mask) {
  if (mask != ~Mask{0}) throw Fault{"ldmatrix by fewer than 32 lanes", mask};
  const Extra& e = *op.extra;
  const auto matrices = static_cast<unsigned>(e.destinations.size());
  const Mask named = matrices == 4 ? ~Mask{0} : (Mask{1} << 8 * matrices) - 1;
  const Addresses at = addresses_of(w, op, named);
  constexpr unsigned bytes = 16;
  const View view = w.block.memory.view(Space::shared, named, at, bytes, false, w.number);
  note_access(w, op, Space::shared, EventKind::load, bytes, named, at, 0);
  for (unsigned m = 0; m < matrices; ++m) {
    for (unsigned lane = 0; lane < lanes; ++lane) {
      std::uint16_t pair[2];
      for (unsigned i = 0; i < 2; ++i) {
        const unsigned along = lane % 4 * 2 + i, across = lane / 4;
        const unsigned row = e.transposed ? along : across, column = e.transposed ? across : along;
        const unsigned who = 8 * m + row;
        std::memcpy(&pair[i], view.at(at[who], who) + 2 * column, sizeof pair[i]);
      }
      w.set_value(e.destinations[m], lane, std::uint64_t{pair[1]} << 16 | pair[0]);
    }
    w.define(e.destinations[m], mask);
  }
  ++w.block.result.warp_operations[static_cast<std::size_t>(WarpOperation::matrix_load)];
}
void build_load_matrices(Builder& b) {
  const bool is_shared = b.has("shared") || b.has("shared::cta");
  if (!b.has("sync") || !b.has("m8n8") || !b.has("b16") || !is_shared) b.unknown();
  b.accept({"aligned"});
  Extra& extra = b.extra();
  extra.space = Space::shared;
  extra.transposed = b.has("trans");
  extra.destinations = b.vector_of(b.operand(0), 4, true);
  const std::size_t matrices = b.has("x4") ? 4 : b.has("x2") ? 2 : 1;
  b.accept({"x1"});
  if (extra.destinations.size() != matrices) b.refuse("has another number of registers");
  Op& op = b.add(&load_matrices);
  op.defines_itself = true;
  op.extra = &extra;
  const Register a = b.address(b.operand(1), Space::shared, op.offset);
  extra.address_bytes = a.bytes;
  Builder::set_a(op, a);
}

constexpr Opcode opcodes[] = {{"mma", &build_multiply}, {"ldmatrix", &build_load_matrices}};

}  // namespace

std::span<const Opcode> matrix_opcodes() { return opcodes; }

}  // namespace gpubench::model::ptx
