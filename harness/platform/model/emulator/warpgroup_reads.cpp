#include "harness/platform/model/emulator/warpgroup_reads.hpp"

#include <algorithm>
#include <string>

#include "harness/platform/model/emulator/host_code.hpp"

namespace gpubench::model {

void WarpgroupReads::note(std::uint64_t address, unsigned warp) {
  const void* const code = block_.lanes().current_lane().waiting_at;
  const std::uint64_t word = block_.shared().offset_of(address) / 4;
  if (!block_.recorder().checker().is_under_way(word)) {
    block_.check_order(false, address, 16, EventKind::load, code);
    return;
  }
  const std::uint32_t index = block_.copies().into_word(word);
  AsyncCopy& copy = block_.copies()[index];
  bool awaited = true;  // by the whole warp
  for (unsigned lane = 0; lane < warp_lanes; ++lane) {
    awaited = awaited && copy.is_seen_by(warp * warp_lanes + lane);
  }
  if (!awaited) {
    block_.report(MemoryChecker::Verdict::under_way, address, 16, EventKind::load, code);
  }
  copy.read.resize(arrivals_.who_arrive());
  Unwaited& mine = warps_[warp];
  const auto known = std::find_if(mine.reads.begin(), mine.reads.end(),
                                  [&](const auto& read) { return read.first == index; });
  if (known == mine.reads.end()) {
    mine.reads.emplace_back(index, mine.groups);
    copy.read[arrivals_.number_of(warp)] = AsyncCopy::reading;
  } else {
    known->second = mine.groups;
  }
}

void WarpgroupReads::note_by_lane(std::uint64_t address, const void* code) {
  const LaneScheduler& lanes = block_.lanes();
  const std::uint64_t word = block_.shared().offset_of(address) / 4;
  if (!block_.recorder().checker().is_under_way(word)) {
    block_.check_order(false, address, 16, EventKind::load, code);
    return;
  }
  AsyncCopy& copy = block_.copies()[block_.copies().into_word(word)];
  if (!copy.is_seen_by(lanes.current())) {
    block_.report(MemoryChecker::Verdict::under_way, address, 16, EventKind::load, code);
  }
  note_in(copy, arrivals_.tensor_cores_of(lanes.current_warp()));
}

void WarpgroupReads::note_in(AsyncCopy& copy, unsigned who) {
  copy.read.resize(arrivals_.who_arrive());
  copy.read[who] = arrivals_.made_by(who) + 1;
}

void WarpgroupReads::wait(unsigned warp, unsigned groups_left) {
  if (!block_.is_traced()) return;
  const HostCode host;
  Unwaited& mine = warps_[warp];
  std::erase_if(mine.reads, [&](const auto& read) {
    const bool is_done = read.second + groups_left < mine.groups;
    const unsigned me = arrivals_.number_of(warp);
    if (is_done) block_.copies()[read.first].read[me] = arrivals_.made_by(me) + 1;
    return is_done;
  });
}

void WarpgroupReads::replace(const AsyncCopy& by) {
  CopyLog& copies = block_.copies();
  MemoryChecker& checker = block_.recorder().checker();
  const std::uint64_t offset = block_.shared().offset_of(by.to);
  const Arrivals::Known& known = arrivals_.known_to(block_.lanes().current_warp());
  for (std::uint64_t word = offset / 4; word < (offset + by.bytes) / 4; word += 4) {
    const std::uint32_t index = copies.into_word(word);
    if (index == CopyLog::none || !checker.is_under_way(word)) continue;
    const AsyncCopy& before = copies[index];
    if (before.read.empty()) continue;
    for (unsigned who = 0; who < before.read.size(); ++who) {
      const std::uint32_t done = before.read[who];
      if (done == 0 || (done != AsyncCopy::reading && known[who] >= done)) continue;
      const std::string reader =
          arrivals_.is_warp(who)
              ? "warp " + std::to_string(arrivals_.warp_of(who)) + " may still be reading by wgmma"
              : "the Tensor Cores may still be reading by tcgen05.mma";
      block_.fault("race: bulk copy to " + block_.place(by.to, by.bytes) + ", which " + reader +
                       (done == AsyncCopy::reading ? " that it has not waited for"
                                                   : ", for no arrival says otherwise") +
                       ",",
                   by.code);
    }
    checker.settle(word * 4, 16);
    copies.forget(index);
  }
}

}  // namespace gpubench::model
