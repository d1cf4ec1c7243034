// What a block says of accesses that nothing orders, and of what nobody has written.
#include <string>
#include <utility>

#include "harness/platform/model/emulator/block.hpp"
#include "harness/platform/model/emulator/host_code.hpp"
#include "harness/platform/model/emulator/source_location.hpp"

namespace gpubench::model {

std::pair<Event, std::uint64_t> Block::last_access(unsigned lane, EventKind kind,
                                                   std::uint64_t begin, std::uint64_t end) const {
  if (lanes_[lane].state == LaneState::done &&
      lanes_[lane].ended_in != recorder_.checker().interval()) {
    return {};
  }
  const LaneTrace& trace = recorder_.traces()[lane];
  std::size_t address = trace.addresses.size();
  for (std::size_t i = trace.events.size(); i-- > 0;) {
    const Event e = trace.events[i];
    if (is_block_barrier(e)) break;
    if (!is_access(e)) continue;
    const std::uint64_t at = trace.addresses[--address];
    if (as_plain(kind_of(e)) == kind && at < end && at + bytes_of(e) > begin) return {e, at};
  }
  return {};
}

std::string Block::describe_unwritten() const {
  const UnwrittenRead& read = unwritten_;
  return "uninitialised shared memory: " + std::to_string(read.bytes) + "-byte " +
         name_of(read.kind) + " at " + place(read.address, read.bytes) +
         ", not all of which the block has written, by thread " +
         words(thread_of(read.lane, launch_->block)) + " of block " + words(index_) + " at " +
         source_location(read.code);
}

void Block::report(MemoryChecker::Verdict verdict, std::uint64_t address, unsigned bytes,
                   EventKind kind, const void* code) {
  if (verdict == MemoryChecker::Verdict::never_written) {
    if (!has_unwritten_read()) unwritten_ = {lanes_.current(), address, bytes, kind, code};
    return;
  }
  const HostCode host;
  if (verdict == MemoryChecker::Verdict::under_way) {
    if (!copies_.may_use(address, bytes, lanes_.current())) {
      report_unawaited(address, bytes, kind, code);
    }
    verdict = recorder_.checker().on_copied(shared_.offset_of(address), bytes, as_plain(kind));
    if (verdict == MemoryChecker::Verdict::good) return;
  }
  report_race(address, bytes, kind, code);
}

void Block::report_unawaited(std::uint64_t address, unsigned bytes, EventKind kind,
                             const void* code) {
  const std::uint64_t end = address + bytes;
  std::uint64_t first = address;
  while (first < end && copies_.may_use(first, 1, lanes_.current())) first += 4;
  const AsyncCopy& copy = *copies_.into(first);
  fault("asynchronous copy that has not been waited for: " + std::to_string(copy.bytes) +
            " bytes to " + place(copy.to, copy.bytes) + " by thread " +
            words(thread_of(copy.lane, launch_->block)) + " at " + source_location(copy.code) +
            ", and " + std::to_string(bytes) + "-byte " + name_of(kind) + " at " +
            place(address, bytes),
        code);
}

void Block::report_race(std::uint64_t address, unsigned bytes, EventKind kind, const void* code) {
  const std::string what = std::to_string(bytes) + "-byte " + name_of(kind);
  // The others' traces still hold the other access.
  const MemoryChecker::Opponent& opponent = recorder_.checker().opponent();
  unsigned other = opponent.thread;
  auto access = std::pair<Event, std::uint64_t>{};
  if (!opponent.in_another_warp) {
    access = last_access(other, opponent.kind, address, address + bytes);
  } else {
    for (unsigned lane = 0; lane < lanes_.lanes() && access.first == 0; ++lane) {
      if (lane / warp_lanes == lanes_.current_warp()) continue;
      other = lane;
      access = last_access(lane, opponent.kind, address, address + bytes);
    }
  }
  if (access.first == 0) {  // a store where a thread waited for the end of its copy
    const AsyncCopy* const copy = copies_.into(address);
    if (copy == nullptr) fault("race: " + what + " at " + place(address, bytes), code);
    other = copy->lane;
    access = {make_event(copy->code, EventKind::store, copy->bytes), copy->to};
  }
  const bool both_store = kind == EventKind::store && opponent.kind == EventKind::store;
  const auto* code_of_other = reinterpret_cast<const void*>(code_address_of(access.first));
  fault("race: " + std::to_string(bytes_of(access.first)) + "-byte " + name_of(opponent.kind) +
            " at " + place(access.second, bytes_of(access.first)) + " by thread " +
            words(thread_of(other, launch_->block)) + " at " + source_location(code_of_other) +
            ", and with no barrier between them" +
            (both_store ? " (a race even if both store one value) " : " ") + what + " at " +
            place(address, bytes),
        code);
}

}  // namespace gpubench::model
