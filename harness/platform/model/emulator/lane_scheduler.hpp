// A block's lanes as fibers of one operating-system thread: each runs until it ends, reaches a
// barrier or needs the rest of its warp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "harness/platform/model/conditions/conditions.hpp"
#include "harness/platform/model/emulator/block_result.hpp"
#include "harness/platform/model/emulator/fiber.hpp"
#include "harness/platform/model/emulator/lane_recorder.hpp"
#include "harness/platform/model/include/device_language.h"

namespace gpubench::model {

class BlockRunner;

enum class LaneState : std::uint8_t {
  ready,
  at_barrier,
  at_collective,
  at_mbarrier,
  at_cluster,  // at the cluster's barrier
  at_peer,     // where the other block of its pair has to come as well
  done
};

struct Lane {
  void* stack_pointer = nullptr;
  std::byte* stack = nullptr;
  LaneState state = LaneState::ready;
  const void* waiting_at = nullptr;
  std::uint64_t mbarrier = 0;  // whose phase it waits for
  std::uint32_t ended_in = 0;  // the interval between barriers, once done
};

class LaneScheduler {
 public:
  // `body` runs lanes of `runner` on a fiber, until it leaves. The recorder learns whose turn it
  // is.
  LaneScheduler(BlockRunner* runner, void (*body)(), LaneRecorder& recorder,
                const Ordering& ordering)
      : runner_(runner), body_(body), recorder_(recorder), ordering_(ordering) {}

  // `number`: of the block, in its grid.
  void begin_block(dim3 block, std::uint64_t number);
  // Lanes of an abandoned block have not ended.
  void end_block();
  // Runs every ready lane until it waits or ends. Whether there was any.
  bool run_ready();
  // All live lanes wait at one barrier: lets them go on, and returns how many warps these are; else
  // 0. Lanes that have ended do not count.
  unsigned release_barrier();
  // The same of the cluster's barrier, wherever in the code it stands.
  bool all_wait_for_cluster() const;
  unsigned release_cluster();
  // No lane runs any more.
  void stop() { stopped_ = true; }
  bool is_stopped() const { return stopped_; }
  bool has_live_lanes() const { return live_ > 0; }

  // --- from a lane ---
  void wait(LaneState state, const void* code) {
    lanes_[current_].state = state;
    lanes_[current_].waiting_at = code;
    suspend();
  }
  void suspend();  // to the warp's next lane, else to the scheduler
  void end();      // its work is done
  // After that: the warp's next lane is the current one, on the stack of the one that has ended, as
  // it is the first that has its turn, and that saves two switches. False where lanes that have
  // begun are waiting for theirs, or none is left.
  bool begin_next();
  [[noreturn]] void leave();  // to the scheduler, for good

  void make_ready(unsigned lane) {
    lanes_[lane].state = LaneState::ready;
    ready_[lane / warp_lanes] |= 1u << lane % warp_lanes;
  }

  // Whose turn it is, or was last.
  unsigned current() const { return current_; }
  unsigned current_warp() const { return current_ / warp_lanes; }
  Lane& current_lane() { return lanes_[current_]; }
  const Lane& current_lane() const { return lanes_[current_]; }
  unsigned lanes() const { return static_cast<unsigned>(lanes_.size()); }
  unsigned warps() const { return static_cast<unsigned>(ready_.size()); }
  unsigned lanes_in(unsigned warp) const {  // a partial last warp has fewer
    return std::min(warp_lanes, lanes() - warp * warp_lanes);
  }
  Lane& operator[](std::size_t lane) { return lanes_[lane]; }
  const Lane& operator[](std::size_t lane) const { return lanes_[lane]; }
  const std::vector<Lane>& all() const { return lanes_; }

 private:
  unsigned release();  // all lanes that have not ended
  unsigned take_ready_lane(unsigned warp);
  void shuffle_turns();
  void enter(unsigned lane);        // makes it the current one
  void begin_on(std::byte* stack);  // the current lane, which has none yet
  void* enter_next(unsigned warp);  // a ready lane; its stack pointer
  void resume(unsigned warp);       // a ready lane, until one switches back

  BlockRunner* const runner_;
  void (*const body_)();
  LaneRecorder& recorder_;
  const Ordering& ordering_;
  std::uint64_t drawn_ = 0;       // random numbers, of this block
  std::uint64_t block_seed_ = 0;  // that they follow from
  std::vector<unsigned> turns_;   // warps in the order in which they run
  FiberStacks stacks_;
  std::vector<Lane> lanes_;
  std::vector<uint3> thread_index_;  // of each lane of a block of thread_index_of_
  dim3 thread_index_of_{0, 0, 0};
  std::vector<std::uint32_t> ready_;    // a bit a lane, a word a warp
  std::vector<std::uint32_t> unbegun_;  // likewise
  unsigned current_ = 0;
  unsigned live_ = 0;
  bool stopped_ = false;
  void* stack_pointer_ = nullptr;  // the scheduler's own
};

// The thread of a block that a lane is.
uint3 thread_of(unsigned lane, dim3 block);

}  // namespace gpubench::model
