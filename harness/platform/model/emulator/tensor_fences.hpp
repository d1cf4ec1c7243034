// The fences of tcgen05, which order what threads do with tensor memory where they meet or wait for
// each other: one behind a load or a store and before the thread arrives, and one between a wait
// and whatever the thread does there next. What a wait for bulk copies brings needs none.
#pragma once

#include <vector>

#include "harness/platform/model/emulator/block.hpp"
#include "harness/platform/model/emulator/host_code.hpp"

namespace gpubench::model {

class TensorFences {
 public:
  explicit TensorFences(Block& block) : block_(block) {}
  void begin_block() { by_lane_.assign(block_.lanes().lanes(), {}); }

  // --- the current lane ---
  void before_sync() { mine().owes = false; }
  void after_sync() { mine().lacks = false; }
  // Uses tensor memory: `moves`, by a load or a store of its own.
  void use(bool moves, const void* code) {
    if (mine().lacks)
      fault("tcgen05 behind a wait without tcgen05.fence::after_thread_sync,", code);
    mine().owes = mine().owes || moves;
  }
  // Arrives somewhere.
  void tell(const void* code) {
    if (!mine().owes) return;
    fault("arrival behind tcgen05.ld or st without tcgen05.fence::before_thread_sync,", code);
  }
  // Has waited for others.
  void learn() { mine().lacks = true; }

 private:
  struct Lane {
    bool owes = false, lacks = false;
  };
  Lane& mine() { return by_lane_[block_.lanes().current()]; }
  [[noreturn]] void fault(const char* what, const void* code) {
    const HostCode host;
    block_.fault(what, code);
  }

  Block& block_;
  std::vector<Lane> by_lane_;
};

}  // namespace gpubench::model
