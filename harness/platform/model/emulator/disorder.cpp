// Lanes, warps and bulk copies in the orders that a device may have them in, by the conditions.
#include <bit>
#include <cstring>
#include <utility>

#include "harness/contents/random.hpp"
#include "harness/platform/model/emulator/bulk_copies.hpp"
#include "harness/platform/model/emulator/lane_scheduler.hpp"

namespace gpubench::model {

// The first that is ready, or any.
unsigned LaneScheduler::take_ready_lane(unsigned warp) {
  std::uint32_t& ready = ready_[warp];
  std::uint32_t rest = ready;
  if (ordering_.random_warps) {
    const auto count = static_cast<unsigned>(std::popcount(rest));
    for (auto skip = random_bits(block_seed_, drawn_++) % count; skip > 0; --skip) rest &= rest - 1;
  }
  const auto lane = static_cast<unsigned>(std::countr_zero(rest));
  ready &= ~(1u << lane);
  return lane;
}

void LaneScheduler::shuffle_turns() {
  for (std::size_t left = turns_.size(); left > 1; --left) {
    std::swap(turns_[left - 1], turns_[random_bits(block_seed_, drawn_++) % left]);
  }
}

void BulkCopies::bring(const Piece& piece) {
  block_.ordering().late_bulk_copies ? late_pieces_.push_back(piece) : land(piece);
}

void BulkCopies::land(const Piece& piece) {
  auto* const target = reinterpret_cast<std::byte*>(piece.to);
  std::memcpy(target, reinterpret_cast<const std::byte*>(piece.from), piece.bytes);
  std::memset(target + piece.bytes, 0, piece.room - piece.bytes);
}

bool BulkCopies::land_late() {
  bool any = false;
  for (std::size_t i = 0; i < late_copies_.size();) {
    if (!mbarriers_.is_awaited(*late_copies_[i].barrier)) {
      ++i;
      continue;
    }
    const LateCopy landed = std::move(late_copies_[i]);
    late_copies_.erase(late_copies_.begin() + static_cast<std::ptrdiff_t>(i));
    for (const Piece& piece : landed.pieces) land(piece);
    mbarriers_.bring(*landed.barrier, landed.bytes);
    any = true;
  }
  return any;
}

}  // namespace gpubench::model
