// What tcgen05 has of pairs of blocks: PTX ISA, "CTA Pair", "Issue Granularity", "tcgen05.alloc",
// "tcgen05.commit".
#include "harness/platform/model/ptx/block.hpp"
#include "harness/platform/model/ptx/cluster.hpp"
#include "harness/platform/model/ptx/tensor_memory.hpp"

namespace gpubench::model::ptx {

TensorUnit* TensorUnit::peer() const {
  const bool is_paired = block_.launch().cluster % 2 == 0;
  return is_paired ? &block_.cluster.block(block_.ordinal ^ 1).tensors : nullptr;
}

std::vector<TensorUnit*> TensorUnit::units(bool of_pair) {
  return of_pair ? std::vector{this, peer()} : std::vector{this};
}

void TensorUnit::require_group(unsigned group) {
  const TensorUnit* const other = peer();
  if (group == 2 && other == nullptr) {
    throw Fault{"tcgen05 of cta_group::2 in a kernel without clusters of two blocks", 0};
  }
  const auto differs = [&](unsigned used) { return used != 0 && used != group; };
  if (differs(group_) || (other != nullptr && differs(other->group_))) {
    throw Fault{"tcgen05 of cta_group::1 and of cta_group::2 in one kernel", 0};
  }
  group_ = group;
}

void TensorUnit::require_pair(const char* what) const {
  if (block_.rank() % 2 != 0) {
    throw Fault{std::string(what) + " of cta_group::2 by the odd block of its pair", 0};
  }
  if (!block_.cluster.has_met(block_)) {
    throw Fault{std::string(what) + " with a block that need not have begun", 0};
  }
  if (peer()->block_.live_threads() == 0) {
    throw Fault{std::string(what) + " with a block that has ended", 0};
  }
}

void TensorUnit::begin_meeting(unsigned warp, const Meeting& meeting) {
  if (meeting_warp_)
    throw Fault{"tcgen05.alloc or dealloc of cta_group::2 by two warps at once", 0};
  meeting_warp_ = warp;
  meetings_.push_back(meeting);
}

bool TensorUnit::has_met() {
  const std::vector<Meeting>& theirs = peer()->meetings_;
  if (theirs.size() < meetings_.size()) return false;
  if (theirs[meetings_.size() - 1] != meetings_.back()) {
    throw Fault{
        "tcgen05.alloc or dealloc of cta_group::2 where the other block does something else", 0};
  }
  meeting_warp_.reset();
  return true;
}

void TensorUnit::arrive(const Step& commit) {
  const unsigned own = block_.rank(), ranks = commit.ranks != 0 ? commit.ranks : 1u << own;
  for (unsigned rank = 0; rank < block_.launch().cluster; ++rank) {
    if ((ranks >> rank & 1) == 0) continue;
    Block& there = block_.cluster.block(block_.ordinal - own + rank);
    if (there.live_threads() == 0) throw Fault{"tcgen05.commit to a block that has ended", 0};
    there.async.arrive(commit.barrier, 1, {true, rank != own});
  }
}

}  // namespace gpubench::model::ptx
