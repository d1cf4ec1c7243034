// tcgen05: PTX ISA, "TensorCore 5th Generation Family Instructions", of one block (cta_group::1)
// and of two (cta_group::2), with both operands in shared memory and 128 rows of sums in each
// block.
#include <optional>
#include <string>

#include "harness/platform/model/ptx/access.hpp"
#include "harness/platform/model/ptx/block.hpp"
#include "harness/platform/model/ptx/cluster.hpp"
#include "harness/platform/model/ptx/handlers.hpp"
#include "harness/platform/model/ptx/tensor_operations.hpp"

namespace gpubench::model::ptx {
namespace {

using namespace tensor;

// What one thread asks for.
unsigned only_lane(Mask mask) {
  if (std::popcount(mask) != 1) {
    throw Fault{"tcgen05 that several threads ask for, each for all of it", mask};
  }
  return static_cast<unsigned>(std::countr_zero(mask));
}
std::uint64_t value_of(Warp& w, const Register& r, unsigned lane) {
  w.require(r.number, Mask{1} << lane, "an operand of tcgen05");
  return w.value(r, lane);
}

// --- products ---

// The instruction descriptor of kinds tf32, f16, f8f6f4 and i8.
struct Kind {
  std::string_view name;
  unsigned factors, sums;  // their numbers in it
  Type type, sum_type;
  Tensor tensor;
};
constexpr Kind kinds[] = {
    {"kind::f16", 0, 1, Type::f16, Type::f32, Tensor::fp16},
    {"kind::f16", 1, 1, Type::bf16, Type::f32, Tensor::bf16},
    {"kind::tf32", 2, 1, Type::tf32, Type::f32, Tensor::tf32},
    {"kind::f8f6f4", 0, 1, Type::e4m3, Type::f32, Tensor::fp8},
    {"kind::i8", 1, 2, Type::s8, Type::s32, Tensor::int8},
};
const Kind& described(std::string_view name, std::uint32_t bits) {
  const auto field = [&](unsigned low, unsigned width) {
    return bits >> low & ((1u << width) - 1);
  };
  if (field(0, 4) != 0 || field(13, 3) != 0 || field(29, 3) != 0 || field(6, 1) != 0 ||
      field(23, 1) != 0) {
    throw Fault{"tcgen05.mma that is sparse, saturates, negates, transposes a or shifts", 0};
  }
  if (field(16, 1) != 0 && name != "kind::f16") {
    throw Fault{"tcgen05.mma that transposes factors of other than 16 bits", 0};
  }
  for (const Kind& kind : kinds) {
    if (kind.name == name && kind.sums == field(4, 2) && kind.factors == field(7, 3) &&
        kind.factors == field(10, 3)) {
      return kind;
    }
  }
  throw Fault{"tcgen05.mma of types that its " + std::string(name) + " does not have here", 0};
}

// A product as its operands name it, by the thread that asks for it. What its descriptor says of
// factors and scales is left to whoever knows its kind.
struct Asked {
  unsigned lane;
  std::uint32_t descriptor;
  TensorUnit::Product product;
};
Asked asked_of(Warp& w, const Op& op, Mask mask) {
  const Extra& e = *op.extra;
  const unsigned lane = only_lane(mask);
  require_fence(w, mask);
  w.block.tensors.require_group(e.group);
  const auto d = static_cast<std::uint32_t>(value_of(w, e.sources[0], lane) +
                                            static_cast<std::uint64_t>(e.barrier_offset));
  const auto bits = static_cast<std::uint32_t>(value_of(w, e.sources[3], lane));
  const unsigned rows = (bits >> 24 & 31) * 16, columns = (bits >> 17 & 63) * 8;
  if (rows != e.group * TensorUnit::rows || columns == 0 || columns % (e.group * 16) != 0 ||
      columns > 256) {
    throw Fault{"tcgen05.mma of " + std::to_string(rows) + " x " + std::to_string(columns) +
                    " sums, which the model does not know",
                0};
  }
  if (d >> 16 != 0) throw Fault{"tcgen05.mma to a lane that is not the first", 0};
  w.require(e.more[0].number, mask, "an operand of tcgen05");
  const bool adds = (w.predicate(e.more[0].offset) & mask) != 0;
  return {lane,
          bits,
          {.d = d,
           .a = value_of(w, e.sources[1], lane),
           .b = value_of(w, e.sources[2], lane),
           .columns = columns,
           .adds = adds,
           .is_pairs = e.group == 2}};
}

void carry_out(Warp& w, const Asked& asked, Tensor tensor, unsigned depth) {
  const TensorUnit::Product& product = asked.product;
  Block& block = w.block;
  block.tensors.multiply(w.number * lanes + asked.lane, product);
  ++block.result.warp_operations[static_cast<std::size_t>(WarpOperation::matrices)];
  const std::uint64_t flops = std::uint64_t{2} * TensorUnit::rows * product.columns * depth;
  block.result.warpgroup_flops[static_cast<std::size_t>(tensor)] += flops;
  if (!product.is_pairs) return;
  // Each block's Tensor Cores make their own rows.
  BlockResult& other = block.cluster.block(block.ordinal ^ 1).result;
  other.warpgroup_flops[static_cast<std::size_t>(tensor)] += flops;
}

void require_columns_of_a(Warp& w, std::uint64_t address) {
  constexpr unsigned count = 8;
  if (address >> 16 != 0) throw Fault{"tcgen05.mma of an a in a lane that is not the first", 0};
  w.block.tensors.require_allocated(static_cast<unsigned>(address), count);
}

void multiply(Warp& w, const Op& op, Mask mask) {
  Asked asked = asked_of(w, op, mask);
  const Kind& kind = described(kinds[op.extra->rows].name, asked.descriptor);
  asked.product.type = kind.type;
  asked.product.sum_type = kind.sum_type;
  asked.product.a_is_in_columns = op.extra->columns_of_a;
  asked.product.a += op.extra->a_offset;
  asked.product.b_is_across = (asked.descriptor >> 16 & 1) != 0;
  if (asked.product.is_pairs && (asked.product.a_is_in_columns || asked.product.b_is_across)) {
    throw Fault{"tcgen05.mma of two blocks with an operand across k or in tensor memory", 0};
  }
  if (asked.product.a_is_in_columns) require_columns_of_a(w, asked.product.a);
  carry_out(w, asked, kind.tensor, 32 / bytes_of(kind.type));
}

// The instruction descriptor of kinds with block scales.
struct ScaledKind {
  std::string_view name, vector;
  unsigned factors, powers;  // their numbers in it
  unsigned bits;             // of a factor
  Tensor tensor;
};
constexpr ScaledKind scaled_kinds[] = {
    {"kind::mxf8f6f4", "scale_vec::1X", 0, 1, 8, Tensor::mxfp8},
    {"kind::mxf4nvf4", "scale_vec::4X", 1, 0, 4, Tensor::nvfp4},
};

// Where the scales are that a register and an offset name, in the first lane.
std::uint32_t scales_at(Warp& w, const Register& r, unsigned lane, unsigned count) {
  const auto address = static_cast<std::uint32_t>(value_of(w, r, lane));
  if (address >> 16 != 0) throw Fault{"tcgen05.mma by scales that begin in another lane", 0};
  w.block.tensors.require_allocated(address & 0xffff, (count + lanes - 1) / lanes);
  return address;
}

void multiply_scaled(Warp& w, const Op& op, Mask mask) {
  const Extra& e = *op.extra;
  Asked asked = asked_of(w, op, mask);
  const auto field = [&](unsigned low, unsigned width) {
    return asked.descriptor >> low & ((1u << width) - 1);
  };
  const ScaledKind& kind = scaled_kinds[e.rows];
  if (field(0, 4) != 0 || field(6, 1) != 0 || field(13, 4) != 0 || field(31, 1) != 0) {
    throw Fault{"tcgen05.mma that is sparse, negates, transposes or is longer along k", 0};
  }
  if (field(7, 3) != kind.factors || field(10, 3) != kind.factors || field(23, 1) != kind.powers) {
    throw Fault{"tcgen05.mma of types that its " + std::string(kind.name) + " does not have here",
                0};
  }
  if (kind.bits == 4 && (field(4, 2) != 0 || field(29, 2) != 0)) {
    throw Fault{"tcgen05.mma by four scales that do not begin with the first byte", 0};
  }
  TensorUnit::Product& product = asked.product;
  product.scaled_bits = kind.bits;
  product.scales_a = scales_at(w, e.sources[4], asked.lane, TensorUnit::rows);
  product.scales_b = scales_at(w, e.sources[5], asked.lane, product.columns);
  product.byte_a = field(29, 2);
  product.byte_b = field(4, 2);
  carry_out(w, asked, kind.tensor, 256 / kind.bits);
}

void copy(Warp& w, const Op& op, Mask mask) {
  const Extra& e = *op.extra;
  const unsigned lane = only_lane(mask);
  require_fence(w, mask);
  w.block.tensors.require_group(e.group);
  const auto to = static_cast<std::uint32_t>(value_of(w, e.sources[0], lane) +
                                             static_cast<std::uint64_t>(e.barrier_offset));
  if (to >> 16 != 0) throw Fault{"tcgen05.cp to a lane that is not the first", 0};
  w.block.tensors.copy(w.number * lanes + lane,
                       {to, value_of(w, e.sources[1], lane), e.group == 2});
}

void commit(Warp& w, const Op& op, Mask mask) {
  const unsigned lane = only_lane(mask);
  w.block.tensors.require_group(op.extra->group);
  std::optional<std::uint16_t> ranks;
  for (const Register& r : op.extra->more) {
    ranks = static_cast<std::uint16_t>(value_of(w, r, lane));
  }
  w.block.tensors.commit(w.number * lanes + lane, addresses_of(w, op, mask)[lane], ranks);
}

void fence_before(Warp& w, const Op&, Mask mask) { w.owes_tensor_fence &= ~mask; }
void fence_after(Warp& w, const Op&, Mask mask) { w.lacks_tensor_fence &= ~mask; }

// --- builders ---

// "tcgen05.mma.GROUP.KIND.block_scale.VECTOR [d], a, b, descriptor, [scales of a], [of b], p"
void build_scaled_multiply(Builder& b) {
  const Instruction& i = b.instruction();
  Extra& extra = b.extra();
  extra.group = group_of(b);
  const auto* const kind = std::ranges::find_if(scaled_kinds, [&](const ScaledKind& k) {
    return is(b, {"tcgen05", "mma", i.parts[2], k.name, "block_scale", k.vector});
  });
  if (kind == std::end(scaled_kinds) || b.operand_count() != 7) b.unknown();
  extra.rows = static_cast<unsigned>(kind - std::begin(scaled_kinds));
  if (b.operand(1).kind == Operand::Kind::address) b.refuse("has an a in tensor memory");
  const auto place = [&](std::size_t operand) {
    std::int64_t offset = 0;
    const Register r = b.address(b.operand(operand), Space::shared, offset);
    if (offset != 0) b.refuse("adds to an address in tensor memory");
    return r;
  };
  const Operand& adds = b.operand(6);
  extra.sources = {place(0),
                   b.source(b.operand(1), 8),
                   b.source(b.operand(2), 8),
                   b.source(b.operand(3), 4),
                   place(4),
                   place(5)};
  extra.more = {b.source(adds, bytes_of(Type::pred))};
  add(b, &multiply_scaled, extra);
}

void build_multiply(Builder& b) {
  const Instruction& i = b.instruction();
  if (b.has("block_scale")) return build_scaled_multiply(b);
  Extra& extra = b.extra();
  extra.group = group_of(b);
  const auto known = [&](const Kind& k) { return is(b, {"tcgen05", "mma", i.parts[2], k.name}); };
  const auto kind = std::ranges::find_if(kinds, known);
  if (kind == std::end(kinds) || b.operand_count() != 5) b.unknown();
  extra.rows = static_cast<unsigned>(kind - std::begin(kinds));
  const bool a_is_in_columns = b.operand(1).kind == Operand::Kind::address;
  if (a_is_in_columns && kind->name != "kind::f16") {
    b.refuse("has an a in tensor memory of other than 16 bits");
  }
  const Operand& adds = b.operand(4);
  std::int64_t a_offset = 0;
  extra.sources = {b.address(b.operand(0), Space::shared, extra.barrier_offset),
                   a_is_in_columns ? b.address(b.operand(1), Space::shared, a_offset)
                                   : b.source(b.operand(1), 8),
                   b.source(b.operand(2), 8), b.source(b.operand(3), 4)};
  extra.columns_of_a = a_is_in_columns;
  extra.a_offset = static_cast<unsigned>(a_offset);
  extra.more = {b.source(adds, bytes_of(Type::pred))};
  add(b, &multiply, extra);
}

// An address in shared memory, which the operation has as any access has.
void build_with_address(Builder& b, Handler run, Extra& extra) {
  extra.space = Space::shared;
  add_access(b, run, b.operand(0), extra);
}

void build_commit(Builder& b) {
  const Instruction& i = b.instruction();
  Extra& extra = b.extra();
  extra.group = group_of(b);
  const std::string& group = i.parts[2];
  const bool is_multicast =
      extra.group == 2 && is(b, {"tcgen05", "commit", group, "mbarrier::arrive::one",
                                 "shared::cluster", "multicast::cluster", "b64"});
  if (!is_multicast &&
      !is(b, {"tcgen05", "commit", group, "mbarrier::arrive::one", "shared::cluster", "b64"})) {
    b.unknown();
  }
  if (is_multicast) extra.more = {b.source(b.operand(1), 2)};
  build_with_address(b, &commit, extra);
}

void build_copy(Builder& b) {
  const Instruction& i = b.instruction();
  Extra& extra = b.extra();
  extra.group = group_of(b);
  if (!is(b, {"tcgen05", "cp", i.parts[2], "32x128b", "warpx4"})) b.unknown();
  extra.sources = {b.address(b.operand(0), Space::shared, extra.barrier_offset),
                   b.source(b.operand(1), 8)};
  add(b, &copy, extra);
}

void build(Builder& b) {
  const Instruction& i = b.instruction();
  Extra& extra = b.extra();
  const std::string& what = i.parts[1];
  if (what == "mma") return build_multiply(b);
  if (what == "ld" || what == "st" || what.starts_with("wait::")) return build_transfer(b);
  if (what == "commit") return build_commit(b);
  if (is(b, {"tcgen05", "fence::before_thread_sync"})) {
    add(b, &fence_before, extra);
  } else if (is(b, {"tcgen05", "fence::after_thread_sync"})) {
    add(b, &fence_after, extra);
  } else if (what == "cp") {
    build_copy(b);
  } else {
    build_allocation(b);
  }
}

constexpr Opcode opcodes[] = {{"tcgen05", &build}};

}  // namespace

std::span<const Opcode> tensor_memory_opcodes() { return opcodes; }

}  // namespace gpubench::model::ptx
