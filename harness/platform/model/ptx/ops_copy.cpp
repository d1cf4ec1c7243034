// Asynchronous copies by threads: PTX ISA, "cp.async".
#include "harness/platform/model/ptx/access.hpp"
#include "harness/platform/model/ptx/handlers.hpp"

namespace gpubench::model::ptx {
void build_bulk_copy(Builder& b);  // ops_bulk_copy.cpp

namespace {

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
  if (i.has("bulk")) return build_bulk_copy(b);
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

constexpr Opcode opcodes[] = {{"cp", &copy}};

}  // namespace

std::span<const Opcode> copy_opcodes() { return opcodes; }

}  // namespace gpubench::model::ptx
