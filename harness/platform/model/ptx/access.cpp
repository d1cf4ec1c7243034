#include "harness/platform/model/ptx/access.hpp"

namespace gpubench::model::ptx {

Addresses addresses_of(Warp& w, const Op& op, Mask mask) {
  w.require(op.an, mask, "an address");
  Addresses all;
  const auto offset = static_cast<std::uint64_t>(op.offset);
  if (op.extra->address_bytes == 4) {
    const auto* const a = w.row<std::uint32_t>(op.a);
    for (unsigned i = 0; i < lanes; ++i) all[i] = static_cast<std::uint32_t>(a[i] + offset);
  } else {
    const auto* const a = w.row<std::uint64_t>(op.a);
    for (unsigned i = 0; i < lanes; ++i) all[i] = a[i] + offset;
  }
  return all;
}

std::uint64_t operand_of(Warp& w, const Register& r, unsigned lane) {
  w.require(r.number, Mask{1} << lane, "an operand");
  return w.value(r, lane);
}

void note_access(Warp& w, const Op& op, Space space, EventKind kind, unsigned bytes, Mask mask,
                 const Addresses& addresses, Mask host) {
  if (!w.block.is_traced || space == Space::local || space == Space::parameter ||
      space == Space::cluster || space == Space::constant) {
    return;
  }
  if (space == Space::shared) {
    Addresses generic = addresses;
    for (std::uint64_t& a : generic) a += shared_window;
    w.note(kind, bytes, mask, generic.data(), op);
    return;
  }
  const auto of_host = static_cast<std::uint64_t>(std::popcount(host)) * bytes;
  (kind == EventKind::load ? w.block.result.host_bytes_read : w.block.result.host_bytes_written) +=
      of_host;
  if ((mask & ~host) != 0) w.note(kind, bytes, mask & ~host, addresses.data(), op);
}

void note_remote_access(Warp& w, const Op& op, EventKind kind, unsigned bytes, Mask mask,
                        const Addresses& generic) {
  const bool may_be = w.block.is_traced && w.block.launch().cluster > 1;
  if (!may_be || op.extra->space != Space::generic) return;
  Mask remote = 0;
  for_lanes(mask, [&](unsigned i) { remote |= Mask{is_of_cluster(generic[i])} << i; });
  if (remote != 0) w.note(kind, bytes, remote, generic.data(), op);
}

std::optional<model::Space> counted_space(Space space) {
  switch (space) {
    case Space::global:
      return model::Space::global;
    case Space::shared:
      return model::Space::shared;
    case Space::cluster:
      return model::Space::remote;
    default:
      return std::nullopt;
  }
}

namespace {

struct SpaceName {
  std::string_view name;
  Space space;
};
constexpr SpaceName space_names[] = {
    {"global", Space::global}, {"shared", Space::shared},   {"shared::cta", Space::shared},
    {"local", Space::local},   {"param", Space::parameter}, {"const", Space::constant},
};
}  // namespace

Space space_of(Builder& b) {
  for (const SpaceName& s : space_names) {
    if (!b.has(s.name)) continue;
    const bool may_be_module_data = s.space == Space::constant || s.space == Space::global;
    return may_be_module_data && b.has_module_data() ? Space::generic : s.space;
  }
  return Space::generic;
}
namespace {
Op& with_address(Builder& b, Op& op, const Operand& address, Extra& extra) {
  op.defines_itself = true;
  op.extra = &extra;
  const Register a = b.address(address, extra.space, op.offset);
  extra.address_bytes = a.bytes;
  Builder::set_a(op, a);
  return op;
}
}  // namespace

Op& add_access(Builder& b, Handler run, const Operand& address, Extra& extra) {
  return with_address(b, b.add(run), address, extra);
}
Op& add_waiting_access(Builder& b, Waiter wait, const Operand& address, Extra& extra) {
  return with_address(b, b.add_waiting(wait), address, extra);
}

bool is_grid_barrier(const Addresses& addresses, Mask mask) {
  const std::uint64_t first = addresses[static_cast<std::size_t>(std::countr_zero(mask))];
  return first >> 56 == grid_window >> 56;
}

}  // namespace gpubench::model::ptx
