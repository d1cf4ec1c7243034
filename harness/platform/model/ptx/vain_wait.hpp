// Whether threads only wait, for another block, say, which may never run beside them.
#pragma once

#include <cstdint>
#include <unordered_set>

#include "harness/platform/model/ptx/memory_view.hpp"

namespace gpubench::model::ptx {

// Blocks that run together only wait where all that they do with memory is to load what they have
// loaded before, the same values from the same words, or to try atomics that change nothing. If
// their registers are the same each time too, they do so for ever unless other blocks end it; if
// not, they may count or compute something, and only very many such looks are taken for a wait.
class VainWait {
 public:
  // Something else than a look at memory has happened.
  void note_progress() { looks_ = 0; }
  // A look, by a load or, `tried`, an atomic that changed nothing. Throws Fault where it is one too
  // many.
  void note_look(Warp& w, const Op& op, Mask mask, const Addresses& at, bool tried) {
    if (++looks_ > unwatched) watch(w, op, mask, at, tried);
  }
  std::uint64_t looks() const { return looks_; }

 private:
  static constexpr std::uint64_t unwatched = 4096;
  void watch(Warp& w, const Op& op, Mask mask, const Addresses& at, bool tried);
  void note_state(Warp& w, const Op& op);
  bool is_vain(const Warp& w) const;

  std::uint64_t looks_ = 0;
  std::uint64_t repeats_ = 0;
  std::unordered_set<std::uint64_t> seen_;    // what was looked at, and found
  std::unordered_set<std::uint64_t> states_;  // what registers held at some of the looks
  std::uint64_t noted_states_ = 0;            // those looks
};

}  // namespace gpubench::model::ptx
