#include "harness/platform/model/emulator/thread_copies.hpp"

#include <cstring>
#include <string>
#include <vector>

#include "harness/platform/model/emulator/host_code.hpp"

namespace gpubench::model {

void ThreadCopies::copy(void* to_shared, const void* from_global, std::size_t bytes,
                        std::size_t zeros, const void* code) {
  const auto to = reinterpret_cast<std::uint64_t>(to_shared);
  const auto from = reinterpret_cast<std::uint64_t>(from_global);
  const auto refuse = [&](const char* why) {
    const HostCode host;
    block_.fault("asynchronous copy of " + std::to_string(bytes) + " bytes " + why, code);
  };
  if (bytes != 4 && bytes != 8 && bytes != 16) refuse("(it takes 4, 8 or 16)");
  if (zeros > bytes) refuse("with more zeros than that");
  if (!block_.shared().holds(to)) refuse("to what is not shared memory");
  if (to % bytes != 0) refuse("to a misaligned address");
  if (from % bytes != 0) refuse("from a misaligned address");
  const bool is_global =
      block_.is_global(from_global) || block_.is_mapped_host(from_global, bytes - zeros);
  if (zeros < bytes && !is_global) refuse("from what is not global memory");
  const auto width = static_cast<unsigned>(bytes);
  block_.check_place(to, width, EventKind::copied_to, code);
  auto* target = static_cast<std::byte*>(to_shared);
  const auto* source = static_cast<const std::byte*>(from_global);
  // One that is cut short is recorded in pieces that are powers of two.
  std::size_t done = 0;
  for (std::size_t piece = bytes; piece > 0; piece /= 2) {
    if (done + piece > bytes - zeros) continue;
    block_.on_access(source + done, static_cast<unsigned>(piece), EventKind::copied_from, code);
    std::memcpy(target + done, source + done, piece);
    done += piece;
  }
  std::memset(target + done, 0, zeros);
  const unsigned me = block_.lanes().current();
  if (LaneTrace* const trace = block_.trace()) {
    const HostCode host;
    trace->events.push(make_event(code, EventKind::copied_to, width));
    trace->addresses.push(to);
    block_.note_copy(
        {.to = to, .bytes = width, .lane = me, .code = code, .group = lanes_[me].commits});
  }
  if (zeros < bytes) lanes_[me].has_open_copies = true;
}

void ThreadCopies::commit() {
  Groups& mine = lanes_[block_.lanes().current()];
  mine.holding = mine.holding << 1 | (mine.has_open_copies ? 1 : 0);
  mine.has_open_copies = false;
  mine.fmas_at_commit = block_.recorder().computed_so_far();
  ++mine.commits;
}

void ThreadCopies::wait(std::size_t groups_left, const void* code) {
  Groups& mine = lanes_[block_.lanes().current()];
  if (block_.is_traced()) end_copies(groups_left, code);
  if (groups_left >= 64 || mine.holding >> groups_left == 0) return;
  LaneRecorder& recorder = block_.recorder();
  const bool alone = groups_left == 0 && recorder.computed_so_far() == mine.fmas_at_commit;
  (alone ? recorder.copy_waits().alone : recorder.copy_waits().beside) +=
      1 / static_cast<double>(groups_left + 1);
  mine.holding &= (std::uint64_t{1} << groups_left) - 1;
}

// What the lane has waited for now is there.
void ThreadCopies::end_copies(std::size_t groups_left, const void* code) {
  const unsigned me = block_.lanes().current();
  std::vector<std::uint32_t>& unwaited = block_.copies().unwaited(me);
  if (unwaited.empty()) return;
  const HostCode host;
  const auto is_done = [&](std::uint32_t i) {
    return block_.copies()[i].group + groups_left < lanes_[me].commits;
  };
  for (const std::uint32_t i : unwaited) {
    if (!is_done(i)) continue;
    const AsyncCopy& copy = block_.copies()[i];
    const auto verdict =
        block_.recorder().checker().end_copy(block_.shared().offset_of(copy.to), copy.bytes);
    if (verdict != MemoryChecker::Verdict::good) {
      block_.report(verdict, copy.to, copy.bytes, EventKind::copied_to, code);
    }
  }
  std::erase_if(unwaited, is_done);
}

}  // namespace gpubench::model
