// Bulk copies that land in several blocks of a cluster, at the same place in each, and arrive at
// the mbarrier at the same place there (PTX ISA, "cp.async.bulk", .multicast::cluster).
//
// What was in another block's memory is kept apart from what replaces it by the cluster's barrier
// alone: an order by arrivals at an mbarrier is not followed from block to block.
#include <string>

#include "harness/platform/model/emulator/bulk_copies.hpp"
#include "harness/platform/model/emulator/source_location.hpp"

namespace gpubench::model {

std::vector<BulkCopies::Landing> BulkCopies::landings_of(std::uint64_t to, std::size_t bytes,
                                                         void* barrier, const void* code,
                                                         Ranks ranks) {
  if (!ranks) return {{this, 0, &mbarriers_.at(barrier, "bulk copy to", code)}};
  const unsigned blocks = block_.launch().cluster;
  if (*ranks == 0) block_.fault("bulk copy to no block", code);
  if (*ranks >> blocks != 0) {
    block_.fault("bulk copy to blocks beyond the cluster's " + std::to_string(blocks), code);
  }
  const unsigned own = block_.rank();
  std::vector<Landing> landings;
  for (unsigned rank = 0; rank < blocks; ++rank) {
    if ((*ranks >> rank & 1) == 0) continue;
    landings.push_back(rank == own ? Landing{this, 0, &mbarriers_.at(barrier, "bulk copy to", code)}
                                   : landing_in(rank, to, bytes, barrier, code));
  }
  return landings;
}

BulkCopies::Landing BulkCopies::landing_in(unsigned rank, std::uint64_t to, std::size_t bytes,
                                           const void* barrier, const void* code) {
  const ClusterMemory& cluster = *block_.cluster().memory;
  BulkCopies& there = *cluster_[rank];
  const auto refuse = [&](const std::string& why) {
    block_.fault("bulk copy to block " + words(there.block_.index()) + why, code);
  };
  if (!there.block_.lanes().has_live_lanes()) refuse(", which has ended,");
  const auto at = reinterpret_cast<std::uint64_t>(barrier);
  if (!block_.shared().is_dynamic(to) || !block_.shared().is_dynamic(to + bytes - 1) ||
      !block_.shared().is_dynamic(at)) {
    refuse(" of what is no dynamic shared memory");
  }
  Landing landing{&there, cluster.begin_of(rank) - block_.shared().dynamic_begin()};
  landing.barrier = there.mbarriers_.find(at + landing.away);
  if (landing.barrier == nullptr) {
    refuse(", which has not initialised the mbarrier,");
  } else if (!landing.barrier->is_announced) {
    refuse(", which has initialised the mbarrier without a fence for the cluster,");
  } else if (block_.is_traced() && landing.barrier->begun_in_phase == cluster.phase()) {
    refuse(", whose mbarrier is not known to be there before the cluster has met,");
  }
  return landing;
}

void BulkCopies::bring(const std::vector<Landing>& landings, Piece piece) {
  const std::uint64_t to = piece.to;
  for (const Landing& landing : landings) {
    piece.to = to + landing.away;
    landing.in->bring(piece);
  }
}

void BulkCopies::arrive(const std::vector<Landing>& landings, std::uint64_t to, unsigned bytes,
                        const void* code) {
  for (const Landing& landing : landings) {
    if (landing.in == this) {
      arrive_here(*landing.barrier, to, bytes, code);
    } else {
      arrive_from(block_.rank(), landing, to, bytes, code);
    }
  }
}

// In the other block, by which no lane's turn it is: faults are the present lane's.
void BulkCopies::arrive_from(unsigned rank, const Landing& landing, std::uint64_t to,
                             unsigned bytes, const void* code) {
  BulkCopies& there = *landing.in;
  Mbarrier& barrier = *landing.barrier;
  if (block_.trace() != nullptr) {
    const std::uint64_t lands_at = to + landing.away;
    const std::string mistake =
        block_.cluster().memory->note_copy(rank, there.block_.rank(), lands_at, bytes);
    if (!mistake.empty()) block_.fault(mistake, code);
    there.by_others_.push_back({.to = lands_at,
                                .bytes = bytes,
                                .lane = 0,
                                .code = code,
                                .barrier = &barrier,
                                .group = barrier.phase});
    there.block_.copies().add(there.by_others_.back());
  }
  barrier.others_arrive = true;
  there.set_out(barrier, bytes);
}

std::string BulkCopies::leftover() const {
  for (const AsyncCopy& copy : by_others_) {
    if (copy.is_seen()) continue;
    return "block " + words(block_.index()) +
           " may have ended before what another block copies into its shared memory at " +
           source_location(copy.code) + " has landed: no thread of it waits for that";
  }
  return "";
}

}  // namespace gpubench::model
