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
  Mask ignored = 0;
  for (const Register& p : e.more) {
    w.require(p.number, mask, "a predicate");
    ignored = e.first_sign < 0 ? ~w.predicate(p.offset) : w.predicate(p.offset);
  }
  const auto* const from_row = w.row<std::uint64_t>(op.b);
  const auto* const exist_row = w.row<std::uint32_t>(op.c);
  Addresses from;
  std::array<unsigned, lanes> exist;
  for_lanes(mask, [&](unsigned i) {
    from[i] = from_row[i] + e.mask;
    exist[i] = ignored >> i & 1 ? 0 : exist_row[i];
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

// PTX ISA, "cp.async.wait_all": as commit_group and wait_group 0.
void wait_for_all(Warp& w, const Op&, Mask mask) { w.block.async.wait_for_all_copies(w, mask); }

// "cp.async.ca.shared.global [to], [from], bytes" and, behind that, how many of them exist or a
// predicate that none does.
void copy(Builder& b) {
  if (!b.has("async")) b.unknown();
  if (b.has("bulk")) return build_bulk_copy(b);
  if (b.has("commit_group")) {
    b.add(&commit_group);
  } else if (b.has("wait_all")) {
    b.add(&wait_for_all);
  } else if (b.has("wait_group")) {
    b.add(&wait_group).offset = static_cast<std::int64_t>(b.operand(0).bits);
  } else if ((b.has("shared") || b.has("shared::cta")) && b.has("global")) {
    b.accept({"ca", "L2::64B", "L2::128B", "L2::256B"});
    Extra& extra = b.extra();
    extra.space = Space::shared;
    extra.bytes = static_cast<unsigned>(b.operand(2).bits);
    if (extra.bytes != 4 && extra.bytes != 8 && extra.bytes != 16)
      b.refuse("copies 4, 8 or 16 bytes");
    if (b.has("cg") && extra.bytes != 16) b.refuse("copies 16 bytes with .cg");
    Op& op = add_access(b, &copy_async, b.operand(0), extra);
    std::int64_t from_offset = 0;
    Builder::set_b(op, b.address(b.operand(1), Space::global, from_offset));
    extra.mask = static_cast<std::uint64_t>(from_offset);
    Builder::set_c(op, b.constant(extra.bytes, 4));
    if (b.operand_count() == 3) return;
    if (b.is_predicate(b.operand(3))) {
      bool unless = false;
      extra.more = {b.negatable(b.operand(3), unless)};
      extra.first_sign = unless ? -1 : 1;
    } else {
      Builder::set_c(op, b.source(b.operand(3), 4));
    }
  } else {
    b.unknown();
  }
}

constexpr Opcode opcodes[] = {{"cp", &copy}};

}  // namespace

std::span<const Opcode> copy_opcodes() { return opcodes; }

}  // namespace gpubench::model::ptx
