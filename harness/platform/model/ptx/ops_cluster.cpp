// What a cluster's blocks do together: PTX ISA, "barrier.cluster", "mapa".
#include "harness/platform/model/ptx/cluster.hpp"
#include "harness/platform/model/ptx/handlers.hpp"
#include "harness/platform/model/ptx/windows.hpp"

namespace gpubench::model::ptx {
namespace {

void arrive(Warp& w, const Op&, Mask mask) {
  w.note_telling(mask);
  w.block.cluster.arrive(w, mask);
}
bool wait(Warp& w, const Op&, Mask mask) {
  w.note_told(mask);
  return w.block.cluster.wait(w, mask);
}

void map_address(Warp& w, const Op& op, Mask mask) {
  w.require(op.an, mask, "an address");
  w.require(op.bn, mask, "a block's rank");
  const auto* const a = w.row<std::uint64_t>(op.a);
  const auto* const b = w.row<std::uint32_t>(op.b);
  auto* const d = w.row<std::uint64_t>(op.d);
  for_lanes(mask, [&](unsigned i) {
    const Mask me = Mask{1} << i;
    if ((a[i] & ~(window_bytes - 1)) != shared_window) {
      throw Fault{"an address that is not in the block's own shared memory", me};
    }
    if (b[i] >= w.block.launch().cluster) throw Fault{"a rank beyond the cluster", me};
    d[i] =
        b[i] == w.block.rank() ? a[i] : cluster_window + b[i] * window_bytes + a[i] % window_bytes;
  });
}

// Makes an address in the block's own shared memory one of shared::cluster.
void map_shared_address(Warp& w, const Op& op, Mask mask) {
  w.require(op.an, mask, "an address");
  w.require(op.bn, mask, "a block's rank");
  const auto* const a = w.row<std::uint32_t>(op.a);
  const auto* const b = w.row<std::uint32_t>(op.b);
  auto* const d = w.row<std::uint32_t>(op.d);
  for_lanes(mask, [&](unsigned i) {
    const Mask me = Mask{1} << i;
    if (a[i] >> cluster_rank_bit != 0) {
      throw Fault{"an address that is not in the block's own shared memory", me};
    }
    if (b[i] >= w.block.launch().cluster) throw Fault{"a rank beyond the cluster", me};
    d[i] = b[i] == w.block.rank() ? a[i] : (b[i] + 1) << cluster_rank_bit | a[i];
  });
}

void build_map(Builder& b) {
  const auto& parts = b.instruction().parts;
  if (b.type() == Type::u32 && parts.size() == 3 && parts[1] == "shared::cluster") {
    b.accept_all_parts();
    const unsigned sources[] = {4, 4};
    b.add_simple(&map_shared_address, 4, sources);
    return;
  }
  if (b.type() != Type::u64 || parts.size() != 2) b.unknown();
  const unsigned sources[] = {8, 4};
  b.add_simple(&map_address, 8, sources);
}

constexpr Opcode opcodes[] = {{"mapa", &build_map}};

}  // namespace

void build_cluster_barrier(Builder& b) {
  if (!b.has("aligned")) b.unknown();
  b.accept({"acquire", "release"});
  if (b.has("arrive")) {
    b.add(&arrive);
  } else if (b.has("wait")) {
    b.add_waiting(&wait);
  } else {
    b.unknown();
  }
}

std::span<const Opcode> cluster_opcodes() { return opcodes; }

}  // namespace gpubench::model::ptx
