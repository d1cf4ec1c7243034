// The block's barriers: PTX ISA, "bar", "barrier".
#include <algorithm>
#include <bit>

#include "harness/platform/model/ptx/block.hpp"

namespace gpubench::model::ptx {

void Block::release(Barrier& barrier) {
  const unsigned needed = barrier.needed != 0 ? barrier.needed : live_;
  if (barrier.threads < needed) return;
  ++barrier.generation;
  barrier.released = barrier.votes;
  barrier.released_threads = barrier.threads;
  barrier.threads = barrier.votes = 0;
}

bool Block::come(Warp& warp, unsigned number, unsigned threads, Mask mask, Mask votes) {
  if (number >= barriers_.size()) throw Fault{"barrier of a number beyond 15", mask};
  Barrier& barrier = barriers_[number];
  if (mask != warp.live) {
    const bool others_may_end = std::ranges::any_of(warp.fragments, [mask](const Fragment& part) {
      return part.state == Fragment::State::ready && (part.mask & mask) == 0;
    });
    if (others_may_end) return false;
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
