#include "harness/platform/model/emulator/lane_scheduler.hpp"

#include <numeric>
#include <utility>

#include "harness/contents/random.hpp"
#include "harness/platform/model/emulator/guard.hpp"
#include "harness/platform/model/emulator/host_code.hpp"

namespace gpubench::model {

uint3 thread_of(unsigned lane, dim3 block) {
  return {lane % block.x, lane / block.x % block.y, lane / (block.x * block.y)};
}

void LaneScheduler::begin_block(dim3 block, std::uint64_t number) {
  const unsigned lanes = block.x * block.y * block.z;
  if (!(block.x == thread_index_of_.x && block.y == thread_index_of_.y &&
        block.z == thread_index_of_.z)) {
    thread_index_.resize(lanes);
    for (unsigned lane = 0; lane < lanes; ++lane) thread_index_[lane] = thread_of(lane, block);
    thread_index_of_ = block;
  }
  lanes_.assign(lanes, Lane{});
  live_ = lanes;
  stopped_ = false;
  ready_.assign((lanes + warp_lanes - 1) / warp_lanes, ~0u);
  if (lanes % warp_lanes != 0) ready_.back() = (1u << lanes % warp_lanes) - 1;
  unbegun_ = ready_;
  turns_.resize(ready_.size());
  std::iota(turns_.begin(), turns_.end(), 0u);
  drawn_ = 0;
  block_seed_ = random_bits(ordering_.seed, number);
}

void LaneScheduler::end_block() {
  for (const Lane& lane : lanes_) {
    if (lane.stack != nullptr) stacks_.give_back(lane.stack);
  }
}

bool LaneScheduler::run_ready() {
  bool progressed = false;
  if (ordering_.random_warps) shuffle_turns();
  for (const unsigned warp : turns_) {
    while (ready_[warp] != 0 && !stopped_) {
      resume(warp);
      progressed = true;
    }
  }
  return progressed;
}

void LaneScheduler::enter(unsigned lane) {
  current_ = lane;
  recorder_.enter(lane);
  threadIdx = thread_index_[lane];
}

void LaneScheduler::begin_on(std::byte* stack) {
  lanes_[current_].stack = stack;
  unbegun_[current_warp()] &= ~(1u << current_ % warp_lanes);
  if (holds_guarded_code()) begin_guard(stack);
}

void* LaneScheduler::enter_next(unsigned warp) {
  enter(warp * warp_lanes + take_ready_lane(warp));
  Lane& lane = lanes_[current_];
  if (lane.stack == nullptr) {
    const HostCode host;
    begin_on(stacks_.take());
    lane.stack_pointer = FiberStacks::prepare(lane.stack, body_);
  }
  return lane.stack_pointer;
}

void LaneScheduler::resume(unsigned warp) {
  void* next = enter_next(warp);
  running_block = runner_;
  gpubench_switch_fiber(&stack_pointer_, next);
  running_block = nullptr;
  Lane& lane = lanes_[current_];  // not the one that was entered, if lanes have switched since
  if (lane.state != LaneState::done) return;
  stacks_.give_back(lane.stack);
  lane.stack = nullptr;
}

void LaneScheduler::suspend() {
  Lane& lane = lanes_[current_];
  const unsigned warp = current_ / warp_lanes;
  void* next = ready_[warp] != 0 && !stopped_ ? enter_next(warp) : stack_pointer_;
  gpubench_switch_fiber(&lane.stack_pointer, next);
}

void LaneScheduler::end() {
  Lane& lane = lanes_[current_];
  lane.state = LaneState::done;
  lane.ended_in = recorder_.checker().interval();
  --live_;
}

bool LaneScheduler::begin_next() {
  const unsigned warp = current_warp();
  if (stopped_ || ready_[warp] == 0 || (ready_[warp] & ~unbegun_[warp]) != 0) return false;
  std::byte* const stack = std::exchange(lanes_[current_].stack, nullptr);
  enter(warp * warp_lanes + take_ready_lane(warp));
  begin_on(stack);
  return true;
}

void LaneScheduler::leave() {
  gpubench_switch_fiber(&lanes_[current_].stack_pointer, stack_pointer_);
  __builtin_unreachable();
}

unsigned LaneScheduler::release_barrier() {
  const void* site = nullptr;
  for (const Lane& lane : lanes_) {
    if (lane.state == LaneState::done) continue;
    if (lane.state != LaneState::at_barrier) return 0;
    if (site == nullptr) site = lane.waiting_at;
    if (lane.waiting_at != site) return 0;
  }
  return release();
}

bool LaneScheduler::all_wait_for_cluster() const {
  return std::ranges::all_of(lanes_, [](const Lane& lane) {
    return lane.state == LaneState::at_cluster || lane.state == LaneState::done;
  });
}

unsigned LaneScheduler::release_cluster() { return all_wait_for_cluster() ? release() : 0; }

unsigned LaneScheduler::release() {
  for (unsigned i = 0; i < lanes_.size(); ++i) {
    if (lanes_[i].state != LaneState::done) make_ready(i);
  }
  unsigned warps = 0;
  for (const std::uint32_t word : ready_) warps += word != 0;
  return warps;
}

}  // namespace gpubench::model
