#include "harness/platform/model/emulator/warp_collectives.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "harness/platform/model/emulator/host_code.hpp"

namespace gpubench::model {
namespace {

WarpOperation counted_as(int operation) {
  return operation >= warp_operation::matrices      ? WarpOperation::matrices
         : operation >= warp_operation::matrix_load ? WarpOperation::matrix_load
         : operation == warp_operation::sync        ? WarpOperation::warp_barrier
         : operation >= warp_operation::match_any   ? WarpOperation::vote
                                                    : WarpOperation::shuffle;
}

// The lane whose value lane `i` asks for; its own where that lies outside the segment.
int source_of(int i, const WarpCall& call) {
  const int segment = i / call.width * call.width;
  const auto argument = static_cast<int>(call.argument % warp_lanes);
  switch (static_cast<Shuffle>(call.operation)) {
    case Shuffle::index:
      return segment + (argument & (call.width - 1));
    case Shuffle::up:
      return i - argument < segment ? i : i - argument;
    case Shuffle::down:
      return i + argument >= segment + call.width ? i : i + argument;
    case Shuffle::exclusive_or:
      return (i ^ argument) >= segment + call.width ? i : i ^ argument;
  }
  return i;
}

unsigned reduced(Reduction how, unsigned a, unsigned b) {
  const auto signed_a = static_cast<int>(a), signed_b = static_cast<int>(b);
  switch (how) {
    case Reduction::sum:
      return a + b;
    case Reduction::least:
      return std::min(a, b);
    case Reduction::greatest:
      return std::max(a, b);
    case Reduction::least_signed:
      return static_cast<unsigned>(std::min(signed_a, signed_b));
    case Reduction::greatest_signed:
      return static_cast<unsigned>(std::max(signed_a, signed_b));
    case Reduction::bits_and:
      return a & b;
    case Reduction::bits_or:
      return a | b;
    case Reduction::bits_xor:
      return a ^ b;
  }
  return a;
}

}  // namespace

void WarpCollectives::begin_block() {
  lanes_.assign(block_.lanes().lanes(), Taking{});
  waiting_.assign(block_.lanes().warps(), 0);
}

std::uint64_t WarpCollectives::take_part(WarpCall call, const void* code, WarpWork* work) {
  LaneScheduler& lanes = block_.lanes();
  const unsigned me = lanes.current(), warp = me / warp_lanes;
  const unsigned own = 1u << me % warp_lanes;
  // Lanes beyond the block's end do not exist; CUDA lets a full mask name them.
  if (lanes.lanes_in(warp) < warp_lanes) call.mask &= (1u << lanes.lanes_in(warp)) - 1;
  if ((call.mask & own) == 0) {
    block_.fault("warp collective whose mask leaves out its own lane", code);
  }
  const int operation = call.operation;
  lanes[me].state = LaneState::at_collective;
  lanes[me].waiting_at = code;
  lanes_[me].call = call;
  lanes_[me].work = work;
  waiting_[warp] |= own;
  if (has_arrived(warp, call.mask, operation)) {
    resolve(warp, call.mask);
    if (block_.is_traced() && operation == warp_operation::sync) {
      block_.recorder().checker().enter(me);
    }
  } else {
    lanes.suspend();
  }
  if (lanes_[me].lacks_ended) {
    block_.fault(operation >= warp_operation::matrices
                     ? "matrix multiplication by a warp of which a lane has already ended,"
                 : operation >= warp_operation::matrix_load
                     ? "ldmatrix by a warp of which a lane has already ended,"
                     : "shuffle that reads from a lane which has already ended,",
                 code);
  }
  if (LaneTrace* const trace = block_.trace()) {
    trace->events.push(make_event(code, EventKind::collective));
  }
  return lanes_[me].answer;
}

// Lanes that have ended are not waited for.
bool WarpCollectives::has_arrived(unsigned warp, unsigned mask, int operation) const {
  // From the highest lane down: lanes run in ascending order, so who is missing is found at once.
  for (unsigned rest = mask; rest != 0;) {
    const unsigned highest = warp_lanes - 1 - static_cast<unsigned>(std::countl_zero(rest));
    rest &= ~(1u << highest);
    const unsigned lane = warp * warp_lanes + highest;
    const LaneState state = block_.lanes()[lane].state;
    if (state == LaneState::done) continue;
    const WarpCall& call = lanes_[lane].call;
    if (state != LaneState::at_collective || call.mask != mask || call.operation != operation) {
      return false;
    }
  }
  return true;
}

void WarpCollectives::lane_ended(unsigned warp) {
  for (unsigned rest = waiting_[warp]; rest != 0; rest &= waiting_[warp] & (rest - 1)) {
    const WarpCall& call =
        lanes_[warp * warp_lanes + static_cast<unsigned>(std::countr_zero(rest))].call;
    if (has_arrived(warp, call.mask, call.operation)) resolve(warp, call.mask);
  }
}

void WarpCollectives::resolve(unsigned warp, unsigned mask) {
  LaneScheduler& lanes = block_.lanes();
  const unsigned begin = warp * warp_lanes;
  Taking* const of_warp = &lanes_[begin];
  unsigned present = mask;
  for (unsigned rest = mask; rest != 0; rest &= rest - 1) {
    const int i = std::countr_zero(rest);
    if (lanes[begin + static_cast<unsigned>(i)].state == LaneState::done) present &= ~(1u << i);
  }
  waiting_[warp] &= ~present;
  const Taking& first = of_warp[std::countr_zero(present)];
  const int operation = first.call.operation;
  const bool of_matrices = operation >= warp_operation::matrix_load;
  block_.result().warp_operations[static_cast<std::size_t>(counted_as(operation))] +=
      of_matrices && present == ~0u ? work_on_matrices(warp, first) : 1;
  if (block_.is_traced() && operation == warp_operation::sync) {
    block_.recorder().checker().sync_warp(warp, mask, ~0u >> (warp_lanes - lanes.lanes_in(warp)));
  }
  unsigned votes = 0;
  for (unsigned rest = present; rest != 0; rest &= rest - 1) {
    const int i = std::countr_zero(rest);
    votes |= static_cast<unsigned>(of_warp[i].call.value & 1) << i;
  }
  for (unsigned rest = present; rest != 0; rest &= rest - 1) {
    const int i = std::countr_zero(rest);
    if (operation >= warp_operation::vote) {
      of_warp[i].answer = votes;
      of_warp[i].lacks_ended = of_matrices && present != ~0u;
    } else if (operation >= warp_operation::reduction) {
      of_warp[i].answer = combined(of_warp, i, present);
      of_warp[i].lacks_ended = false;
    } else {
      exchange(of_warp, i, mask, present);
    }
    const unsigned lane = begin + static_cast<unsigned>(i);
    if (lane == lanes.current()) {
      lanes[lane].state = LaneState::ready;
    } else {
      lanes.make_ready(lane);
    }
  }
}

std::uint64_t WarpCollectives::combined(const Taking* lanes, int lane, unsigned present) {
  const WarpCall& mine = lanes[lane].call;
  if (mine.operation < warp_operation::match_any) {
    const auto how = static_cast<Reduction>(mine.operation - warp_operation::reduction);
    auto result = static_cast<unsigned>(mine.value);
    for (unsigned rest = present & ~(1u << lane); rest != 0; rest &= rest - 1) {
      result =
          reduced(how, result, static_cast<unsigned>(lanes[std::countr_zero(rest)].call.value));
    }
    return result;
  }
  unsigned equal = 0;
  for (unsigned rest = present; rest != 0; rest &= rest - 1) {
    const int other = std::countr_zero(rest);
    equal |= static_cast<unsigned>(lanes[other].call.value == mine.value) << other;
  }
  return mine.operation == warp_operation::match_any || equal == present ? equal : 0;
}

// A source outside the segment gives the lane its own value back. CUDA leaves open what comes from
// a lane that the mask leaves out, which is no error where nobody uses it: a NaN here.
void WarpCollectives::exchange(Taking* lanes, int lane, unsigned mask, unsigned present) {
  const int source = source_of(lane, lanes[lane].call);
  lanes[lane].lacks_ended = ((mask & ~present) >> source & 1) != 0;
  lanes[lane].answer = (present >> source & 1) != 0 ? lanes[source].call.value : ~std::uint64_t{0};
}

std::uint64_t WarpCollectives::work_on_matrices(unsigned warp, const Taking& first) {
  std::array<const WarpCall*, warp_lanes> calls;
  for (unsigned lane = 0; lane < warp_lanes; ++lane) {
    calls[lane] = &lanes_[warp * warp_lanes + lane].call;
  }
  return first.work->carry_out(warp, calls.data());
}

}  // namespace gpubench::model
