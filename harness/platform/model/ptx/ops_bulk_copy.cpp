// Bulk copies: PTX ISA, "cp.async.bulk", "cp.async.bulk.tensor".
#include <algorithm>
#include <bit>
#include <cstring>

#include "harness/platform/model/memory/tensor_map.hpp"
#include "harness/platform/model/ptx/access.hpp"
#include "harness/platform/model/ptx/cluster.hpp"
#include "harness/platform/model/ptx/handlers.hpp"

namespace gpubench::model::ptx {
namespace {

// The blocks of the cluster that a copy lands in, a bit each: as it says, or its own alone.
std::uint32_t ranks_of(Warp& w, const Extra& e, unsigned lane) {
  return e.more.empty() ? 1u << w.block.rank()
                        : static_cast<std::uint32_t>(operand_of(w, e.more[0], lane)) & 0xFFFF;
}

void copy_to(Warp& w, std::uint32_t ranks, const std::vector<AsyncUnit::Piece>& pieces,
             std::uint64_t barrier, std::int64_t bytes) {
  const auto check = [](bool right, const char* wrong) {
    if (!right) throw Fault{std::string("bulk copy to ") + wrong, 0};
  };
  Cluster& cluster = w.block.cluster;
  const unsigned blocks = w.block.launch().cluster;
  check(ranks != 0, "no block");
  check(ranks >> blocks == 0, "blocks beyond the cluster");
  for (unsigned rank = 0; rank < blocks; ++rank) {
    if ((ranks >> rank & 1) == 0) continue;
    if (rank == w.block.rank()) {
      w.block.async.copy_bulk(pieces, barrier, bytes, w.block.async, false);
      continue;
    }
    check(cluster.has_met(w.block), "a block that need not have begun");
    check(cluster.block(rank).live_threads() > 0, "a block that has ended");
    AsyncUnit& there = cluster.block(rank).async;
    there.copy_bulk(pieces, barrier, bytes, there, true);
  }
}

// The engine's requests, by lines of 128 bytes of what it reads: no lane's. It reads once, however
// many blocks it writes to, which all count as this one.
void note_pieces(Warp& w, const Op& op, unsigned lane, std::uint64_t to, std::uint64_t from,
                 std::uint64_t bytes, int landings) {
  constexpr std::uint64_t line = 128;
  Addresses at{};
  const auto note = [&](EventKind kind, std::uint64_t begin) {
    for (std::uint64_t done = 0; done < bytes;) {
      const std::uint64_t piece = std::min(bytes - done, line - (from + done) % line);
      at[lane] = begin + done;
      w.note(kind, static_cast<unsigned>(piece), Mask{1} << lane, at.data(), op);
      done += piece;
    }
  };
  note(EventKind::copied_from, from);
  for (int i = 0; i < landings; ++i) note(EventKind::copied_to, to + shared_window);
}

void copy_bulk(Warp& w, const Op& op, Mask mask) {
  const Extra& e = *op.extra;
  const Addresses to = addresses_of(w, op, mask);
  for_lanes(mask, [&](unsigned i) {
    const std::uint64_t from = operand_of(w, e.sources[0], i) + e.mask;
    const auto bytes = static_cast<std::uint32_t>(operand_of(w, e.sources[1], i));
    const std::uint64_t barrier =
        operand_of(w, e.sources[2], i) + static_cast<std::uint64_t>(e.barrier_offset);
    if (bytes == 0 || bytes % 16 != 0 || from % 16 != 0 || to[i] % 16 != 0) {
      throw Fault{"bulk copy of " + std::to_string(bytes) +
                      " bytes whose size or addresses are no multiples of 16",
                  Mask{1} << i};
    }
    const std::byte* const source = w.block.memory.global_piece(from, bytes);
    const std::uint32_t ranks = ranks_of(w, e, i);
    copy_to(w, ranks, {{to[i], source, bytes}}, barrier, bytes);
    if (w.block.is_traced) note_pieces(w, op, i, to[i], from, bytes, std::popcount(ranks));
  });
}

TensorMap tensor_map(Warp& w, std::uint64_t address) {
  TensorMap map;
  const std::uint64_t within = address - parameter_window;
  const auto& parameters = w.block.memory.parameters();
  if (within < parameters.size() && parameters.size() - within >= sizeof map) {
    std::memcpy(&map, parameters.data() + within, sizeof map);
  } else {
    std::memcpy(&map, w.block.memory.global_piece(address, sizeof map), sizeof map);
  }
  if (map.mark != TensorMap::made) throw Fault{"bulk copy by what is no tensor map", 0};
  return map;
}

// In which 16 bytes of its row a piece lies: bits 4 and up of the address, flipped by those from
// bit 7 on (PTX ISA, "Swizzling modes").
std::uint64_t swizzled(std::uint64_t address, std::uint32_t span) {
  return address ^ (address >> 3 & (span - 1) & ~std::uint64_t{15});
}

void copy_box_of(Warp& w, const Op& op, unsigned lane, std::uint64_t to) {
  const Extra& e = *op.extra;
  const TensorMap map = tensor_map(w, operand_of(w, e.sources[0], lane));
  const auto column = static_cast<std::int32_t>(operand_of(w, e.sources[1], lane));
  const auto row = static_cast<std::int32_t>(operand_of(w, e.sources[2], lane));
  const std::uint64_t barrier =
      operand_of(w, e.sources[3], lane) + static_cast<std::uint64_t>(e.barrier_offset);
  const std::uint32_t row_bytes = map.box_columns * map.element_bytes;
  const bool swizzles = map.swizzle != CU_TENSOR_MAP_SWIZZLE_NONE;
  const std::uint32_t span = swizzles ? 16u << map.swizzle : row_bytes;
  if (row_bytes != span) throw Fault{"box whose rows do not fill their swizzle", 0};
  if (to % 128 != 0) throw Fault{"box to an address that is no multiple of 128", 0};
  std::vector<AsyncUnit::Piece> pieces;
  Addresses at{};
  for (std::uint32_t r = 0; r < map.box_rows; ++r) {
    const std::int64_t of_matrix = std::int64_t{row} + r;
    const bool exists = of_matrix >= 0 && of_matrix < static_cast<std::int64_t>(map.rows);
    const std::int64_t left = static_cast<std::int64_t>(map.columns) - column;
    if (column < 0) throw Fault{"box that begins before its matrix", 0};
    const auto there = static_cast<std::uint32_t>(
        exists ? std::clamp<std::int64_t>(left * map.element_bytes, 0, row_bytes) : 0);
    const std::uint64_t from = map.address + static_cast<std::uint64_t>(of_matrix) * map.row_bytes +
                               static_cast<std::uint64_t>(column) * map.element_bytes;
    const std::byte* const source = there > 0 ? w.block.memory.global_piece(from, there) : nullptr;
    for (std::uint32_t done = 0; done < row_bytes; done += 16) {
      const std::uint64_t straight = to + std::uint64_t{r} * row_bytes + done;
      const std::uint64_t place = swizzles ? swizzled(straight, span) : straight;
      const std::uint32_t real = std::min(16u, there - std::min(there, done));
      pieces.push_back({place, real > 0 ? source + done : nullptr, 16, real});
    }
    if (w.block.is_traced && there > 0) {
      at[lane] = from;
      w.note(EventKind::copied_from, there, Mask{1} << lane, at.data(), op);
    }
  }
  const std::uint32_t ranks = ranks_of(w, e, lane);
  const int noted = w.block.is_traced ? std::popcount(ranks) : 0;
  for (std::uint32_t r = 0; r < static_cast<unsigned>(noted) * map.box_rows; ++r) {
    at[lane] = to + shared_window + std::uint64_t{r % map.box_rows} * row_bytes;
    w.note(EventKind::copied_to, row_bytes, Mask{1} << lane, at.data(), op);
  }
  const std::int64_t bytes = std::int64_t{map.box_rows} * row_bytes;
  if (e.group == 1) return copy_to(w, ranks, pieces, barrier, bytes);
  // To this block; the mbarrier may be the pair's other one's.
  const Cluster::Place arrives = w.block.cluster.place_of(w.block, barrier);
  if ((arrives.block->rank() ^ w.block.rank()) > 1) {
    throw Fault{"bulk copy of cta_group::2 that arrives in a block that is not of the pair", 0};
  }
  w.block.async.copy_bulk(pieces, arrives.address, bytes, arrives.block->async,
                          arrives.block != &w.block);
}
void copy_box(Warp& w, const Op& op, Mask mask) {
  const Addresses to = addresses_of(w, op, mask);
  for_lanes(mask, [&](unsigned i) { copy_box_of(w, op, i, to[i]); });
}

}  // namespace

// "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [to], [from], bytes,
// [barrier]" and "... .tensor.2d ... [to], [map, {column, row}], [barrier]"; with a mask of ranks
// behind them, ".multicast::cluster"; with an mbarrier of either block of a pair, ".cta_group::2".
void build_bulk_copy(Builder& b) {
  const bool is_box = b.has("tensor");
  const bool to_shared = (b.has("shared::cluster") || b.has("shared::cta")) &&
                         b.has("mbarrier::complete_tx::bytes") && b.has("global");
  const bool is_multicast = b.has("multicast::cluster");
  const std::size_t operands = (is_box ? 3 : 4) + std::size_t{is_multicast};
  if (!to_shared || b.operand_count() != operands) b.unknown();
  const bool is_pairs = b.has("cta_group::2");
  if (is_pairs && (!is_box || is_multicast)) b.unknown();
  if (is_box && (!b.has("2d") || !b.has("tile"))) b.unknown();
  Extra& extra = b.extra();
  extra.space = Space::shared;
  extra.group = is_pairs ? 2 : 1;
  Op& op = b.add(is_box ? &copy_box : &copy_bulk);
  op.defines_itself = true;
  op.extra = &extra;
  const Register to = b.address(b.operand(0), Space::shared, op.offset);
  extra.address_bytes = to.bytes;
  Builder::set_a(op, to);
  std::int64_t offset = 0;
  if (is_box) {
    const Operand& from = b.operand(1);
    if (from.elements.size() != 2 || from.elements[1].elements.size() != 2) b.unknown();
    extra.sources = {b.source(from.elements[0], 8), b.source(from.elements[1].elements[0], 4),
                     b.source(from.elements[1].elements[1], 4)};
  } else {
    extra.sources = {b.address(b.operand(1), Space::global, offset), b.source(b.operand(2), 4)};
    extra.mask = static_cast<std::uint64_t>(offset);
  }
  if (is_multicast) extra.more = {b.source(b.operand(operands - 1), 2)};
  extra.sources.push_back(
      b.address(b.operand(is_box ? 2 : 3), Space::shared, extra.barrier_offset));
}

}  // namespace gpubench::model::ptx
