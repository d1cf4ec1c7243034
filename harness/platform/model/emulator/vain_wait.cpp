#include "harness/platform/model/emulator/vain_wait.hpp"

#include <algorithm>
#include <optional>
#include <span>

#include "harness/platform/model/emulator/block_runner.hpp"

namespace gpubench::model {
namespace {

constexpr std::size_t longest_loop = 256;  // [events]

bool repeats(std::span<const std::uint64_t> log, std::size_t period) {
  return std::equal(log.begin() + static_cast<std::ptrdiff_t>(period), log.end(), log.begin());
}

// The fewest events after which the log's last part begins anew.
std::optional<std::size_t> period_of(std::span<const Event> log) {
  for (std::size_t period = 1; period <= std::min(longest_loop, log.size() / 2); ++period) {
    if (repeats(log.last(2 * period), period) && repeats(log, period)) return period;
  }
  return std::nullopt;
}

bool is_of_a_wait(Event e) {
  switch (kind_of(e)) {
    case EventKind::block:
    case EventKind::enter:
    case EventKind::leave:
    case EventKind::load:
      return true;
    default:
      return false;
  }
}

std::span<const std::uint64_t> second_half(const Log<std::uint64_t>& log) {
  return {log.data() + log.size() / 2, log.data() + log.size()};
}

}  // namespace

bool is_vain_wait(const LaneTrace& trace) {
  const auto events = second_half(trace.events);
  const auto period = period_of(events);
  if (!period) return false;
  const auto loop = events.last(*period);
  if (!std::ranges::all_of(loop, is_of_a_wait)) return false;
  const auto accesses = static_cast<std::size_t>(std::ranges::count_if(loop, is_access));
  const auto turns = events.size() / *period;
  if (accesses == 0) return false;
  const std::span all{trace.addresses.data(), trace.addresses.size()};
  return repeats(all.last(std::min(all.size(), accesses * turns)), accesses);
}

void BlockRunner::look_for_vain_wait() {
  const LaneTrace& mine = *block_.trace();
  if (mine.events.size() < looks_of_a_wait || !is_vain_wait(mine)) return;
  Event last = 0;
  for (std::size_t i = mine.events.size(); i > 0 && !is_access(last); --i)
    last = mine.events[i - 1];
  block_.fault(vain_wait_fault, reinterpret_cast<const void*>(code_address_of(last)));
}

void note_long_log() {
  if (running_block != nullptr && running_block->block().trace() != nullptr) {
    running_block->look_for_vain_wait();
  }
}

}  // namespace gpubench::model
