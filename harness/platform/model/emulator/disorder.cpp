// Lanes, warps and bulk copies in the orders that a device may have them in, by the conditions.
#include <bit>
#include <cstring>
#include <utility>

#include "harness/contents/random.hpp"
#include "harness/platform/model/emulator/block_runner.hpp"

namespace gpubench::model {

// The first that is ready, or any.
unsigned BlockRunner::take_ready_lane(unsigned warp) {
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

void BlockRunner::shuffle_turns() {
  for (std::size_t left = turns_.size(); left > 1; --left) {
    std::swap(turns_[left - 1], turns_[random_bits(block_seed_, drawn_++) % left]);
  }
}

void BlockRunner::bring(std::uint64_t to, std::uint64_t from, std::uint32_t bytes,
                        std::uint32_t room) {
  const Piece piece{to, from, bytes, room};
  ordering_.late_bulk_copies ? late_pieces_.push_back(piece) : land(piece);
}

void BlockRunner::land(const Piece& piece) {
  auto* const target = reinterpret_cast<std::byte*>(piece.to);
  std::memcpy(target, reinterpret_cast<const std::byte*>(piece.from), piece.bytes);
  std::memset(target + piece.bytes, 0, piece.room - piece.bytes);
}

// Nobody can run: what somebody waits for lands, and nothing else. False: there is no such copy.
bool BlockRunner::land_late_copies() {
  const auto is_awaited = [this](const LateCopy& copy) {
    for (const Lane& lane : lanes_) {
      if (lane.state == LaneState::at_mbarrier && lane.value == copy.barrier->address) return true;
    }
    return false;
  };
  bool any = false;
  for (std::size_t i = 0; i < late_copies_.size();) {
    if (!is_awaited(late_copies_[i])) {
      ++i;
      continue;
    }
    const LateCopy landed = std::move(late_copies_[i]);
    late_copies_.erase(late_copies_.begin() + static_cast<std::ptrdiff_t>(i));
    for (const Piece& piece : landed.pieces) land(piece);
    landed.barrier->bytes -= static_cast<std::int64_t>(landed.bytes);
    end_phase(*landed.barrier);
    any = true;
  }
  return any;
}

}  // namespace gpubench::model
