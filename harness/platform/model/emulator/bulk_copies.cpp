#include "harness/platform/model/emulator/bulk_copies.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "harness/platform/model/emulator/host_code.hpp"
#include "harness/platform/model/emulator/shared_matrix.hpp"

namespace gpubench::model {

std::uint64_t BulkCopies::Box::from(std::uint32_t i) const {
  return of.address + (row + std::uint64_t{i}) * of.row_bytes +
         std::uint64_t{column} * of.element_bytes;
}

std::uint32_t BulkCopies::Box::bytes_there(std::uint32_t i) const {
  const std::uint64_t left = column < of.columns ? (of.columns - column) * of.element_bytes : 0;
  return row + i < of.rows ? static_cast<std::uint32_t>(std::min<std::uint64_t>(left, row_bytes))
                           : 0;
}

void BulkCopies::copy_box(void* to_shared, const void* map, unsigned column, unsigned row,
                          void* barrier, const void* code, Ranks ranks, Arrival arrival) {
  const HostCode host;
  Box box{{}, column, row, 0, reinterpret_cast<std::uint64_t>(to_shared)};
  std::memcpy(&box.of, map, sizeof box.of);
  const TensorMap& of = box.of;
  const auto refuse = [&](const char* why) {
    block_.fault(std::string("bulk copy of a box ") + why, code);
  };
  if (of.mark != TensorMap::made) refuse("by what is no tensor map");
  box.row_bytes = of.box_columns * of.element_bytes;
  const std::uint32_t span =
      of.swizzle == CU_TENSOR_MAP_SWIZZLE_NONE ? box.row_bytes : 16u << of.swizzle;
  if (box.row_bytes != span) {
    refuse("whose rows do not fill the swizzle's, which the model does not know");
  }
  const std::uint32_t bytes = of.box_rows * box.row_bytes;
  if (!block_.shared().holds(box.to) || !block_.shared().holds(box.to + bytes - 1)) {
    refuse("to what is not shared memory");
  }
  if (box.to % 128 != 0) refuse("to a misaligned address");
  const std::vector<Landing> landings =
      arrival == Arrival::in_even_block
          ? std::vector<Landing>{{this, 0, &mbarriers_.at_even(barrier, "bulk copy to", code)}}
          : landings_of(box.to, bytes, barrier, code, ranks);
  for (std::uint32_t i = 0; i < of.box_rows; ++i) bring_row(box, i, landings, code);
  for (std::size_t lands = 0; lands < landings.size(); ++lands) {
    for (std::uint32_t i = 0; i < of.box_rows; ++i) {
      record(EventKind::copied_to, box.to + i * box.row_bytes, box.row_bytes, code);
    }
  }
  arrive(landings, box.to, bytes, code);
}

void BulkCopies::bring_row(const Box& box, std::uint32_t i, const std::vector<Landing>& landings,
                           const void* code) {
  // The descriptor of wgmma counts the modes the other way round.
  const unsigned mode = box.of.swizzle == CU_TENSOR_MAP_SWIZZLE_NONE ? 0 : 4 - box.of.swizzle;
  const std::uint64_t from = box.from(i);
  const std::uint32_t there = box.bytes_there(i);
  if (there > 0) {
    const auto* source = reinterpret_cast<const std::byte*>(from);
    if (!block_.is_global(source)) {
      block_.fault("bulk copy of a box from what is not global memory", code);
    }
    block_.check_bounds(source, there, EventKind::copied_from, code);
  }
  for (std::uint32_t done = 0; done < box.row_bytes; done += 16) {
    const std::uint64_t place = swizzled(box.to + i * box.row_bytes + done, mode);
    block_.check_place(place, 16, EventKind::store, code);
    const std::uint32_t exists = done < there ? std::min(there - done, 16u) : 0;
    bring(landings, {place, from + done, exists, 16});
    for (std::uint32_t e = 0; block_.trace() != nullptr && e < exists;) {
      const std::uint32_t checked = exists == 16 ? 16 : box.of.element_bytes;
      block_.check_order(true, from + done + e, checked, EventKind::load, code);
      e += checked;
    }
  }
  // The engine's own requests: row by row.
  if (there > 0) record(EventKind::copied_from, from, there, code);
}

void BulkCopies::copy(void* to_shared, const void* from_global, std::size_t bytes, void* barrier,
                      const void* code, Ranks ranks) {
  const HostCode host;
  const auto to = reinterpret_cast<std::uint64_t>(to_shared);
  const auto from = reinterpret_cast<std::uint64_t>(from_global);
  const auto refuse = [&](const char* why) {
    block_.fault("bulk copy of " + std::to_string(bytes) + " bytes " + why, code);
  };
  const SharedMemory& shared = block_.shared();
  if (bytes == 0 || bytes % 16 != 0) refuse("(it takes multiples of 16)");
  if (!shared.holds(to) || !shared.holds(to + bytes - 1)) refuse("to what is not shared memory");
  if (to % 16 != 0) refuse("to a misaligned address");
  if (from % 16 != 0) refuse("from a misaligned address");
  if (!block_.is_global(from_global)) refuse("from what is not global memory");
  const std::vector<Landing> landings = landings_of(to, bytes, barrier, code, ranks);
  block_.check_bounds(from_global, bytes, EventKind::copied_from, code);
  for (std::size_t done = 0; done < bytes; done += 16) {
    block_.check_place(to + done, 16, EventKind::store, code);
  }
  bring(landings, {to, from, static_cast<std::uint32_t>(bytes), static_cast<std::uint32_t>(bytes)});
  bring_lines(to, from, bytes, landings.size(), code);
  arrive(landings, to, static_cast<unsigned>(bytes), code);
}

// The engine's own requests: line by line. It reads once, and writes to each block's shared memory,
// which all count as this block's.
void BulkCopies::bring_lines(std::uint64_t to, std::uint64_t from, std::size_t bytes,
                             std::size_t landings, const void* code) {
  if (block_.trace() == nullptr) return;
  for (std::size_t done = 0; done < bytes; done += 16) {
    block_.check_order(true, from + done, 16, EventKind::load, code);
  }
  constexpr std::uint64_t line = 128;
  const auto record_lines = [&](EventKind kind, std::uint64_t address) {
    for (std::uint64_t done = 0; done < bytes;) {
      const std::uint64_t piece = std::min(bytes - done, line - (from + done) % line);
      record(kind, address + done, piece, code);
      done += piece;
    }
  };
  record_lines(EventKind::copied_from, from);
  for (std::size_t lands = 0; lands < landings; ++lands) record_lines(EventKind::copied_to, to);
}

void BulkCopies::record(EventKind kind, std::uint64_t address, std::uint64_t bytes,
                        const void* code) {
  LaneTrace* const trace = block_.trace();
  if (trace == nullptr) return;
  trace->events.push(make_event(code, kind, static_cast<unsigned>(bytes)));
  trace->addresses.push(address);
}

void BulkCopies::arrive_here(Mbarrier& barrier, std::uint64_t to, unsigned bytes,
                             const void* code) {
  if (block_.trace() != nullptr) {
    const AsyncCopy copy{.to = to,
                         .bytes = bytes,
                         .lane = block_.lanes().current(),
                         .code = code,
                         .barrier = &barrier,
                         .group = barrier.phase,
                         .arrives_in_peer = !mbarriers_.is_own(barrier)};
    reads_.replace(copy);
    block_.note_copy(copy);
  }
  if (!mbarriers_.is_own(barrier)) barrier.others_arrive = true;
  set_out(barrier, bytes);
}

// The copy lands, or will.
void BulkCopies::set_out(Mbarrier& barrier, unsigned bytes) {
  if (block_.ordering().late_bulk_copies) {
    late_copies_.push_back({&barrier, bytes, std::exchange(late_pieces_, {})});
    return;
  }
  mbarriers_.bring(barrier, bytes);
}

}  // namespace gpubench::model
