// What a kernel did wrong, in one line: where, and which thread.
#include <algorithm>
#include <bit>
#include <set>

#include "harness/platform/model/ptx/block.hpp"

namespace gpubench::model::ptx {

std::string Block::thread_name(unsigned thread) const {
  const dim3 b = launch_->block;
  return "thread (" + std::to_string(thread % b.x) + ',' + std::to_string(thread / b.x % b.y) +
         ',' + std::to_string(thread / b.x / b.y) + ") of block (" + std::to_string(index_.x) +
         ',' + std::to_string(index_.y) + ',' + std::to_string(index_.z) + ')';
}

std::string Block::describe_fault(const Fault& fault, const Warp& warp, const Op& op) const {
  const Mask who = fault.lanes != 0 ? fault.lanes : warp.running;
  const unsigned thread = warp.number * lanes + static_cast<unsigned>(std::countr_zero(who));
  return std::string(launch_->name) + ": " + fault.what + " at " + program_->describe(op) + " by " +
         thread_name(thread);
}

std::string Block::describe_deadlock() const {
  std::set<std::string> places;
  unsigned first = never;
  for (const auto& warp : warps_) {
    for (const Fragment& part : warp->fragments) {
      if (part.state != Fragment::State::waiting) continue;
      places.insert(program_->describe(program_->ops[part.pc]));
      first = std::min(first,
                       warp->number * lanes + static_cast<unsigned>(std::countr_zero(part.mask)));
    }
  }
  std::string text = std::string(launch_->name) + ": threads wait for ever at ";
  for (const std::string& place : places) text += (text.back() == ')' ? ", " : "") + place;
  return text + "; the first is " + thread_name(first);
}

}  // namespace gpubench::model::ptx
