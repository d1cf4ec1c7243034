// wgmma: PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions", "Matrix Descriptor Format",
// "Shared Memory Matrix Layout". Both operands lie in shared memory, or A in registers; A along k,
// B along k or, of 16 bits and swizzled, across it.
#include <algorithm>

#include "harness/platform/model/ptx/block.hpp"
#include "harness/platform/model/ptx/handlers.hpp"
#include "harness/platform/model/ptx/matrix_elements.hpp"

namespace gpubench::model::ptx {
namespace {

constexpr unsigned rows = 16;  // of a warp
constexpr unsigned core_rows = 8, piece_bytes = 16;

struct Descriptor {
  std::uint64_t start, leading, stride;
  unsigned base_offset, mode;
  explicit Descriptor(std::uint64_t d)
      : start((d & 0x3fff) << 4),
        leading((d >> 16 & 0x3fff) << 4),
        stride((d >> 32 & 0x3fff) << 4),
        base_offset(d >> 49 & 7),
        mode(static_cast<unsigned>(d >> 62)) {}

  // Where byte `k` of row `row` lies.
  std::uint64_t place(unsigned row, unsigned k) const {
    const std::uint64_t group = start + row / core_rows * stride;
    if (mode == 0)
      return group + k / piece_bytes * leading + row % core_rows * piece_bytes + k % piece_bytes;
    const std::uint64_t span = std::uint64_t{256} >> mode;  // 128, 64 and 32 bytes
    const std::uint64_t straight = group + row % core_rows * span + k;
    return swizzled(straight, span);
  }
  // Where byte `n` of what lies across k = `k` does. Eight k are a pattern of the swizzle.
  std::uint64_t place_across(unsigned k, unsigned n) const {
    const std::uint64_t span = std::uint64_t{256} >> mode;
    return swizzled(
        start + n / span * leading + k / core_rows * stride + k % core_rows * span + n % span,
        span);
  }

