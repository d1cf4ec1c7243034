#include "harness/platform/model/emulator/mbarriers.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "harness/platform/model/emulator/host_code.hpp"

namespace gpubench::model {

void Mbarriers::begin_block() {
  mbarriers_.clear();
  peer_ = nullptr;
  bulk_phases_ = bulk_phases_seen_ = 0;
  phases_seen_.assign(block_.lanes().lanes(), 0);
}

void Mbarriers::init(void* barrier, unsigned arrivals, const void* code) {
  const HostCode host;
  if (arrivals == 0) block_.fault("mbarrier that expects no arrival,", code);
  const auto address = reinterpret_cast<std::uint64_t>(barrier);
  if (!block_.shared().holds(address)) block_.fault("mbarrier outside shared memory,", code);
  if (address % 8 != 0) block_.fault("misaligned mbarrier,", code);
  if (find(address) != nullptr) block_.fault("mbarrier that is initialised twice,", code);
  Mbarrier& made = mbarriers_.emplace_back();
  made.address = address;
  made.begun_in = block_.recorder().checker().interval();
  made.begun_by = block_.lanes().current();
  if (const ClusterMemory* const cluster = block_.cluster().memory) {
    made.begun_in_phase = cluster->phase();
  }
  made.arrivals = made.missing = arrivals;
  made.seen.resize(block_.lanes().lanes());
}

void Mbarriers::announce() {
  const HostCode host;
  const ClusterMemory* const cluster = block_.cluster().memory;
  for (Mbarrier& made : mbarriers_) {
    if (made.begun_by != block_.lanes().current() || made.is_announced) continue;
    made.is_announced = true;
    if (cluster != nullptr) made.begun_in_phase = cluster->phase();  // the meeting must follow
  }
}

Mbarrier& Mbarriers::at(const void* barrier, const char* what, const void* code) {
  const HostCode host;
  Mbarrier* const known = find(reinterpret_cast<std::uint64_t>(barrier));
  if (known == nullptr) {
    block_.fault(std::string(what) + " an mbarrier that nobody has initialised,", code);
  }
  if (block_.is_traced() && known->begun_by != block_.lanes().current() &&
      known->begun_in == block_.recorder().checker().interval()) {
    block_.fault(std::string(what) +
                     " an mbarrier that another thread initialised, with no barrier"
                     " between them,",
                 code);
  }
  return *known;
}

Mbarrier* Mbarriers::find(std::uint64_t address) {
  for (Mbarrier& known : mbarriers_) {
    if (known.address == address) return &known;
  }
  return nullptr;
}

void Mbarriers::end_phase(Mbarrier& barrier) {
  if (barrier.missing != 0 || barrier.bytes != 0) return;
  ++barrier.phase;
  barrier.missing = barrier.arrivals;
  barrier.told = barrier.arriving;
  barrier.others_arrived = std::exchange(barrier.others_arrive, false);
  barrier.brought_copies = barrier.brings_copies;
  barrier.brings_copies = false;
  barrier.fmas_before = barrier.fmas_at_start;
  LaneScheduler& lanes = block_.lanes();
  for (unsigned i = 0; i < lanes.lanes(); ++i) {
    if (lanes[i].state == LaneState::at_mbarrier && lanes[i].mbarrier == barrier.address) {
      lanes.make_ready(i);
    }
  }
}

// `who` tells what it knows; if nobody does, the arrival says nothing.
void Mbarriers::arrive_at(Mbarrier& barrier, std::optional<unsigned> who, const char* one_too_many,
                          const void* code) {
  if (barrier.missing == 0) block_.fault(one_too_many, code);
  --barrier.missing;
  if (who && block_.is_traced()) arrivals_.tell(*who, barrier.arriving);
}

namespace {

constexpr const char* too_many_arrivals = "mbarrier with more arrivals than it expects in a phase,";

}  // namespace

void Mbarriers::arrive(void* barrier, const void* code) {
  const HostCode host;
  fences_.tell(code);
  Mbarrier& mbarrier = at(barrier, "arrival at", code);
  arrive_at(mbarrier, arrivals_.number_of(block_.lanes().current_warp()), too_many_arrivals, code);
  end_phase(mbarrier);
}

void Mbarriers::arrive_by_tensor_cores(void* barrier, bool has_products, const void* code) {
  const HostCode host;
  Mbarrier& mbarrier = at(barrier, "tcgen05.commit to", code);
  const unsigned cores = arrivals_.tensor_cores_of(block_.lanes().current_warp());
  arrive_at(mbarrier, has_products ? std::optional(cores) : std::nullopt, too_many_arrivals, code);
  end_phase(mbarrier);
}

void Mbarriers::expect(void* barrier, std::size_t bytes, const void* code) {
  const HostCode host;
  Mbarrier& mbarrier = at(barrier, "arrival at", code);
  arrive_at(mbarrier, arrivals_.number_of(block_.lanes().current_warp()),
            "mbarrier that arrives twice in one phase,", code);
  mbarrier.bytes += static_cast<std::int64_t>(bytes);
  mbarrier.fmas_at_start = block_.recorder().computed_so_far();
  mbarrier.brings_copies = bytes > 0;
  if (bytes > 0) {
    mbarrier.beside = 0;
    const std::uint32_t beside = bulk_phases_++ - bulk_phases_seen_;
    for (Mbarrier& each : mbarriers_) each.beside = std::max(each.beside, beside);
  }
  end_phase(mbarrier);
}

void Mbarriers::bring(Mbarrier& barrier, unsigned bytes) {
  barrier.bytes -= static_cast<std::int64_t>(bytes);
  (is_own(barrier) ? *this : *peer_).end_phase(barrier);
}

bool Mbarriers::is_awaited(const Mbarrier& barrier) const {
  const Mbarriers& owner = is_own(barrier) ? *this : *peer_;
  return std::ranges::any_of(owner.block_.lanes().all(), [&](const Lane& lane) {
    return lane.state == LaneState::at_mbarrier && lane.mbarrier == barrier.address;
  });
}

// --- of the other block of a pair ---

Mbarrier& Mbarriers::at_peers(const void* barrier, const char* what, const void* code) {
  const HostCode host;
  const auto refuse = [&](const char* why) {
    block_.fault(std::string(what) + " an mbarrier of the other block of the pair" + why, code);
  };
  if (!peer_->block_.lanes().has_live_lanes()) refuse(", which has ended,");
  const auto at = reinterpret_cast<std::uint64_t>(barrier);
  if (!block_.shared().is_dynamic(at)) refuse(", which is no dynamic shared memory,");
  Mbarrier* const there =
      peer_->find(at + peer_->block_.shared().dynamic_begin() - block_.shared().dynamic_begin());
  if (there == nullptr) refuse(", which has not initialised it,");
  if (!there->is_announced) refuse(", which has initialised it without a fence for the cluster,");
  if (block_.is_traced() && there->begun_in_phase == block_.cluster().memory->phase()) {
    refuse(", which is not known to be there before the cluster has met,");
  }
  return *there;
}

void Mbarriers::arrive_at_peers(const void* barrier, std::optional<unsigned> who, const char* what,
                                const void* code) {
  const HostCode host;
  Mbarrier& there = at_peers(barrier, what, code);
  if (there.missing == 0) block_.fault(too_many_arrivals, code);
  --there.missing;
  there.others_arrive = true;
  if (who && block_.is_traced()) arrivals_.tell(*who, there.arriving);
  peer_->end_phase(there);
}

Mbarrier& Mbarriers::at_even(const void* barrier, const char* what, const void* code) {
  const HostCode host;
  if (peer_ == nullptr) {
    constexpr const char* without =
        " an mbarrier of a pair in a kernel without clusters of two blocks,";
    block_.fault(what + std::string(without), code);
  }
  return block_.cluster().number % 2 == 0 ? at(barrier, what, code) : at_peers(barrier, what, code);
}

void Mbarriers::arrive_at_even(void* barrier, const void* code) {
  fences_.tell(code);
  if (is_own(at_even(barrier, "arrival at", code))) return arrive(barrier, code);
  arrive_at_peers(barrier, arrivals_.number_of(block_.lanes().current_warp()), "arrival at", code);
}

void Mbarriers::wait(void* barrier, unsigned parity, MbarrierScope scope, const void* code) {
  Mbarrier& mbarrier = at(barrier, "wait for", code);
  LaneScheduler& lanes = block_.lanes();
  while (mbarrier.phase % 2 == parity) {
    lanes.current_lane().mbarrier = mbarrier.address;
    lanes.wait(LaneState::at_mbarrier, code);
  }
  if (mbarrier.others_arrived && scope == MbarrierScope::block) {
    const HostCode host;
    block_.fault(
        "wait for an mbarrier that another block has arrived at, but not in the cluster's"
        " scope,",
        code);
  }
  if (block_.is_traced()) arrivals_.learn(lanes.current_warp(), mbarrier.told);
  if (!mbarrier.brought_copies) fences_.learn();
  const unsigned me = lanes.current();
  if (std::exchange(mbarrier.seen[me], mbarrier.phase) == mbarrier.phase) return;
  if (!mbarrier.brought_copies) return;
  const std::uint32_t behind = bulk_phases_ - ++phases_seen_[me];
  bulk_phases_seen_ = std::max(bulk_phases_seen_, phases_seen_[me]);
  LaneRecorder& recorder = block_.recorder();
  const bool alone = behind == 0 && recorder.computed_so_far() == mbarrier.fmas_before;
  const std::uint32_t beside = std::max(behind, mbarrier.beside);
  (alone ? recorder.copy_waits().alone : recorder.copy_waits().beside) += 1 / (beside + 1.0);
}

}  // namespace gpubench::model
