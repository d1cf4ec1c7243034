// The block's barriers: PTX ISA, "bar", "barrier".
#include <algorithm>
#include <bit>

#include "harness/platform/model/ptx/block.hpp"
#include "harness/platform/model/ptx/cluster.hpp"

namespace gpubench::model::ptx {

void Block::release(Barrier& barrier) {
  const unsigned needed = barrier.needed != 0 ? barrier.needed : live_;
  if (barrier.threads < needed) return;
  ++barrier.generation;
  barrier.released = barrier.votes;
  barrier.released_threads = barrier.threads;
  barrier.threads = barrier.votes = 0;
}

// nvcc joins the ends of a kernel, so that "{ o[i] = 0; return; }" before a barrier is a way to
// where the others come behind it.
bool Block::let_others_go(Warp& warp, Mask mask) {
  for (std::uint32_t at = 0; at < warp.fragments.size(); ++at) {
    Fragment& joining = warp.fragments[at];
    if (joining.state != Fragment::State::joining || (joining.mask & mask) == 0) continue;
    Mask waiting = joining.mask;
    for (const Fragment& part : warp.fragments) {
      if (part.state != Fragment::State::free && part.parent == at) waiting &= ~part.mask;
    }
    if (waiting == 0) continue;
    joining.mask &= ~waiting;
    const Fragment alone{waiting,        joining.pc, joining.reconverge,
                         joining.parent, 0,          Fragment::State::ready};
    if (alone.parent != never) ++warp.fragments[alone.parent].children;
    warp.add_fragment(alone);
    return true;
  }
  return false;
}

bool Block::come(Warp& warp, unsigned number, unsigned threads, Mask mask, Mask votes) {
  if (number >= barriers_.size()) throw Fault{"barrier of a number beyond 15", mask};
  Barrier& barrier = barriers_[number];
  if (mask != warp.live) {
    const auto may_come = [&](const Fragment& part) {
      const bool waits_elsewhere =
          part.state == Fragment::State::waiting && !program_->ops[part.pc].is_block_barrier;
      return (part.mask & mask) == 0 && (part.state == Fragment::State::ready || waits_elsewhere);
    };
    if (std::ranges::any_of(warp.fragments, may_come) || let_others_go(warp, mask)) return false;
    throw Fault{"barrier that only some lanes of a warp come to", mask};
  }
  if (threads % lanes != 0) throw Fault{"barrier of threads that are no whole warps", mask};
  if (barrier.threads > 0 && barrier.needed != threads) {
    throw Fault{"barrier at which warps expect different numbers of threads", mask};
  }
  barrier.needed = threads;
  barrier.threads += static_cast<unsigned>(std::popcount(threads != 0 ? warp.exists : mask));
  barrier.votes += static_cast<unsigned>(std::popcount(votes));
  ++result.barriers;
  cluster.waits().note_progress();
  return true;
}

bool Block::meet(Warp& warp, unsigned number, unsigned threads, Mask mask, Mask votes) {
  const bool is_here = number < barriers_.size() && barriers_[number].is_waiting(warp.number);
  if (!is_here && !come(warp, number, threads, mask, votes)) return false;
  Barrier& barrier = barriers_[number];
  barrier.waiting.resize(warps_.size(), 0);
  std::uint32_t& waiting = barrier.waiting[warp.number];
  if (!is_here) waiting = barrier.generation + 1;
  release(barrier);
  if (barrier.generation < waiting) return false;
  waiting = 0;
  if (threads == 0) ++warp.interval;
  return true;
}

bool Block::pass(Warp& warp, unsigned number, unsigned threads, Mask mask) {
  if (!come(warp, number, threads, mask, 0)) return false;
  release(barriers_[number]);
  return true;
}

}  // namespace gpubench::model::ptx