 private:
  static std::uint64_t swizzled(std::uint64_t straight, std::uint64_t span) {
    return straight ^ (straight >> 3 & (span - 1) & ~std::uint64_t{15});
  }
};

// to[row * depth + k], or the other way round.
void read_matrix(Warp& w, const Extra& e, std::uint64_t bits, unsigned first, unsigned count,
                 bool by_depth, double* to) {
  const Descriptor d(bits);
  if (d.base_offset != 0) throw Fault{"a matrix descriptor with a base offset", 0};
  const unsigned bytes = bytes_of(e.type), each = piece_bytes / bytes;
  for (unsigned r = 0; r < count; ++r) {
    for (unsigned piece = 0; piece < e.depth / each; ++piece) {
      const std::byte* const at = w.block.memory.shared_piece(
          d.place(first + r, piece * piece_bytes), piece_bytes, piece_bytes);
      for (unsigned i = 0; i < each; ++i) {
        const unsigned k = piece * each + i;
        to[by_depth ? k * count + r : r * e.depth + k] = element(e.type, at + i * bytes);
      }
    }
  }
}

// to[k * columns + column], of a matrix that lies across k.
void read_across(Warp& w, const Extra& e, std::uint64_t bits, double* to) {
  const Descriptor d(bits);
  if (d.base_offset != 0) throw Fault{"a matrix descriptor with a base offset", 0};
  if (d.mode == 0) throw Fault{"a matrix across k without a swizzle", 0};
  const unsigned bytes = bytes_of(e.type), each = piece_bytes / bytes;
  for (unsigned k = 0; k < e.depth; ++k) {
    for (unsigned column = 0; column < e.columns; ++column) {
      const std::byte* const at = w.block.memory.shared_piece(
          d.place_across(k, column / each * piece_bytes), piece_bytes, piece_bytes);
      to[k * e.columns + column] = element(e.type, at + column % each * bytes);
    }
  }
}

// Lane by lane: rows g and g + 8 of a warp's sixteen, columns in pairs.
unsigned row_of(unsigned lane, unsigned i) { return lane / 4 + 8 * (i / 2 % 2); }
unsigned column_of(unsigned lane, unsigned i) { return 8 * (i / 4) + lane % 4 * 2 + i % 2; }

// to[row * depth + k] from registers: rows as those of sums, two columns a register.
void read_held(Warp& w, const Extra& e, double* to) {
  for (unsigned i = 0; i < 2 * e.held.size(); ++i) {
    for (unsigned lane = 0; lane < lanes; ++lane) {
      const std::byte* const from = w.row<std::byte>(e.held[i / 2].offset) + 4 * lane;
      to[row_of(lane, i) * e.depth + column_of(lane, i)] = element(e.type, from + 2 * (i % 2));
    }
  }
}

void compute(Warp& w, Warp::Product& product) {
  product.is_done = true;
  const Extra& e = *product.op->extra;
  std::vector<double> a(rows * e.depth), b(std::size_t{e.columns} * e.depth),
      sums(std::size_t{rows} * e.columns);
  if (e.held.empty()) {
    read_matrix(w, e, product.a, w.number % 4 * rows, rows, false, a.data());
  } else {
    read_held(w, e, a.data());
  }
  if (e.transposed) {
    read_across(w, e, product.b, b.data());
  } else {
    read_matrix(w, e, product.b, 0, e.columns, true, b.data());
  }
  if (e.first_sign * e.second_sign < 0) {
    for (double& x : a) x = -x;
  }
  const bool is_float = e.sum_type == Type::f32;
  for (unsigned i = 0; product.adds && i < e.sums.size(); ++i) {
    const std::byte* const from = w.row<std::byte>(e.sums[i].offset);
    for (unsigned lane = 0; lane < lanes; ++lane) {
      sums[row_of(lane, i) * e.columns + column_of(lane, i)] = element(e.sum_type, from + 4 * lane);
    }
  }
  (has_wide_vectors() ? add_products_wide : add_products)(a.data(), b.data(), sums.data(), rows,
                                                          e.columns, e.depth);
  for (unsigned i = 0; i < e.sums.size(); ++i) {
    for (unsigned lane = 0; lane < lanes; ++lane) {
      const double sum = sums[row_of(lane, i) * e.columns + column_of(lane, i)];
      w.row<std::uint32_t>(e.sums[i].offset)[lane] =
          is_float ? std::bit_cast<std::uint32_t>(static_cast<float>(sum))
                   : static_cast<std::uint32_t>(static_cast<std::int64_t>(sum));
    }
  }
}

// "wgmma.fence must be used to order register accesses": but for sums of products under way.
void require_fence(Warp& w, const std::vector<Register>& registers) {
  for (const Register& r : registers) {
    if (w.pending[r.number]) continue;
    if (w.fenced_at == 0 || w.touched_at[r.number] > w.fenced_at) {
      throw Fault{"wgmma without a wgmma.fence behind the last use of its registers", 0};
    }
  }
}

void multiply(Warp& w, const Op& op, Mask mask) {
  const Extra& e = *op.extra;
  const auto warps = static_cast<unsigned>(w.block.warps().size());
  if (mask != ~Mask{0} || w.number / 4 * 4 + 4 > warps) {
    throw Fault{"wgmma by fewer than the 128 threads of a warpgroup", mask};
  }
  require_fence(w, e.sums);
  require_fence(w, e.held);
  for (const Register& r : e.held) w.require(r.number, mask, "an operand of wgmma");
  const auto same_for_all = [&](const Register& r) {
    w.require(r.number, mask, "an operand of wgmma");
    for (unsigned i = 1; i < lanes; ++i) {
      if (w.value(r, i) != w.value(r, 0))
        throw Fault{"wgmma whose lanes name different matrices", mask};
    }
    return w.value(r, 0);
  };
  Warp::Product product{&op, 0, same_for_all(e.sources.back()), true, false, w.product_groups};
  if (e.held.empty()) product.a = same_for_all(e.sources.front());
  w.require(e.more[0].number, mask, "an operand of wgmma");
  const Mask adds = w.predicate(e.more[0].offset) & mask;
  if (adds != 0 && adds != mask) throw Fault{"wgmma whose lanes differ in whether they add", mask};
  product.adds = adds != 0;
  for (const Register& r : e.sums) {
    if (product.adds && !w.pending[r.number]) w.require(r.number, mask, "a sum of wgmma");
    w.pending[r.number] = 1;
    w.define(r, mask);
  }
  for (const Register& r : e.held) w.pending[r.number] = 1;
  if (!w.block.conduct.late_products) compute(w, product);
  w.products.push_back(product);
  BlockResult& result = w.block.result;
  ++result.warp_operations[static_cast<std::size_t>(WarpOperation::matrices)];
  const std::uint64_t flops = std::uint64_t{2} * rows * e.columns * e.depth;
  result.warpgroup_flops[static_cast<std::size_t>(e.tensor)] += flops;
  w.awaited_products.start(e.tensor, flops);
}

void fence(Warp& w, const Op&, Mask) { w.fenced_at = w.clock; }
void commit(Warp& w, const Op&, Mask) {
  ++w.product_groups;
  w.awaited_products.commit(w.fma_steps);
}
void mark_pending(Warp& w, const Warp::Product& product, char pending) {
  const Extra& e = *product.op->extra;
  for (const auto* list : {&e.sums, &e.held}) {
    for (const Register& r : *list) w.pending[r.number] = pending;
  }
}
void wait(Warp& w, const Op& op, Mask) {
  const auto left = static_cast<std::uint64_t>(op.offset);
  w.awaited_products.wait(static_cast<unsigned>(left), w.fma_steps, w.block.result);
  const auto is_waited_for = [&](const Warp::Product& p) {
    return p.group + left < w.product_groups;
  };
  for (Warp::Product& p : w.products) {
    if (!is_waited_for(p)) continue;
    if (!p.is_done) compute(w, p);
    mark_pending(w, p, 0);
  }
  std::erase_if(w.products, is_waited_for);
  for (const Warp::Product& p : w.products) mark_pending(w, p, 1);
}

struct Shape {
  std::string_view depth, sum, a;
  Type type, sum_type;
  Tensor tensor;
  // With a in shared memory: signs and, of 16 bits, directions behind the first four.
  std::size_t operands;
};
constexpr Shape shapes[] = {
    {"k16", "f32", "f16", Type::f16, Type::f32, Tensor::fp16, 8},
    {"k16", "f32", "bf16", Type::bf16, Type::f32, Tensor::bf16, 8},
    {"k8", "f32", "tf32", Type::tf32, Type::f32, Tensor::tf32, 6},
    {"k32", "f32", "e4m3", Type::e4m3, Type::f32, Tensor::fp8, 6},
    {"k32", "s32", "s8", Type::s8, Type::s32, Tensor::int8, 4},
};

int sign_of(Builder& b, std::size_t operand) {
  if (b.operand_count() <= operand) return 1;
  const auto sign = static_cast<std::int64_t>(b.operand(operand).bits);
  if (sign != 1 && sign != -1) b.refuse("has a sign that is neither 1 nor -1");
  return static_cast<int>(sign);
}

void build_multiply(Builder& b) {
  const auto& p = b.instruction().parts;
  if (p.size() != 8 || p[2] != "sync" || p[3] != "aligned" || !p[4].starts_with("m64n"))
    b.unknown();
  const std::size_t k = p[4].find('k');
  const Shape* shape = nullptr;
  for (const Shape& s : shapes) {
    if (p[4].substr(k) == s.depth && p[5] == s.sum && p[6] == s.a && p[7] == s.a) shape = &s;
  }
  if (shape == nullptr) b.unknown();
  b.accept_all_parts();
  // With a in registers, which has no direction.
  const bool holds_a = bytes_of(shape->type) == 2 && b.operand_count() == shape->operands - 1;
  if (!holds_a && b.operand_count() != shape->operands) b.unknown();
  Extra& extra = b.extra();
  extra.type = shape->type;
  extra.sum_type = shape->sum_type;
  extra.tensor = shape->tensor;
  extra.columns = static_cast<unsigned>(std::stoul(p[4].substr(4, k - 4)));
  extra.depth = 32 / bytes_of(shape->type);
  extra.sums = b.vector_of(b.operand(0), 4, true);
  if (extra.sums.size() != extra.columns / 2) b.refuse("has another number of registers");
  if (holds_a) {
    extra.held = b.vector_of(b.operand(1), 4, false);
    if (extra.held.size() != 4) b.refuse("has another number of registers");
    extra.sources = {b.source(b.operand(2), 8)};
  } else {
    extra.sources = {b.source(b.operand(1), 8), b.source(b.operand(2), 8)};
  }
  const Operand& adds = b.operand(3);
  extra.more = {b.source(adds, bytes_of(Type::pred))};
  extra.first_sign = sign_of(b, 4);
  extra.second_sign = sign_of(b, 5);
  if (!holds_a && b.operand_count() > 6 && b.operand(6).bits != 0) {
    b.refuse("has an a that does not lie along k");
  }
  extra.transposed =
      bytes_of(shape->type) == 2 && b.operand(shape->operands - (holds_a ? 2 : 1)).bits != 0;
  Op& op = b.add(&multiply);
  op.defines_itself = true;
  op.extra = &extra;
  b.uses_warpgroups();
}

void build(Builder& b) {
  const std::string& what = b.instruction().parts[1];
  if (what == "mma_async") return build_multiply(b);
  b.accept({what, "sync", "aligned"});
  if (what == "fence") {
    b.add(&fence).defines_itself = true;
  } else if (what == "commit_group") {
    b.add(&commit).defines_itself = true;
  } else if (what == "wait_group") {
    Op& op = b.add(&wait);
    op.defines_itself = true;
    op.offset = static_cast<std::int64_t>(b.operand(0).bits);
  } else {
    b.unknown();
  }
}

constexpr Opcode opcodes[] = {{"wgmma", &build}};

}  // namespace

std::span<const Opcode> warpgroup_opcodes() { return opcodes; }

}  // namespace gpubench::model::ptx
