// Which products of wgmma a warp waits for with nothing else to do.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <utility>

#include "harness/platform/model/emulator/block_result.hpp"

namespace gpubench::model {

// What one warp has started. `computed`: how much arithmetic it has done so far.
class WarpgroupProducts {
 public:
  void start(Tensor type, std::uint64_t flops) {
    open_.flops[static_cast<std::size_t>(type)] += flops;
  }
  void commit(std::uint64_t computed) {
    open_.computed = computed;
    groups_.push_back(std::exchange(open_, {}));
  }
  void wait(unsigned groups_left, std::uint64_t computed, BlockResult& result) {
    for (; groups_.size() > groups_left; groups_.pop_front()) {
      if (groups_.front().computed != computed) continue;
      for (std::size_t t = 0; t < tensor_types; ++t) {
        result.awaited_flops[t] += groups_.front().flops[t];
      }
      if (!std::exchange(has_waited_, true)) ++result.awaiting_warps;
    }
  }

 private:
  struct Group {
    std::array<std::uint64_t, tensor_types> flops{};
    std::uint64_t computed = 0;  // when it was committed
  };
  Group open_;
  std::deque<Group> groups_;
  bool has_waited_ = false;
};

}  // namespace gpubench::model
