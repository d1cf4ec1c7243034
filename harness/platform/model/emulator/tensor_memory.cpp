#include "harness/platform/model/emulator/tensor_memory.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "harness/platform/model/emulator/host_code.hpp"

namespace gpubench::model {

namespace operation = warp_operation;

void TensorMemory::begin_block() {
  const unsigned warps = block_.lanes().warps();
  words_.clear();
  columns_.clear();
  allocations_.clear();
  loads_.assign(warps, {});
  issuers_.assign(warps, 0);
  is_relinquished_ = false;
  group_.reset();
  peer_ = nullptr;
  meetings_.clear();
}

std::string TensorMemory::leftover() const {
  if (allocations_.empty()) return "";
  return "tensor memory that is not deallocated when its block ends: " +
         std::to_string(allocations_.front().columns) + " columns";
}

// --- what a whole warp does ---

void TensorMemory::take_part(int of, std::uint64_t value, const char* name, const void* code) {
  const LaneScheduler& lanes = block_.lanes();
  if (lanes.lanes_in(lanes.current_warp()) != warp_lanes) {
    const HostCode host;
    block_.fault(std::string(name) + " by a warp of fewer than 32 threads,", code);
  }
  collectives_.take_part({.operation = of, .value = value}, code, this);
}

namespace {

// What lanes say of an allocation.
struct Asked {
  std::uint64_t place;  // an address in shared memory, or what is freed
  unsigned columns;
  CtaGroup group;
};

}  // namespace

void TensorMemory::allocate(unsigned* place, unsigned count, CtaGroup group, const void* code) {
  const Asked mine{reinterpret_cast<std::uint64_t>(place), count, group};
  take_part(operation::allocate_tensor_memory, reinterpret_cast<std::uint64_t>(&mine),
            "tcgen05.alloc", code);
  wait_for_peer(group, code);
}
void TensorMemory::free(unsigned address, unsigned count, CtaGroup group, const void* code) {
  const Asked mine{address, count, group};
  take_part(operation::free_tensor_memory, reinterpret_cast<std::uint64_t>(&mine),
            "tcgen05.dealloc", code);
  wait_for_peer(group, code);
}

unsigned TensorMemory::carry_out(unsigned warp, const WarpCall* const lanes[]) {
  const HostCode host;
  switch (lanes[0]->operation) {
    case operation::allocate_tensor_memory:
      allocate_for(lanes);
      break;
    case operation::free_tensor_memory:
      free_for(lanes);
      break;
    case operation::load_tensor_memory:
      load_for(warp, lanes);
      break;
    case operation::wait_for_tensor_memory:
      deliver(warp);
      break;
    case operation::store_tensor_memory:
      store_for(warp, lanes);
      break;
    default:
      finish(warp, &Column::stored);
  }
  return 0;
}

void TensorMemory::allocate_for(const WarpCall* const lanes[]) {
  const void* const code = code_of_warp();
  const Asked asked = *reinterpret_cast<const Asked*>(lanes[0]->value);
  for (unsigned lane = 1; lane < warp_lanes; ++lane) {
    const Asked& other = *reinterpret_cast<const Asked*>(lanes[lane]->value);
    if (other.place != asked.place || other.columns != asked.columns) {
      block_.fault("tcgen05.alloc whose lanes ask for different things,", code);
    }
  }
  require_group(asked.group, "tcgen05.alloc", code);
  if (asked.group == CtaGroup::pair && block_.is_traced() && !block_.cluster().memory->has_met()) {
    block_.fault(
        "tcgen05.alloc of cta_group::2 before the cluster has met: the other block need"
        " not have begun,",
        code);
  }
  const std::string what = "tcgen05.alloc of " + std::to_string(asked.columns) + " columns";
  if (!std::has_single_bit(asked.columns) || asked.columns < 32 || asked.columns > columns) {
    block_.fault(what + " (it takes powers of two from 32 to 512)", code);
  }
  if (is_relinquished_) block_.fault(what + " after tcgen05.relinquish_alloc_permit", code);
  if (!block_.shared().holds(asked.place)) {
    block_.fault(what + " whose address goes to what is not shared memory", code);
  }
  unsigned first = 0;
  for (const Allocation& other : allocations_) {
    first = std::max(first, other.first + other.columns);
  }
  if (first + asked.columns > columns) {
    block_.fault(what + ", more than this block has left: it would wait for ever", code);
  }
  is_relinquished_ = true;  // by the same call (include/tcgen05.hpp)
  if (words_.empty()) {
    words_.assign(std::size_t{rows} * columns, ~std::uint32_t{0});
    columns_.assign(columns, {});
  }
  allocations_.push_back({first, asked.columns});
  unsigned& most = block_.result().tensor_columns;
  most = std::max(most, first + asked.columns);
  block_.check_place(asked.place, sizeof(unsigned), EventKind::store, code);
  if (block_.is_traced()) {
    block_.check_order(false, asked.place, sizeof(unsigned), EventKind::store, code);
  }
  std::memcpy(reinterpret_cast<void*>(asked.place), &first, sizeof first);
  if (asked.group == CtaGroup::pair) meet({true, first, asked.columns}, code);
}

void TensorMemory::free_for(const WarpCall* const lanes[]) {
  const void* const code = code_of_warp();
  const Asked asked = *reinterpret_cast<const Asked*>(lanes[0]->value);
  require_group(asked.group, "tcgen05.dealloc", code);
  const auto found = std::ranges::find_if(allocations_, [&](const Allocation& a) {
    return a.first == asked.place && a.columns == asked.columns;
  });
  if (found == allocations_.end()) {
    block_.fault("tcgen05.dealloc of " + std::to_string(asked.columns) + " columns from column " +
                     std::to_string(asked.place) + " on, which no tcgen05.alloc has given,",
                 code);
  }
  require_known_done(*this, found->first, found->columns, deallocation, code);
  std::fill_n(columns_.begin() + found->first, found->columns, Column{});
  const Meeting meeting{false, found->first, found->columns};
  allocations_.erase(found);
  if (asked.group == CtaGroup::pair) meet(meeting, code);
}

// --- what one lane does ---

bool TensorMemory::is_allocated(unsigned first, unsigned count) const {
  return std::ranges::any_of(allocations_, [&](const Allocation& a) {
    return first >= a.first && first + count <= a.first + a.columns;
  });
}

bool TensorMemory::is_known(const ByCores& work, const Arrivals::Known& known) {
  return work.with == 0 || known[work.who] >= work.with;
}

bool TensorMemory::is_known(const Arrivals::Known& accesses, unsigned by,
                            const Arrivals::Known& known) const {
  for (unsigned warp = 0; warp < accesses.size(); ++warp) {
    const std::uint32_t done = accesses[warp];
    const unsigned who = arrivals_.number_of(warp);
    const bool is_own = who == by && done != under_way;
    if (done != 0 && !is_own && (done == under_way || known[who] < done)) return false;
  }
  return true;
}

// A race unless the current warp knows that these columns, of this block or the other of its pair,
// have been written and read.
void TensorMemory::require_known_done(const TensorMemory& in, unsigned first, unsigned count,
                                      const Taker& by, const void* code) {
  if (!block_.is_traced()) return;
  const unsigned warp = block_.lanes().current_warp(), me = arrivals_.number_of(warp);
  const Arrivals::Known& known = arrivals_.known_to(warp);
  for (unsigned c = first; c < first + count; ++c) {
    const Column& column = in.columns_[c];
    const auto race = [&](const char* who) {
      block_.fault(std::string("race: ") + by.name + " of column " + std::to_string(c) +
                       in.whose(*this) + ", which " + who + ",",
                   code);
    };
    if (!in.is_known(column.read, me, known)) race("a warp may still be reading by tcgen05.ld");
    if (!in.is_known(column.stored, me, known)) race("a warp may still be writing by tcgen05.st");
    const auto is_done = [&](const ByCores& work) {
      const bool is_in_order = by.is_in_order && work.who == arrivals_.tensor_cores_of(warp);
      return is_in_order || is_known(work, known);
    };
    if (!is_done(column.written)) race("tcgen05.mma may still be writing");
    if (!is_done(column.multiplied)) race("tcgen05.mma may still be reading");
  }
}

// --- what both blocks of a pair do ---

void TensorMemory::require_group(CtaGroup group, const char* what, const void* code) {
  if (group == CtaGroup::pair && peer_ == nullptr) {
    block_.fault(std::string(what) + " of cta_group::2 in a kernel without clusters of two blocks,",
                 code);
  }
  const TensorMemory* const blocks[] = {this, peer_};
  for (const TensorMemory* const each : blocks) {
    if (each == nullptr || each->group_.value_or(group) == group) continue;
    block_.fault(std::string(what) + " of another cta_group than what the kernel used before,",
                 code);
  }
  group_ = group;
}

void TensorMemory::meet(const Meeting& mine, const void* code) {
  meetings_.push_back(mine);
  LaneScheduler& theirs = peer_->block_.lanes();
  for (unsigned lane = 0; lane < theirs.lanes(); ++lane) {
    if (theirs[lane].state == LaneState::at_peer) theirs.make_ready(lane);
  }
  if (peer_->meetings_.size() < meetings_.size()) return;
  if (peer_->meetings_[meetings_.size() - 1] == mine) return;
  block_.fault(std::string(mine.allocates ? "tcgen05.alloc" : "tcgen05.dealloc") + " of " +
                   std::to_string(mine.columns) +
                   " columns, where the other block of the pair does something else,",
               code);
}

void TensorMemory::wait_for_peer(CtaGroup group, const void* code) {
  if (group == CtaGroup::one) return;
  const std::size_t mine = meetings_.size();
  while (peer_->meetings_.size() < mine) block_.lanes().wait(LaneState::at_peer, code);
}

}  // namespace gpubench::model
