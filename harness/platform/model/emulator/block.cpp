#include "harness/platform/model/emulator/block.hpp"

#include <algorithm>
#include <optional>
#include <sstream>

#include "harness/platform/model/emulator/guard.hpp"
#include "harness/platform/model/emulator/host_code.hpp"
#include "harness/platform/model/emulator/source_location.hpp"

namespace gpubench::model {

const char* name_of(EventKind kind) {
  switch (kind) {
    case EventKind::load:
      return "load";
    case EventKind::store:
      return "store";
    case EventKind::copied_from:
      return "load of an asynchronous copy";
    case EventKind::copied_to:
      return "store of an asynchronous copy";
    default:
      return "atomic";
  }
}

std::string words(uint3 at) {
  std::ostringstream text;
  text << '(' << at.x << ',' << at.y << ',' << at.z << ')';
  return text.str();
}

Block::Block(DeviceMemory& memory, const MappedHost& is_mapped_host, const Ordering& ordering,
             BlockRunner* runner, void (*body)())
    : memory_(memory),
      is_mapped_host_(is_mapped_host),
      ordering_(ordering),
      lanes_(runner, body, recorder_, ordering_),
      copies_(shared_, recorder_.checker()) {}

void Block::begin(const KernelLaunch& launch, dim3 index, bool traced, ClusterMemory::Place place) {
  launch_ = &launch;
  index_ = {index.x, index.y, index.z};
  cluster_ = place;
  recent_ = {};
  next_recent_ = 0;
  unwritten_ = {};
  const std::uint64_t of_plane = index.y + std::uint64_t{launch.grid.y} * index.z;
  lanes_.begin_block(launch.block, index.x + launch.grid.x * of_plane);
  result_ = {};
  result_.lanes = lanes_.lanes();
  shared_.begin_block(launch.shared_bytes);
  recorder_.begin_block(lanes_.lanes(), shared_.words(), traced);
  copies_.begin_block(lanes_.lanes());
}

BlockResult Block::end() {
  if (has_unwritten_read() && result_.fault.empty()) result_.fault = describe_unwritten();
  lanes_.end_block();
  return std::move(result_);
}

void Block::fault(std::string_view what) { fault(what, nullptr); }

void Block::fault_of_access(std::string_view what, const void* code) {
  result_.is_illegal_access = true;
  fault(what, code);
}

void Block::fault(std::string_view what, const void* code) {
  const HostCode host;
  result_.fault = std::string(what) + " by thread " + words(threadIdx) + " of block " +
                  words(blockIdx) + (code == nullptr ? "" : " at " + source_location(code));
  // What was read there may be why; a race says it all by itself.
  if (has_unwritten_read() && !what.starts_with("race")) {
    result_.fault += ", after " + describe_unwritten();
  }
  lanes_.stop();
  lanes_.suspend();  // never resumed: the block is abandoned
  __builtin_unreachable();
}

void Block::end_in_deadlock() {
  lanes_.stop();
  const std::vector<Lane>& lanes = lanes_.all();
  const auto waiting = std::find_if(lanes.begin(), lanes.end(),
                                    [](const Lane& l) { return l.state != LaneState::done; });
  const auto other = std::find_if(waiting + 1, lanes.end(), [&](const Lane& l) {
    return l.state != LaneState::done && l.waiting_at != waiting->waiting_at;
  });
  const auto who = [&](auto lane) {
    return "thread " +
           words(thread_of(static_cast<unsigned>(lane - lanes.begin()), launch_->block)) +
           (lane->state == LaneState::at_barrier    ? " waits at the barrier "
            : lane->state == LaneState::at_cluster  ? " waits for the rest of the cluster "
            : lane->state == LaneState::at_mbarrier ? " waits for a phase of an mbarrier "
            : lane->state == LaneState::at_peer     ? " waits for the other block of its pair "
                                                    : " waits for its warp ") +
           "at " + source_location(lane->waiting_at);
  };
  std::ostringstream text;
  text << "divergent barrier in block " << words(index_) << ": " << who(waiting);
  if (other != lanes.end())
    text << ", " << who(other);
  else
    text << (waiting->state == LaneState::at_mbarrier ? ", which never ends"
                                                      : ", for lanes that never come");
  result_.fault = text.str();
}

void Block::note_copy(const AsyncCopy& copy) {
  const std::uint64_t offset = shared_.offset_of(copy.to);
  if (cluster_.memory != nullptr) {
    check_own_of_cluster(copy.to, copy.bytes, EventKind::store, copy.code);
  }
  MemoryChecker& checker = recorder_.checker();
  const auto verdict = checker.begin_copy(offset, copy.bytes, copy.barrier != nullptr);
  if (verdict != MemoryChecker::Verdict::good) {
    report(verdict, copy.to, copy.bytes, EventKind::copied_to, copy.code);
    // The thread has waited for what came before.
    checker.settle(offset, copy.bytes);
    checker.begin_copy(offset, copy.bytes, true);
  }
  copies_.add(copy);
}

std::pair<std::string, std::uint64_t> Block::home_of(std::uint64_t address) const {
  const auto* pointer = reinterpret_cast<const void*>(address);
  if (!memory_.in_range(pointer)) {
    const auto owner = cluster_.memory == nullptr || shared_.holds(address)
                           ? std::nullopt
                           : cluster_.memory->owner_of(address);
    return owner ? cluster_.memory->home(*owner) : shared_.home_of(address);
  }
  const Allocation* a = memory_.find(pointer);
  return {"an allocation of " + std::to_string(a->bytes) + " bytes",
          reinterpret_cast<std::uint64_t>(a->begin)};
}

std::string Block::place(std::uint64_t address, unsigned bytes) const {
  const auto [home, begin] = home_of(address);
  return "bytes " + std::to_string(address - begin) + ".." +
         std::to_string(address - begin + bytes - 1) + " of " + home;
}

void Block::check_global(const void* address, unsigned bytes, EventKind kind, const void* code) {
  const HostCode host;  // what fills a page may be instrumented itself
  check_bounds(address, bytes, kind, code);
  if (reinterpret_cast<std::uintptr_t>(address) % bytes == 0) return;
  fault_of_access("misaligned " + std::to_string(bytes) + "-byte " + name_of(kind) + " at byte " +
                      std::to_string(static_cast<const std::byte*>(address) -
                                     memory_.preceding(address)->begin) +
                      " of an allocation",
                  code);
}

void Block::check_bounds(const void* address, std::size_t bytes, EventKind kind, const void* code) {
  // The allocation that begins before the address says how far beyond its end the access lies.
  Allocation* a = memory_.preceding(address);
  if (a == nullptr || !a->contains(address, bytes)) {
    const std::string what = "out of bounds: " + std::to_string(bytes) + "-byte " + name_of(kind);
    if (a == nullptr) fault_of_access(what + " where nothing is allocated", code);
    const auto at = static_cast<const std::byte*>(address) - a->begin;
    fault_of_access(what + " at byte " + std::to_string(at) + " of an allocation of " +
                        std::to_string(a->bytes),
                    code);
  }
  const std::string forbidden = a->why_not(launch_->device);
  if (!forbidden.empty()) {
    fault_of_access(std::to_string(bytes) + "-byte " + name_of(kind) + forbidden, code);
  }
  DeviceMemory::touch(*a, address, bytes);
  if (std::find(recent_.begin(), recent_.end(), a) == recent_.end()) {
    recent_[next_recent_++ % recent_.size()] = a;
  }
}

void Block::check_shared(std::uint64_t address, unsigned bytes, EventKind kind, const void* code) {
  const HostCode host;
  const std::string mistake =
      shared_.mistake(address, bytes, std::to_string(bytes) + "-byte " + name_of(kind));
  if (!mistake.empty()) fault_of_access(mistake, code);
}

// What is neither device nor shared memory: registers and parameters on the lane's stack or where
// the launch keeps them, constants of the program, or host memory that the device may access.
void Block::check_builtin(EventKind kind, const void* code) {
  if (kind == EventKind::load) return;
  fault("store to threadIdx, blockIdx, blockDim or gridDim", code);
}

// Whether code that nobody trusts stores to what is neither its own nor the device's.
bool Block::is_forbidden_store(std::uint64_t at, unsigned bytes, EventKind kind) {
  if (kind == EventKind::load || !holds_guarded_code()) return false;
  const auto stack = reinterpret_cast<std::uint64_t>(lanes_.current_lane().stack);
  const GuardState& guard = *reinterpret_cast<const GuardState*>(stack);
  // The checker's own kernels store where a submission has told them.
  if (!guard.is_running() && at - stack < FiberStacks::stack_bytes) return false;
  if (guard.is_running() && guard.owns(at, bytes, stack + sizeof(GuardState))) return false;
  return !is_mapped_host(reinterpret_cast<const void*>(at), bytes);
}

void Block::check_own_of_cluster(std::uint64_t address, unsigned bytes, EventKind kind,
                                 const void* code) {
  const HostCode host;
  if (!shared_.is_dynamic(address)) {
    fault(std::string(
              "static shared variable, of which the model has only one for all blocks of a ") +
              (launch_->cooperative ? "cooperative grid" : "cluster") + ", accessed",
          code);
  }
  const std::string mistake = cluster_.memory->note_own(
      cluster_.number, address - shared_.dynamic_begin(), bytes, as_plain(kind));
  if (!mistake.empty()) fault(mistake, code);
}

bool Block::is_remote_access(const void* address, unsigned bytes, EventKind kind,
                             const void* code) {
  const auto at = reinterpret_cast<std::uint64_t>(address);
  ClusterMemory& cluster = *cluster_.memory;
  const std::optional<unsigned> owner = cluster.owner_of(at);
  if (!owner || *owner == cluster_.number) return false;
  const std::string misplaced = cluster.mistake(*owner, at, bytes, kind);
  if (!misplaced.empty()) fault_of_access(misplaced, code);
  LaneTrace* const trace = recorder_.trace();
  if (trace == nullptr) return true;
  const std::string mistake = cluster.note_remote(cluster_.number, *owner, at, bytes, kind, code);
  if (!mistake.empty()) fault(mistake, code);
  trace->events.push(make_event(code, kind, bytes));
  trace->addresses.push(at);
  if (kind == EventKind::load && (bytes == 4 || bytes == 8)) {
    recorder_.loads().note(
        at, bytes == 8 ? word_at<std::uint64_t>(address) : word_at<std::uint32_t>(address),
        Space::remote);
  }
  // Threads of this block are kept apart there as they are in global memory.
  const auto verdict = recorder_.checker().on_global(at, bytes, kind);
  if (verdict != MemoryChecker::Verdict::good) report(verdict, at, bytes, kind, code);
  return true;
}

bool Block::is_own(std::uint64_t at) {
  const auto stack = reinterpret_cast<std::uint64_t>(lanes_.current_lane().stack);
  const auto arguments = reinterpret_cast<std::uint64_t>(launch_->arguments.get());
  const auto arguments_end = reinterpret_cast<std::uint64_t>(launch_->argument_words.data()) +
                             launch_->argument_words.size_bytes();
  return at - stack < FiberStacks::stack_bytes || shared_.is_programs(at) ||
         (at >= arguments && at < arguments_end);
}

void Block::check_private(const void* address, unsigned bytes, EventKind kind, const void* code) {
  const auto at = reinterpret_cast<std::uint64_t>(address);
  if (is_own(at) && !is_forbidden_store(at, bytes, kind)) {
    if (kind == EventKind::load || !shared_.is_programs(at)) return;
    const HostCode host;
    fault(std::to_string(bytes) + "-byte " + name_of(kind) +
              " to a variable of the program, which is no device memory (pass a pointer instead),",
          code);
  }
  const HostCode host;
  if (is_mapped_host(address, bytes)) {
    if (is_traced()) {
      (kind == EventKind::load ? result_.host_bytes_read : result_.host_bytes_written) += bytes;
    }
    return;
  }
  if (cluster_.memory != nullptr && is_remote_access(address, bytes, kind, code)) return;
  const std::uint64_t beyond = at - shared_.dynamic_begin();
  if (launch_->shared_bytes > 0 && beyond < 2 * launch_->shared_bytes + 4096) {
    fault_of_access("out of bounds: " + std::to_string(bytes) + "-byte " + name_of(kind) +
                        " at byte " + std::to_string(beyond) + " of " +
                        std::to_string(launch_->shared_bytes) + " of dynamic shared memory",
                    code);
  }
  std::ostringstream text;
  text << "no device memory: " << bytes << "-byte " << name_of(kind) << " at host address 0x"
       << std::hex << at;
  fault_of_access(text.str(), code);
}

}  // namespace gpubench::model
