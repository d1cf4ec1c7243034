#include "harness/platform/model/ptx/async.hpp"

#include <algorithm>
#include <utility>

#include "harness/platform/model/ptx/block.hpp"
#include "harness/platform/model/ptx/cluster.hpp"

namespace gpubench::model::ptx {

void AsyncUnit::begin(unsigned warps) {
  mbarriers_.clear();
  bulk_.clear();
  if (std::exchange(is_used_, false) || copying_.size() != warps) copying_.assign(warps, {});
  bulk_phases_ = bulk_phases_seen_ = vain_waits_ = 0;
}

// --- cp.async ---

void AsyncUnit::copy(Warp& warp, Mask mask, const Addresses& to, const Addresses& from,
                     unsigned bytes, const std::array<unsigned, lanes>& exist) {
  is_used_ = true;
  block_.cluster.waits().note_progress();
  WarpCopies& mine = copying_[warp.number];
  for_lanes(mask, [&](unsigned i) {
    LaneCopies& lane = mine.by_lane[i];
    block_.memory.shared_piece(to[i], bytes, bytes);
    if (from[i] % bytes != 0) throw Fault{"cp.async from a misaligned address", Mask{1} << i};
    const std::byte* const source =
        exist[i] == 0 ? nullptr : block_.memory.global_piece(from[i], exist[i]);
    const Copy copy{i, lane.commits, to[i], source, bytes, exist[i]};
    lane.has_open = lane.has_open || exist[i] > 0;
    if (block_.conduct.late_copies) {
      mine.pending.push_back(copy);
    } else {
      finish(copy);
    }
  });
}

void AsyncUnit::finish(const Copy& copy) {
  std::byte* const to = block_.memory.shared_piece(copy.to, copy.bytes, copy.bytes);
  if (copy.exist > 0) std::memcpy(to, copy.from, copy.exist);
  std::memset(to + copy.exist, 0, copy.bytes - copy.exist);
  block_.memory.note_written(copy.to, copy.bytes);
}

void AsyncUnit::commit_copies(Warp& warp, Mask mask) {
  is_used_ = true;
  for_lanes(mask, [&](unsigned i) {
    LaneCopies& lane = copying_[warp.number].by_lane[i];
    lane.groups = lane.groups << 1 | (std::exchange(lane.has_open, false) ? 1 : 0);
    lane.fmas_at_commit = warp.fma_steps;
    ++lane.commits;
  });
}

// A wait for n groups under way has seen n of n + 1 latencies pass (README.md, "Latency").
void AsyncUnit::wait_for_copies(Warp& warp, Mask mask, unsigned groups_left) {
  WarpCopies& mine = copying_[warp.number];
  std::erase_if(mine.pending, [&](const Copy& copy) {
    const bool waits = (mask >> copy.lane & 1) != 0 &&
                       std::uint64_t{copy.group} + groups_left < mine.by_lane[copy.lane].commits;
    if (waits) finish(copy);
    return waits;
  });
  for_lanes(mask, [&](unsigned i) {
    LaneCopies& lane = mine.by_lane[i];
    if (groups_left >= 64 || lane.groups >> groups_left == 0) return;
    const bool alone = groups_left == 0 && warp.fma_steps == lane.fmas_at_commit;
    (alone ? lane.waits.alone : lane.waits.beside) += 1 / static_cast<double>(groups_left + 1);
    lane.groups &= (std::uint64_t{1} << groups_left) - 1;
  });
}

void AsyncUnit::wait_for_all_copies(Warp& warp, Mask mask) {
  for_lanes(mask, [&](unsigned i) {
    LaneCopies& lane = copying_[warp.number].by_lane[i];
    // An empty group is nothing to have waited for.
    const std::uint64_t before = lane.fmas_at_commit;
    const bool is_empty = !lane.has_open;
    commit_copies(warp, Mask{1} << i);
    if (is_empty) lane.fmas_at_commit = before;
  });
  wait_for_copies(warp, mask, 0);
}

// --- mbarriers ---

AsyncUnit::Mbarrier& AsyncUnit::at(std::uint64_t barrier) {
  const auto found = mbarriers_.find(barrier);
  if (found == mbarriers_.end()) throw Fault{"use of an mbarrier that was not initialised", 0};
  return found->second;
}

void AsyncUnit::init(const Warp& warp, unsigned lane, std::uint64_t barrier, unsigned arrivals) {
  block_.memory.shared_piece(barrier, 8, 8);
  constexpr unsigned most = (1u << 20) - 1;  // PTX ISA, "Contents of the mbarrier object"
  if (arrivals == 0 || arrivals > most) {
    throw Fault{"mbarrier of " + std::to_string(arrivals) + " arrivals", 0};
  }
  const auto [place, is_new] = mbarriers_.try_emplace(
      barrier,
      Mbarrier{.arrivals = arrivals, .missing = arrivals, .warp = warp.number, .lane = lane});
  if (!is_new) throw Fault{"mbarrier that is initialised twice", 0};
  block_.memory.guarded.push_back(barrier);
}

void AsyncUnit::fence(const Warp& warp, Mask mask, Fence fence) {
  for (auto& [address, b] : mbarriers_) {
    if (b.warp != warp.number || (mask >> b.lane & 1) == 0) continue;
    if (fence == Fence::initialisation) {
      if (b.announced_after == 0) b.announced_after = 1 + block_.cluster.meetings(block_);
      continue;
    }
    b.is_known_to_block = true;
    b.is_known_to_cluster = b.is_known_to_cluster || fence == Fence::proxy_of_cluster;
  }
}

// PTX ISA, "fence": .mbarrier_init, which a barrier of the cluster must follow, and .proxy.async.
void AsyncUnit::require_known(const Mbarrier& barrier, Arrival by) const {
  if (by.is_others &&
      (barrier.announced_after == 0 || block_.cluster.meetings(block_) < barrier.announced_after)) {
    throw Fault{
        "arrival of another block at an mbarrier without fence.mbarrier_init and a barrier of the"
        " cluster behind its initialisation",
        0};
  }
  if (by.is_async && !(by.is_others ? barrier.is_known_to_cluster : barrier.is_known_to_block)) {
    throw Fault{std::string("asynchronous arrival ") + (by.is_others ? "of another block " : "") +
                    "at an mbarrier without fence.proxy.async behind its initialisation",
                0};
  }
}

void AsyncUnit::arrive(std::uint64_t barrier, unsigned times, Arrival by) {
  block_.cluster.waits().note_progress();
  Mbarrier& b = at(barrier);
  require_known(b, by);
  if (b.missing < times) {
    throw Fault{"more arrivals at an mbarrier in one phase than it was initialised with", 0};
  }
  b.missing -= times;
  b.others_arrive = b.others_arrive || by.is_others;
  end_phase(b);
}

void AsyncUnit::expect(const Warp& warp, std::uint64_t barrier, std::int64_t bytes) {
  Mbarrier& b = at(barrier);
  constexpr std::int64_t most = (1 << 20) - 1;
  b.bytes += bytes;
  if (b.bytes > most) throw Fault{"more bytes expected at an mbarrier than it can count", 0};
  b.brings_copies = bytes > 0;
  b.fmas_at_start = warp.fma_steps;
  if (bytes > 0) {
    b.beside = 0;
    const std::uint32_t beside = bulk_phases_++ - bulk_phases_seen_;
    for (auto& [address, each] : mbarriers_) each.beside = std::max(each.beside, beside);
  }
  arrive(barrier, 1, {});
}

void AsyncUnit::end_phase(Mbarrier& b) {
  if (b.missing != 0 || b.bytes != 0) return;
  ++b.phase;
  b.missing = b.arrivals;
  b.brought_copies = std::exchange(b.brings_copies, false);
  b.fmas_before = b.fmas_at_start;
  b.others_arrived = std::exchange(b.others_arrive, false);
}

bool AsyncUnit::has_ended(std::uint64_t barrier, unsigned parity) {
  return at(barrier).phase % 2 != parity;
}

bool AsyncUnit::gives_up_waiting() {
  constexpr unsigned most = 1000;
  return block_.conduct.random_order && vain_waits_ < most && block_.dice.below(4) == 0 &&
         ++vain_waits_ > 0;
}

// A thread that sees a phase end which brought copies has waited for them.
void AsyncUnit::note_wait(Warp& warp, Mask mask, std::uint64_t barrier, bool in_cluster) {
  is_used_ = true;
  block_.cluster.waits().note_progress();
  const Mbarrier& b = at(barrier);
  if (b.others_arrived && !in_cluster) {
    throw Fault{"a wait for arrivals of another block that is not in the cluster's scope", mask};
  }
  if (!b.brought_copies) warp.note_told(mask);  // what copies bring needs no fence of tcgen05
  for_lanes(mask, [&](unsigned i) {
    LaneCopies& lane = copying_[warp.number].by_lane[i];
    if (std::exchange(lane.seen[barrier], b.phase) == b.phase || !b.brought_copies) return;
    const std::uint32_t behind = bulk_phases_ - ++lane.phases_seen;
    bulk_phases_seen_ = std::max(bulk_phases_seen_, lane.phases_seen);
    const bool alone = behind == 0 && warp.fma_steps == b.fmas_before;
    const std::uint32_t beside = std::max(behind, b.beside);
    (alone ? lane.waits.alone : lane.waits.beside) += 1 / (beside + 1.0);
  });
}

// --- bulk copies ---

void AsyncUnit::copy_bulk(std::vector<Piece> pieces, std::uint64_t barrier, std::int64_t bytes,
                          AsyncUnit& there, bool is_others) {
  there.require_known(there.at(barrier), {true, is_others});
  for (const Piece& piece : pieces) {
    block_.memory.shared_piece(piece.to, piece.bytes, 16);
  }
  BulkCopy copy{std::move(pieces), barrier, bytes, &there, is_others};
  if (block_.conduct.late_copies) {
    bulk_.push_back(std::move(copy));
  } else {
    finish(copy);
  }
}

void AsyncUnit::finish(const BulkCopy& copy) {
  for (const Piece& piece : copy.pieces) {
    std::byte* const to = block_.memory.shared_piece(piece.to, piece.bytes, 16);
    if (piece.exist > 0) std::memcpy(to, piece.from, piece.exist);
    std::memset(to + piece.exist, 0, piece.bytes - piece.exist);
    block_.memory.note_written(piece.to, piece.bytes);
  }
  Mbarrier& b = copy.there->at(copy.barrier);
  b.bytes -= copy.bytes;
  b.others_arrive = b.others_arrive || copy.is_others;
  copy.there->end_phase(b);
}

bool AsyncUnit::finish_one() {
  if (bulk_.empty()) return false;
  const std::size_t which = block_.conduct.random_order ? block_.dice.below(bulk_.size()) : 0;
  const BulkCopy copy = std::move(bulk_[which]);
  bulk_.erase(bulk_.begin() + static_cast<std::ptrdiff_t>(which));
  finish(copy);
  return true;
}

}  // namespace gpubench::model::ptx
