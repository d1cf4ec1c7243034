#include "harness/platform/model/emulator/block_runner.hpp"

#include <link.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <span>
#include <sstream>

#include "harness/contents/random.hpp"
#include "harness/platform/model/emulator/matrices.hpp"
#include "harness/platform/model/emulator/source_location.hpp"
#include "harness/platform/model/include/bulk_copy.hpp"
#include "harness/platform/model/include/cooperative_groups.h"
#include "harness/platform/model/include/cuda_pipeline_primitives.h"
#include "harness/platform/model/include/device_clock.hpp"
#include "harness/platform/model/include/integer_mad.hpp"
#include "harness/platform/model/include/outer_product.hpp"
#include "harness/platform/model/include/small_float.h"
#include "harness/platform/model/launch/symbols.hpp"
#include "harness/platform/model/memory/tensor_map.hpp"

__constinit thread_local uint3 threadIdx;
__constinit thread_local uint3 blockIdx;
__constinit thread_local dim3 blockDim;
__constinit thread_local dim3 gridDim;

namespace gpubench::model {

__constinit thread_local BlockRunner* running_block = nullptr;

namespace {

// The runner's own work in the middle of a kernel, where it is more than arithmetic. What the
// standard library's templates do there must not be taken for the kernel's accesses: the linker may
// have kept the copy of a template that was compiled, and instrumented, with a kernel.
class HostCode {
 public:
  HostCode() : interrupted_(running_block) { running_block = nullptr; }
  ~HostCode() { running_block = interrupted_; }
  HostCode(const HostCode&) = delete;
  HostCode& operator=(const HostCode&) = delete;

 private:
  BlockRunner* interrupted_;
};

// Operations of collective(): the shuffles keep their own numbers.
constexpr int vote = 100;
constexpr int warp_sync = 101;
constexpr int matrix_load = 102;  // and whether it transposes
constexpr int matrices = 104;     // and the Tensor
constexpr int warpgroup_matrices = matrices + static_cast<int>(tensor_types);  // likewise
constexpr int shared_matrices = warpgroup_matrices + static_cast<int>(tensor_types);
constexpr int commit_matrices = shared_matrices + 1, wait_for_matrices = commit_matrices + 1;

WarpOperation warp_operation_of(int operation) {
  return operation >= matrices      ? WarpOperation::matrices
         : operation >= matrix_load ? WarpOperation::matrix_load
         : operation == warp_sync   ? WarpOperation::warp_barrier
         : operation == vote        ? WarpOperation::vote
                                    : WarpOperation::shuffle;
}

std::uint64_t linear(dim3 extent) {
  return static_cast<std::uint64_t>(extent.x) * extent.y * extent.z;
}

uint3 thread_of(unsigned lane, dim3 block) {
  return {lane % block.x, lane / block.x % block.y, lane / (block.x * block.y)};
}

std::string words(uint3 at) {
  std::ostringstream text;
  text << '(' << at.x << ',' << at.y << ',' << at.z << ')';
  return text.str();
}

// Where the running program's variables are: its own (constants among them), and this thread's.
struct Image {
  std::uint64_t begin = ~std::uint64_t{0}, end = 0;
  std::uint64_t thread_begin = 0, thread_bytes = 0;
};

Image program_image() {
  Image image;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        auto* found = static_cast<Image*>(out);
        for (const ElfW(Phdr) & header : std::span(info->dlpi_phdr, info->dlpi_phnum)) {
          if (header.p_type == PT_LOAD) {
            const std::uint64_t begin = info->dlpi_addr + header.p_vaddr;
            found->begin = std::min(found->begin, begin);
            found->end = std::max(found->end, begin + header.p_memsz);
          } else if (header.p_type == PT_TLS && info->dlpi_tls_data != nullptr) {
            found->thread_begin = reinterpret_cast<std::uint64_t>(info->dlpi_tls_data);
            found->thread_bytes = header.p_memsz;
          }
        }
        return 1;  // the program comes first; libraries hold no kernels
      },
      &image);
  return image;
}

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

}  // namespace

BlockRunner::BlockRunner(DeviceMemory& memory, const MappedHost& is_mapped_host,
                         const Ordering& ordering)
    : memory_(memory), is_mapped_host_(is_mapped_host), ordering_(ordering) {}

void BlockRunner::attach() {
  const Image image = program_image();
  static_shared_ = image.thread_begin;
  static_shared_bytes_ = image.thread_bytes;
  program_begin_ = image.begin;
  program_bytes_ = image.end - image.begin;
  if (words_of_variables_.empty()) find_variables();
}

// Where symbols were stripped, every variable but ours may be a kernel's.
void BlockRunner::find_variables() {
  const std::size_t words = static_shared_bytes_ / 4 + 1;
  const auto& variables = thread_variables();
  words_of_variables_.assign(words, variables.empty() ? Word::variable : Word::other);
  const auto mark = [&](std::uint64_t offset, std::uint64_t bytes, Word what) {
    const std::uint64_t end = std::min<std::uint64_t>((offset + bytes) / 4, words);
    for (std::uint64_t i = (offset + 3) / 4; i < end; ++i) words_of_variables_[i] = what;
  };
  for (const ThreadVariable& v : variables) mark(v.offset, v.bytes, Word::variable);
  const auto mark_ours = [&](const auto& ours, Word what) {
    mark(reinterpret_cast<std::uint64_t>(&ours) - static_shared_, sizeof(ours), what);
  };
  mark_ours(threadIdx, Word::builtin);
  mark_ours(blockIdx, Word::builtin);
  mark_ours(blockDim, Word::builtin);
  mark_ours(gridDim, Word::builtin);
  mark_ours(running_block, Word::other);
}

BlockResult BlockRunner::run(const KernelLaunch& launch, dim3 index, bool traced) {
  const auto lanes = static_cast<unsigned>(linear(launch.block));
  launch_ = &launch;
  result_ = {};
  result_.lanes = lanes;
  faulted_ = false;
  recent_ = {};
  next_recent_ = 0;
  unwritten_ = {};
  is_traced_ = traced;
  if (traced) checker_.begin_block(lanes, (static_shared_bytes_ + launch.shared_bytes) / 4 + 2);
  if (!(launch.block.x == thread_index_of_.x && launch.block.y == thread_index_of_.y &&
        launch.block.z == thread_index_of_.z)) {
    thread_index_.resize(lanes);
    for (unsigned lane = 0; lane < lanes; ++lane) {
      thread_index_[lane] = thread_of(lane, launch.block);
    }
    thread_index_of_ = launch.block;
  }
  lanes_.assign(lanes, Lane{});
  live_ = lanes;
  ready_.assign((lanes + warp_lanes - 1) / warp_lanes, ~0u);
  if (lanes % warp_lanes != 0) ready_.back() = (1u << lanes % warp_lanes) - 1;
  waiting_.assign(ready_.size(), 0);
  if (traced) {
    traces_.resize(lanes);
    for (LaneTrace& trace : traces_) trace.clear();
    chains_.assign(lanes, FmaChain{});
    load_chains_.assign(lanes, LoadChain{});
  }
  mbarriers_.clear();
  products_.assign(ready_.size(), {});
  known_.assign(ready_.size(), Known(ready_.size()));
  bulk_phases_ = bulk_phases_seen_ = 0;
  if (!copies_.empty()) {
    for (auto& of_lane : unwaited_) of_lane.clear();
    copies_.clear();
    unsettled_.clear();
  }
  // Fresh shared memory reads as NaN, as fresh device memory does.
  dynamic_shared_.resize((launch.shared_bytes + sizeof(BankRow) - 1) / sizeof(BankRow));
  std::memset(dynamic_shared_.data(), 0xFF, dynamic_shared_.size() * sizeof(BankRow));
  for (const std::size_t i : poisoned_) {
    const ThreadVariable& variable = thread_variables()[i];
    std::memset(reinterpret_cast<void*>(static_shared_ + variable.offset), 0xFF, variable.bytes);
  }

  blockIdx = {index.x, index.y, index.z};
  blockDim = launch.block;
  gridDim = launch.grid;

  turns_.resize(ready_.size());
  std::iota(turns_.begin(), turns_.end(), 0u);
  drawn_ = 0;
  const std::uint64_t block =
      index.x + launch.grid.x * (index.y + std::uint64_t{launch.grid.y} * index.z);
  block_seed_ = random_bits(ordering_.seed, block);
  late_copies_.clear();

  while (live_ > 0 && !faulted_) {
    bool progressed = false;
    if (ordering_.random_warps) shuffle_turns();
    for (const unsigned warp : turns_) {
      while (ready_[warp] != 0 && !faulted_) {
        resume(warp);
        progressed = true;
      }
    }
    if (faulted_ || progressed || land_late_copies()) continue;
    if (!release_barrier()) {
      describe_deadlock();
    } else if (unwritten_.bytes != 0) {
      faulted_ = true;
    }
  }
  if (unwritten_.bytes != 0 && result_.fault.empty()) result_.fault = describe_unwritten();
  for (Lane& lane : lanes_) {
    if (lane.stack != nullptr) stacks_.give_back(lane.stack);
  }
  return std::move(result_);
}

void BlockRunner::lane_main() {
  BlockRunner& self = *running_block;
  self.launch_->invoke(self.launch_->arguments.get());
  Lane& lane = self.lanes_[self.current_];
  lane.state = LaneState::done;
  lane.ended_in = self.checker_.interval();
  gpubench_switch_fiber(&lane.stack_pointer, self.scheduler_stack_pointer_);
  __builtin_unreachable();
}

void* BlockRunner::enter_next(unsigned warp) {
  current_ = warp * warp_lanes + take_ready_lane(warp);
  trace_ = is_traced_ ? &traces_[current_] : nullptr;
  if (is_traced_) checker_.enter(current_);
  threadIdx = thread_index_[current_];
  Lane& lane = lanes_[current_];
  if (lane.stack == nullptr) {
    const HostCode host;
    lane.stack = stacks_.take();
    lane.stack_pointer = FiberStacks::prepare(lane.stack, &lane_main);
  }
  return lane.stack_pointer;
}

void BlockRunner::resume(unsigned warp) {
  void* next = enter_next(warp);
  running_block = this;
  gpubench_switch_fiber(&scheduler_stack_pointer_, next);
  running_block = nullptr;
  Lane& lane = lanes_[current_];  // not the one that was entered, if lanes have switched since
  if (lane.state == LaneState::done) {
    --live_;
    stacks_.give_back(lane.stack);
    lane.stack = nullptr;
    if (waiting_[warp] != 0) resolve_without_ended(warp);
  }
}

void BlockRunner::suspend() {
  Lane& lane = lanes_[current_];
  const unsigned warp = current_ / warp_lanes;
  void* next = ready_[warp] != 0 && !faulted_ ? enter_next(warp) : scheduler_stack_pointer_;
  gpubench_switch_fiber(&lane.stack_pointer, next);
}

void BlockRunner::block_barrier(const void* code) {
  Lane& lane = lanes_[current_];
  lane.state = LaneState::at_barrier;
  lane.waiting_at = code;
  suspend();
  if (trace_ != nullptr) trace_->events.push(make_event(code, EventKind::collective, 1));
}

void BlockRunner::grid_barrier(const void* code) {
  const std::uint64_t blocks = linear(launch_->grid);
  if (blocks != 1) {
    const HostCode host;
    fault("grid-wide barrier (this_grid().sync()) in a grid of " + std::to_string(blocks) +
              " blocks, which the emulator runs one at a time,",
          code);
  }
  block_barrier(code);
}

// All live lanes wait at one barrier: let them go on. Lanes that have ended do not count.
bool BlockRunner::release_barrier() {
  const void* site = nullptr;
  for (const Lane& lane : lanes_) {
    if (lane.state == LaneState::done) continue;
    if (lane.state != LaneState::at_barrier) return false;
    if (site == nullptr) site = lane.waiting_at;
    if (lane.waiting_at != site) return false;
  }
  for (unsigned i = 0; i < lanes_.size(); ++i) {
    if (lanes_[i].state == LaneState::done) continue;
    lanes_[i].state = LaneState::ready;
    ready_[i / warp_lanes] |= 1u << i % warp_lanes;
  }
  for (const std::uint32_t word : ready_) result_.barriers += word != 0;
  if (is_traced_) {
    checker_.barrier();
    settle_copies();
    for (std::size_t warp = 0; warp < known_.size(); ++warp) {
      for (Known& of_warp : known_) of_warp[warp] = known_[warp][warp];
    }
  }
  return true;
}

void BlockRunner::describe_deadlock() {
  faulted_ = true;
  const auto waiting = std::find_if(lanes_.begin(), lanes_.end(),
                                    [](const Lane& l) { return l.state != LaneState::done; });
  const auto other = std::find_if(waiting + 1, lanes_.end(), [&](const Lane& l) {
    return l.state != LaneState::done && l.waiting_at != waiting->waiting_at;
  });
  const auto who = [&](auto lane) {
    return "thread " +
           words(thread_of(static_cast<unsigned>(lane - lanes_.begin()), launch_->block)) +
           (lane->state == LaneState::at_barrier    ? " waits at the barrier "
            : lane->state == LaneState::at_mbarrier ? " waits for a phase of an mbarrier "
                                                    : " waits for its warp ") +
           "at " + source_location(lane->waiting_at);
  };
  std::ostringstream text;
  text << "divergent barrier in block " << words(blockIdx) << ": " << who(waiting);
  if (other != lanes_.end())
    text << ", " << who(other);
  else
    text << (waiting->state == LaneState::at_mbarrier ? ", which never ends"
                                                      : ", for lanes that never come");
  result_.fault = text.str();
}

void BlockRunner::fault(std::string_view what, const void* code) {
  const HostCode host;
  faulted_ = true;
  result_.fault = std::string(what) + " by thread " + words(threadIdx) + " of block " +
                  words(blockIdx) + " at " + source_location(code);
  // What was read there may be why; a race says it all by itself.
  if (unwritten_.bytes != 0 && !what.starts_with("race")) {
    result_.fault += ", after " + describe_unwritten();
  }
  suspend();  // never resumed: run() abandons the block
  __builtin_unreachable();
}

std::uint64_t BlockRunner::collective(unsigned mask, int operation, std::uint64_t value,
                                      unsigned argument, int width, const void* code) {
  const unsigned warp = current_ / warp_lanes;
  const unsigned own = 1u << current_ % warp_lanes;
  // Lanes beyond the block's end do not exist; CUDA lets a full mask name them.
  if (lanes_in(warp) < warp_lanes) mask &= (1u << lanes_in(warp)) - 1;
  if ((mask & own) == 0) fault("warp collective whose mask leaves out its own lane", code);

  Lane& lane = lanes_[current_];
  lane.state = LaneState::at_collective;
  lane.waiting_at = code;
  lane.mask = mask;
  lane.value = value;
  lane.operation = operation;
  lane.argument = argument;
  lane.width = width;
  waiting_[warp] |= own;
  if (has_arrived(warp, mask, operation)) {
    resolve(warp, mask);
    if (is_traced_ && operation == warp_sync) checker_.enter(current_);
  } else {
    suspend();
  }
  if (lanes_[current_].lacks_ended) {
    fault(operation >= matrices
              ? "matrix multiplication by a warp of which a lane has already ended,"
          : operation >= matrix_load ? "ldmatrix by a warp of which a lane has already ended,"
                                     : "shuffle that reads from a lane which has already ended,",
          code);
  }
  if (trace_ != nullptr) trace_->events.push(make_event(code, EventKind::collective));
  return lanes_[current_].answer;
}

// Lanes that have ended are not waited for.
bool BlockRunner::has_arrived(unsigned warp, unsigned mask, int operation) const {
  // From the highest lane down: lanes run in ascending order, so who is missing is found at once.
  for (unsigned rest = mask; rest != 0;) {
    const unsigned highest = warp_lanes - 1 - static_cast<unsigned>(std::countl_zero(rest));
    rest &= ~(1u << highest);
    const Lane& other = lanes_[warp * warp_lanes + highest];
    if (other.state == LaneState::done) continue;
    if (other.state != LaneState::at_collective || other.mask != mask ||
        other.operation != operation) {
      return false;
    }
  }
  return true;
}

// A lane of `warp` has ended: those that waited for nobody else go on.
void BlockRunner::resolve_without_ended(unsigned warp) {
  for (unsigned rest = waiting_[warp]; rest != 0; rest &= waiting_[warp] & (rest - 1)) {
    const Lane& lane = lanes_[warp * warp_lanes + static_cast<unsigned>(std::countr_zero(rest))];
    if (has_arrived(warp, lane.mask, lane.operation)) resolve(warp, lane.mask);
  }
}

void BlockRunner::resolve(unsigned warp, unsigned mask) {
  Lane* lanes = &lanes_[warp * warp_lanes];
  unsigned present = mask;
  for (unsigned rest = mask; rest != 0; rest &= rest - 1) {
    const int i = std::countr_zero(rest);
    if (lanes[i].state == LaneState::done) present &= ~(1u << i);
  }
  waiting_[warp] &= ~present;
  const int operation = lanes[std::countr_zero(present)].operation;
  std::uint64_t instructions = 1;
  if (operation >= matrices && present == ~0u) {
    instructions = multiply(operation, warp);
  } else if (operation >= matrix_load && present == ~0u) {
    distribute_matrices(operation == matrix_load + 1, warp);
  }
  result_.warp_operations[static_cast<std::size_t>(warp_operation_of(operation))] += instructions;
  if (is_traced_ && operation == warp_sync) {
    checker_.sync_warp(warp, mask, ~0u >> (warp_lanes - lanes_in(warp)));
  }
  unsigned votes = 0;
  for (unsigned rest = present; rest != 0; rest &= rest - 1) {
    const int i = std::countr_zero(rest);
    votes |= static_cast<unsigned>(lanes[i].value & 1) << i;
  }
  for (unsigned rest = present; rest != 0; rest &= rest - 1) {
    const int i = std::countr_zero(rest);
    Lane& lane = lanes[i];
    lane.lacks_ended = operation >= matrix_load && present != ~0u;
    if (operation >= vote) {
      lane.answer = votes;
    } else {
      // A source outside the segment, or not taking part, gives the lane its own value back.
      const int segment = i / lane.width * lane.width;
      const auto argument = static_cast<int>(lane.argument % warp_lanes);
      int source = i;
      switch (static_cast<Shuffle>(lane.operation)) {
        case Shuffle::index:
          source = segment + (argument & (lane.width - 1));
          break;
        case Shuffle::up:
          source = i - argument < segment ? i : i - argument;
          break;
        case Shuffle::down:
          source = i + argument >= segment + lane.width ? i : i + argument;
          break;
        case Shuffle::exclusive_or:
          source = (i ^ argument) >= segment + lane.width ? i : i ^ argument;
          break;
      }
      lane.lacks_ended = ((mask & ~present) >> source & 1) != 0;
      lane.answer = (present >> source & 1) != 0 ? lanes[source].value : lane.value;
    }
    lane.state = LaneState::ready;
    if (warp * warp_lanes + static_cast<unsigned>(i) != current_) ready_[warp] |= 1u << i;
  }
}

// Each lane's value is where its elements are, on its own stack; all of them wait. Returns how many
// instructions these are.
unsigned BlockRunner::multiply(int operation, unsigned warp) {
  if (operation == shared_matrices) {
    multiply_from_shared(warp);
    return 1;
  }
  if (operation >= commit_matrices) {
    if (operation == commit_matrices) {
      ++products_[warp].groups;
    } else {
      wait_for_reads(warp, lanes_[warp * warp_lanes].argument);
    }
    return 0;
  }
  WarpElements elements;
  for (unsigned lane = 0; lane < warp_lanes; ++lane) {
    elements[lane] =
        reinterpret_cast<const MatrixElements*>(lanes_[warp * warp_lanes + lane].value);
  }
  const bool by_warpgroup = operation >= warpgroup_matrices;
  const auto type = static_cast<Tensor>(operation - (by_warpgroup ? warpgroup_matrices : matrices));
  const auto index = static_cast<std::size_t>(type);
  if (by_warpgroup) {
    multiply_tiles(type, elements, warp % 4);
    result_.warpgroup_flops[index] += 2 * 16 * warpgroup_columns * depth_of(type);
    return 1;
  }
  multiply_fragments(type, elements);
  const unsigned products = elements[0]->products;
  result_.tensor_flops[index] += std::uint64_t{2} * 16 * 8 * depth_of(type) * products;
  return products;
}

void BlockRunner::distribute_matrices(bool transposed, unsigned warp) {
  const Lane* lanes = &lanes_[warp * warp_lanes];
  const auto of = [&](unsigned lane) {
    return reinterpret_cast<const MatrixRow*>(lanes[lane].value);
  };
  constexpr unsigned rows = 8;
  for (unsigned lane = 0; lane < warp_lanes; ++lane) {
    const unsigned g = lane / 4, t = lane % 4;
    for (unsigned matrix = 0; matrix < warp_lanes / rows; ++matrix) {
      std::array<std::uint16_t, 2> pair;
      for (unsigned i = 0; i < 2; ++i) {
        const unsigned row = transposed ? 2 * t + i : g, column = transposed ? g : 2 * t + i;
        std::memcpy(&pair[i], of(matrix * rows + row)->row + column * sizeof pair[i],
                    sizeof pair[i]);
      }
      std::memcpy(of(lane)->to + matrix, pair.data(), sizeof pair);
    }
  }
}

void BlockRunner::load_matrices(unsigned* to, const void* row, bool transposed, const void* code) {
  constexpr unsigned bytes = 16;
  const bool whole = (current_ / warp_lanes + 1) * warp_lanes <= lanes_.size();
  const char* const wrong = !whole ? "ldmatrix by a warp of fewer than 32 threads,"
                            : !is_shared(reinterpret_cast<std::uint64_t>(row))
                                ? "ldmatrix of what is not shared memory,"
                                : nullptr;
  if (wrong != nullptr) fault(wrong, code);
  on_access(row, bytes, EventKind::load, code);
  const MatrixRow mine{to, static_cast<const std::byte*>(row)};
  collective(~0u, matrix_load + (transposed ? 1 : 0), reinterpret_cast<std::uint64_t>(&mine), 0,
             static_cast<int>(warp_lanes), code);
}

void BlockRunner::multiply_matrices(Tensor type, bool by_warpgroup, MatrixElements mine,
                                    const void* code) {
  const unsigned lanes_together = by_warpgroup ? 4 * warp_lanes : warp_lanes;
  if ((current_ / lanes_together + 1) * lanes_together > lanes_.size()) {
    const HostCode host;
    fault("matrix multiplication by " +
              std::string(by_warpgroup ? "a warpgroup of fewer than 128"
                                       : "a warp of fewer than 32") +
              " threads,",
          code);
  }
  collective(~0u, (by_warpgroup ? warpgroup_matrices : matrices) + static_cast<int>(type),
             reinterpret_cast<std::uint64_t>(&mine), 0, static_cast<int>(warp_lanes), code);
}

void BlockRunner::multiply_shared(const SharedProduct& mine, const void* code) {
  constexpr unsigned together = 4 * warp_lanes;
  if ((current_ / together + 1) * together > lanes_.size()) {
    const HostCode host;
    fault("matrix multiplication by a warpgroup of fewer than 128 threads,", code);
  }
  collective(~0u, shared_matrices, reinterpret_cast<std::uint64_t>(&mine), 0,
             static_cast<int>(warp_lanes), code);
}
void BlockRunner::commit_products(const void* code) {
  collective(~0u, commit_matrices, 0, 0, static_cast<int>(warp_lanes), code);
}
void BlockRunner::wait_for_products(unsigned groups_left, const void* code) {
  collective(~0u, wait_for_matrices, 0, groups_left, static_cast<int>(warp_lanes), code);
}

void BlockRunner::multiply_from_shared(unsigned warp) {
  const HostCode host;
  const auto of_lane = [&](unsigned lane) -> const SharedProduct& {
    return *reinterpret_cast<const SharedProduct*>(lanes_[warp * warp_lanes + lane].value);
  };
  const SharedProduct& first = of_lane(0);
  std::array<float*, warp_lanes> sums;
  for (unsigned lane = 0; lane < warp_lanes; ++lane) {
    const SharedProduct& mine = of_lane(lane);
    sums[lane] = mine.d;
    if (mine.a != first.a || mine.b != first.b || mine.adds != first.adds) {
      fault("wgmma of whose lanes some name other matrices,", lanes_[current_].waiting_at);
    }
  }
  constexpr unsigned rows = 16;
  const auto a = pieces_of(first.a, warp % 4 * rows, rows, warp);
  const auto b = pieces_of(first.b, 0, first.columns, warp);
  multiply_pieces(first.type, a, b, sums, first.adds);
  result_.warpgroup_flops[static_cast<std::size_t>(first.type)] +=
      2 * rows * first.columns * depth_of(first.type);
}

std::vector<const std::byte*> BlockRunner::pieces_of(std::uint64_t descriptor, unsigned first,
                                                     unsigned rows, unsigned warp) {
  const SharedMatrix matrix(descriptor);
  const void* const code = lanes_[current_].waiting_at;
  if (matrix.base_offset != 0) {
    fault("wgmma from a matrix with a base offset, which the model does not know,", code);
  }
  // The descriptor has the lowest 18 bits of the address, and all of shared memory is less.
  constexpr std::uint64_t reach = 0x40000;
  const std::uint64_t begin = dynamic_shared_begin();
  std::uint64_t start = (begin & ~(reach - 1)) | matrix.start;
  if (start < begin) start += reach;
  std::vector<const std::byte*> pieces;
  pieces.reserve(2 * std::size_t{rows});
  for (unsigned row = first; row < first + rows; ++row) {
    for (const unsigned piece : {0u, 1u}) {
      const std::uint64_t at = swizzled(start + matrix.offset(row, piece), matrix.swizzle);
      if (at < begin || at + 16 > begin + launch_->shared_bytes) {
        fault("wgmma from beyond the dynamic shared memory,", code);
      }
      if (is_traced_) note_read(at, warp);
      pieces.push_back(reinterpret_cast<const std::byte*>(at));
    }
  }
  return pieces;
}

// `warp` reads 16 bytes by wgmma, all its lanes for all.
void BlockRunner::note_read(std::uint64_t address, unsigned warp) {
  const void* const code = lanes_[current_].waiting_at;
  const std::uint64_t word = shared_offset(address) / 4;
  if (!checker_.is_under_way(word)) {
    check(false, address, 16, EventKind::load, code);
    return;
  }
  const std::uint32_t index = copy_of_word_[word] - 1;
  Copy& copy = copies_[index];
  const bool awaited = copy.barrier != nullptr &&
                       std::all_of(copy.barrier->seen.begin() + warp * warp_lanes,
                                   copy.barrier->seen.begin() + (warp + 1) * warp_lanes,
                                   [&](std::uint32_t phases) { return phases > copy.group; });
  if (!awaited) report(MemoryChecker::Verdict::under_way, address, 16, EventKind::load, code);
  copy.read.resize(ready_.size());
  Products& products = products_[warp];
  const auto known = std::find_if(products.reads.begin(), products.reads.end(),
                                  [&](const auto& read) { return read.first == index; });
  if (known == products.reads.end()) {
    products.reads.emplace_back(index, products.groups);
    copy.read[warp] = reading;
  } else {
    known->second = products.groups;
  }
}

void BlockRunner::wait_for_reads(unsigned warp, unsigned groups_left) {
  if (!is_traced_) return;
  const HostCode host;
  Products& products = products_[warp];
  std::erase_if(products.reads, [&](const auto& read) {
    const bool is_done = read.second + groups_left < products.groups;
    if (is_done) copies_[read.first].read[warp] = known_[warp][warp] + 1;
    return is_done;
  });
}

// A bulk copy may replace what an earlier one has brought and wgmma have read, if its thread knows
// of arrivals by which the readers were done.
void BlockRunner::replace_read_copies(const Copy& by) {
  const std::uint64_t offset = shared_offset(by.to);
  const Known& known = known_[current_ / warp_lanes];
  for (std::uint64_t word = offset / 4; word < (offset + by.bytes) / 4; word += 4) {
    const std::uint32_t index = copy_of_word_[word];
    if (index == 0 || !checker_.is_under_way(word)) continue;
    const Copy& before = copies_[index - 1];
    if (before.read.empty()) continue;
    for (unsigned warp = 0; warp < before.read.size(); ++warp) {
      const std::uint32_t done = before.read[warp];
      if (done == 0 || (done != reading && known[warp] >= done)) continue;
      fault("race: bulk copy to " + place(by.to, by.bytes) + ", which warp " +
                std::to_string(warp) + " may still be reading by wgmma" +
                (done == reading ? " that it has not waited for"
                                 : ", for no arrival says otherwise") +
                ",",
            by.code);
    }
    checker_.settle(word * 4, 16);
    std::erase(unsettled_, index - 1);
  }
}

void BlockRunner::tell(Mbarrier& barrier) {
  if (!is_traced_) return;
  const unsigned warp = current_ / warp_lanes;
  Known& mine = known_[warp];
  ++mine[warp];
  barrier.arriving.resize(mine.size());
  for (std::size_t i = 0; i < mine.size(); ++i) {
    barrier.arriving[i] = std::max(barrier.arriving[i], mine[i]);
  }
}

void BlockRunner::learn(const Known& told) {
  if (!is_traced_) return;
  Known& mine = known_[current_ / warp_lanes];
  for (std::size_t i = 0; i < told.size(); ++i) mine[i] = std::max(mine[i], told[i]);
}

void BlockRunner::no_clock(const void* code) {
  fault("the SM's clock, which the model does not have, read", code);
}

void BlockRunner::warp_barrier(unsigned mask, const void* code) {
  collective(mask, warp_sync, 0, 0, static_cast<int>(warp_lanes), code);
}

std::uint64_t BlockRunner::shuffle(unsigned mask, std::uint64_t value, Shuffle how,
                                   unsigned argument, int width, const void* code) {
  return collective(mask, static_cast<int>(how), value, argument, width, code);
}

unsigned BlockRunner::ballot(unsigned mask, bool predicate, const void* code) {
  return static_cast<unsigned>(
      collective(mask, vote, predicate ? 1 : 0, 0, static_cast<int>(warp_lanes), code));
}

void BlockRunner::copy_asynchronously(void* to_shared, const void* from_global, std::size_t bytes,
                                      std::size_t zeros, const void* code) {
  const auto to = reinterpret_cast<std::uint64_t>(to_shared);
  const auto from = reinterpret_cast<std::uint64_t>(from_global);
  const auto refuse = [&](const char* why) {
    const HostCode host;
    fault("asynchronous copy of " + std::to_string(bytes) + " bytes " + why, code);
  };
  if (bytes != 4 && bytes != 8 && bytes != 16) refuse("(it takes 4, 8 or 16)");
  if (zeros > bytes) refuse("with more zeros than that");
  if (!is_shared(to)) refuse("to what is not shared memory");
  if (to % bytes != 0) refuse("to a misaligned address");
  if (from % bytes != 0) refuse("from a misaligned address");
  const bool is_global = memory_.in_range(from_global) ||
                         (is_mapped_host_ && is_mapped_host_(from_global, bytes - zeros));
  if (zeros < bytes && !is_global) refuse("from what is not global memory");
  const auto width = static_cast<unsigned>(bytes);
  if (!is_known_good_shared(to, width)) check_shared(to, width, EventKind::copied_to, code);
  auto* target = static_cast<std::byte*>(to_shared);
  const auto* source = static_cast<const std::byte*>(from_global);
  // One that is cut short is recorded in pieces that are powers of two.
  std::size_t done = 0;
  for (std::size_t piece = bytes; piece > 0; piece /= 2) {
    if (done + piece > bytes - zeros) continue;
    on_access(source + done, static_cast<unsigned>(piece), EventKind::copied_from, code);
    std::memcpy(target + done, source + done, piece);
    done += piece;
  }
  std::memset(target + done, 0, zeros);
  if (trace_ != nullptr) {
    const HostCode host;
    trace_->events.push(make_event(code, EventKind::copied_to, width));
    trace_->addresses.push(to);
    note_copy({.to = to,
               .bytes = width,
               .lane = current_,
               .code = code,
               .group = lanes_[current_].commits});
  }
  if (zeros < bytes) lanes_[current_].has_open_copies = true;
}

void BlockRunner::commit_copies() {
  Lane& lane = lanes_[current_];
  lane.copy_groups = lane.copy_groups << 1 | (lane.has_open_copies ? 1 : 0);
  lane.has_open_copies = false;
  lane.fmas_at_commit = fmas();
  ++lane.commits;
}

void BlockRunner::wait_for_copies(std::size_t groups_left, const void* code) {
  Lane& lane = lanes_[current_];
  if (is_traced_ && current_ < unwaited_.size() && !unwaited_[current_].empty()) {
    const HostCode host;
    std::vector<std::uint32_t>& mine = unwaited_[current_];
    const auto is_done = [&](std::uint32_t i) {
      return copies_[i].group + groups_left < lane.commits;
    };
    for (const std::uint32_t i : mine) {
      if (!is_done(i)) continue;
      const Copy& copy = copies_[i];
      const auto verdict = checker_.end_copy(shared_offset(copy.to), copy.bytes);
      if (verdict != MemoryChecker::Verdict::good) {
        report(verdict, copy.to, copy.bytes, EventKind::copied_to, code);
      }
    }
    std::erase_if(mine, is_done);
  }
  if (groups_left >= 64 || lane.copy_groups >> groups_left == 0) return;
  const bool alone = groups_left == 0 && fmas() == lane.fmas_at_commit;
  (alone ? lane.copy_waits.alone : lane.copy_waits.beside) +=
      1 / static_cast<double>(groups_left + 1);
  lane.copy_groups &= (std::uint64_t{1} << groups_left) - 1;
}

// What a copy, just made at once, has brought: nobody's to use yet.
void BlockRunner::note_copy(Copy copy) {
  const std::uint64_t offset = shared_offset(copy.to);
  if (copies_.empty()) {
    copy_of_word_.assign((static_shared_bytes_ + launch_->shared_bytes) / 4 + 2, 0);
  }
  if (copy.barrier != nullptr) replace_read_copies(copy);
  const auto verdict = checker_.begin_copy(offset, copy.bytes, copy.barrier != nullptr);
  if (verdict != MemoryChecker::Verdict::good) {
    report(verdict, copy.to, copy.bytes, EventKind::copied_to, copy.code);
    // The thread has waited for what came before.
    checker_.settle(offset, copy.bytes);
    checker_.begin_copy(offset, copy.bytes, true);
  }
  copies_.push_back(copy);
  const auto index = static_cast<std::uint32_t>(copies_.size());
  for (std::uint64_t word = offset / 4; word < (offset + copy.bytes) / 4; ++word) {
    copy_of_word_[word] = index;
  }
  if (copy.barrier != nullptr) {
    unsettled_.push_back(index - 1);
    return;
  }
  if (unwaited_.size() < lanes_.size()) unwaited_.resize(lanes_.size());
  unwaited_[copy.lane].push_back(index - 1);
}

// The last asynchronous copy into a word of shared memory, if there was one.
const BlockRunner::Copy* BlockRunner::copy_into(std::uint64_t address) const {
  if (copies_.empty()) return nullptr;
  const std::uint32_t index = copy_of_word_[shared_offset(address) / 4];
  return index == 0 ? nullptr : &copies_[index - 1];
}

// The block has met: what one thread has waited for is there for all.
void BlockRunner::settle_copies() {
  std::erase_if(unsettled_, [&](std::uint32_t i) {
    const Copy& copy = copies_[i];
    const bool is_seen = std::any_of(copy.barrier->seen.begin(), copy.barrier->seen.end(),
                                     [&](std::uint32_t phases) { return phases > copy.group; });
    if (is_seen) checker_.settle(shared_offset(copy.to), copy.bytes);
    return is_seen;
  });
}

// Whether the lane has itself waited for all the bulk copies into these bytes.
bool BlockRunner::may_use(std::uint64_t address, unsigned bytes) const {
  for (std::uint64_t at = address; at < address + bytes; at += 4) {
    if (!checker_.is_under_way(shared_offset(at) / 4)) continue;
    const Copy* copy = copy_into(at);
    if (copy->barrier == nullptr || copy->barrier->seen[current_] <= copy->group) return false;
  }
  return true;
}

void BlockRunner::begin_mbarrier(void* barrier, unsigned arrivals, const void* code) {
  const HostCode host;
  if (arrivals == 0) fault("mbarrier that expects no arrival,", code);
  const auto address = reinterpret_cast<std::uint64_t>(barrier);
  if (!is_shared(address)) fault("mbarrier outside shared memory,", code);
  if (address % 8 != 0) fault("misaligned mbarrier,", code);
  for (const Mbarrier& other : mbarriers_) {
    if (other.address == address) fault("mbarrier that is initialised twice,", code);
  }
  Mbarrier& made = mbarriers_.emplace_back();
  made.address = address;
  made.begun_in = checker_.interval();
  made.begun_by = current_;
  made.arrivals = made.missing = arrivals;
  made.seen.resize(lanes_.size());
}

BlockRunner::Mbarrier& BlockRunner::mbarrier_at(const void* barrier, const char* what,
                                                const void* code) {
  const HostCode host;
  for (Mbarrier& known : mbarriers_) {
    if (known.address != reinterpret_cast<std::uint64_t>(barrier)) continue;
    if (is_traced_ && known.begun_by != current_ && known.begun_in == checker_.interval()) {
      fault(std::string(what) +
                " an mbarrier that another thread initialised, with no barrier"
                " between them,",
            code);
    }
    return known;
  }
  fault(std::string(what) + " an mbarrier that nobody has initialised,", code);
}

void BlockRunner::end_phase(Mbarrier& barrier) {
  if (barrier.missing != 0 || barrier.bytes != 0) return;
  ++barrier.phase;
  barrier.missing = barrier.arrivals;
  barrier.told = barrier.arriving;
  barrier.brought_copies = barrier.brings_copies;
  barrier.brings_copies = false;
  barrier.fmas_before = barrier.fmas_at_start;
  for (unsigned i = 0; i < lanes_.size(); ++i) {
    Lane& lane = lanes_[i];
    if (lane.state != LaneState::at_mbarrier || lane.value != barrier.address) continue;
    lane.state = LaneState::ready;
    ready_[i / warp_lanes] |= 1u << i % warp_lanes;
  }
}

void BlockRunner::expect_bytes(void* barrier, std::size_t bytes, const void* code) {
  const HostCode host;
  Mbarrier& at = mbarrier_at(barrier, "arrival at", code);
  if (at.missing == 0) fault("mbarrier that arrives twice in one phase,", code);
  --at.missing;
  tell(at);
  at.bytes += static_cast<std::int64_t>(bytes);
  at.fmas_at_start = fmas();
  at.brings_copies = bytes > 0;
  if (bytes > 0) {
    at.beside = 0;
    const std::uint32_t beside = bulk_phases_++ - bulk_phases_seen_;
    for (Mbarrier& each : mbarriers_) each.beside = std::max(each.beside, beside);
  }
  end_phase(at);
}

void BlockRunner::arrive_at(void* barrier, const void* code) {
  const HostCode host;
  Mbarrier& at = mbarrier_at(barrier, "arrival at", code);
  if (at.missing == 0) fault("mbarrier with more arrivals than it expects in a phase,", code);
  --at.missing;
  tell(at);
  end_phase(at);
}

void BlockRunner::copy_box(void* to_shared, const void* map, unsigned column, unsigned row,
                           void* barrier, const void* code) {
  const HostCode host;
  TensorMap of;
  std::memcpy(&of, map, sizeof of);
  const auto refuse = [&](const char* why) {
    fault(std::string("bulk copy of a box ") + why, code);
  };
  if (of.mark != TensorMap::made) refuse("by what is no tensor map");
  const std::uint32_t row_bytes = of.box_columns * of.element_bytes;
  const std::uint32_t span =
      of.swizzle == CU_TENSOR_MAP_SWIZZLE_NONE ? row_bytes : 16u << of.swizzle;
  if (row_bytes != span) {
    refuse("whose rows do not fill the swizzle's, which the model does not know");
  }
  const auto to = reinterpret_cast<std::uint64_t>(to_shared);
  const std::uint32_t bytes = of.box_rows * row_bytes;
  if (!is_shared(to) || !is_shared(to + bytes - 1)) refuse("to what is not shared memory");
  if (to % 128 != 0) refuse("to a misaligned address");
  Mbarrier& at = mbarrier_at(barrier, "bulk copy to", code);
  // The descriptor of wgmma counts the modes the other way round.
  const unsigned mode = of.swizzle == CU_TENSOR_MAP_SWIZZLE_NONE ? 0 : 4 - of.swizzle;
  for (std::uint32_t i = 0; i < of.box_rows; ++i) {
    const bool row_exists = row + i < of.rows;
    const std::uint64_t from = of.address + (row + std::uint64_t{i}) * of.row_bytes +
                               std::uint64_t{column} * of.element_bytes;
    const std::uint64_t left = column < of.columns ? (of.columns - column) * of.element_bytes : 0;
    const auto there =
        row_exists ? static_cast<std::uint32_t>(std::min<std::uint64_t>(left, row_bytes)) : 0;
    if (there > 0) {
      const auto* source = reinterpret_cast<const std::byte*>(from);
      if (!memory_.in_range(source)) refuse("from what is not global memory");
      check_bounds(source, there, EventKind::copied_from, code);
    }
    for (std::uint32_t done = 0; done < row_bytes; done += 16) {
      const std::uint64_t place = swizzled(to + i * row_bytes + done, mode);
      if (!is_known_good_shared(place, 16)) check_shared(place, 16, EventKind::store, code);
      const std::uint32_t exists = done < there ? std::min(there - done, 16u) : 0;
      bring(place, from + done, exists, 16);
      for (std::uint32_t e = 0; trace_ != nullptr && e < exists;) {
        const std::uint32_t checked = exists == 16 ? 16 : of.element_bytes;
        check(true, from + done + e, checked, EventKind::load, code);
        e += checked;
      }
    }
    // The engine's own requests: row by row.
    if (trace_ != nullptr && there > 0) {
      trace_->events.push(make_event(code, EventKind::copied_from, there));
      trace_->addresses.push(from);
    }
  }
  for (std::uint32_t i = 0; trace_ != nullptr && i < of.box_rows; ++i) {
    trace_->events.push(make_event(code, EventKind::copied_to, row_bytes));
    trace_->addresses.push(to + i * row_bytes);
  }
  arrive_with(at, to, bytes, code);
}

void BlockRunner::copy_bulk(void* to_shared, const void* from_global, std::size_t bytes,
                            void* barrier, const void* code) {
  const HostCode host;
  const auto to = reinterpret_cast<std::uint64_t>(to_shared);
  const auto from = reinterpret_cast<std::uint64_t>(from_global);
  const auto refuse = [&](const char* why) {
    fault("bulk copy of " + std::to_string(bytes) + " bytes " + why, code);
  };
  if (bytes == 0 || bytes % 16 != 0) refuse("(it takes multiples of 16)");
  if (!is_shared(to) || !is_shared(to + bytes - 1)) refuse("to what is not shared memory");
  if (to % 16 != 0) refuse("to a misaligned address");
  if (from % 16 != 0) refuse("from a misaligned address");
  if (!memory_.in_range(from_global)) refuse("from what is not global memory");
  Mbarrier& at = mbarrier_at(barrier, "bulk copy to", code);
  check_bounds(from_global, bytes, EventKind::copied_from, code);
  for (std::size_t done = 0; done < bytes; done += 16) {
    if (!is_known_good_shared(to + done, 16)) check_shared(to + done, 16, EventKind::store, code);
  }
  bring(to, from, static_cast<std::uint32_t>(bytes), static_cast<std::uint32_t>(bytes));
  if (trace_ != nullptr) {
    for (std::size_t done = 0; done < bytes; done += 16) {
      check(true, from + done, 16, EventKind::load, code);
    }
    // The engine's own requests: line by line.
    constexpr std::uint64_t line = 128;
    for (const auto& [kind, at_address] :
         {std::pair(EventKind::copied_from, from), std::pair(EventKind::copied_to, to)}) {
      for (std::uint64_t done = 0; done < bytes;) {
        const std::uint64_t piece = std::min(bytes - done, line - (from + done) % line);
        trace_->events.push(make_event(code, kind, static_cast<unsigned>(piece)));
        trace_->addresses.push(at_address + done);
        done += piece;
      }
    }
  }
  arrive_with(at, to, static_cast<unsigned>(bytes), code);
}

void BlockRunner::arrive_with(Mbarrier& barrier, std::uint64_t to, unsigned bytes,
                              const void* code) {
  if (trace_ != nullptr) {
    note_copy({.to = to,
               .bytes = bytes,
               .lane = current_,
               .code = code,
               .barrier = &barrier,
               .group = barrier.phase});
  }
  if (ordering_.late_bulk_copies) {
    late_copies_.push_back({&barrier, bytes, std::exchange(late_pieces_, {})});
    return;
  }
  barrier.bytes -= static_cast<std::int64_t>(bytes);
  end_phase(barrier);
}

void BlockRunner::wait_for_phase(void* barrier, unsigned parity, const void* code) {
  Mbarrier& at = mbarrier_at(barrier, "wait for", code);
  while (at.phase % 2 == parity) {
    lanes_[current_].state = LaneState::at_mbarrier;
    lanes_[current_].waiting_at = code;
    lanes_[current_].value = at.address;
    suspend();
  }
  learn(at.told);
  Lane& lane = lanes_[current_];
  if (std::exchange(at.seen[current_], at.phase) == at.phase || !at.brought_copies) return;
  const std::uint32_t behind = bulk_phases_ - ++lane.phases_seen;
  bulk_phases_seen_ = std::max(bulk_phases_seen_, lane.phases_seen);
  const bool alone = behind == 0 && fmas() == at.fmas_before;
  const std::uint32_t beside = std::max(behind, at.beside);
  (alone ? lane.copy_waits.alone : lane.copy_waits.beside) += 1 / (beside + 1.0);
}

std::byte* BlockRunner::dynamic_shared() {
  return reinterpret_cast<std::byte*>(dynamic_shared_.data());
}

void BlockRunner::check_global(const void* address, unsigned bytes, EventKind kind,
                               const void* code) {
  const HostCode host;  // what fills a page may be instrumented itself
  check_bounds(address, bytes, kind, code);
  if (reinterpret_cast<std::uintptr_t>(address) % bytes == 0) return;
  fault("misaligned " + std::to_string(bytes) + "-byte " + name_of(kind) + " at byte " +
            std::to_string(static_cast<const std::byte*>(address) -
                           memory_.preceding(address)->begin) +
            " of an allocation",
        code);
}

void BlockRunner::check_bounds(const void* address, std::size_t bytes, EventKind kind,
                               const void* code) {
  // The allocation that begins before the address says how far beyond its end the access lies.
  Allocation* a = memory_.preceding(address);
  if (a == nullptr || !a->contains(address, bytes)) {
    const std::string what = "out of bounds: " + std::to_string(bytes) + "-byte " + name_of(kind);
    if (a == nullptr) fault(what + " where nothing is allocated", code);
    const auto at = static_cast<const std::byte*>(address) - a->begin;
    fault(what + " at byte " + std::to_string(at) + " of an allocation of " +
              std::to_string(a->bytes),
          code);
  }
  DeviceMemory::touch(*a, address, bytes);
  if (std::find(recent_.begin(), recent_.end(), a) == recent_.end()) {
    recent_[next_recent_++ % recent_.size()] = a;
  }
}

void BlockRunner::check_shared(std::uint64_t address, unsigned bytes, EventKind kind,
                               const void* code) {
  const HostCode host;
  const std::string what = std::to_string(bytes) + "-byte " + name_of(kind);
  if (address % bytes != 0) {
    fault("misaligned " + what + " at " + place(address, bytes) + " (shared memory)", code);
  }
  const std::uint64_t offset = address - static_shared_;
  if (offset >= static_shared_bytes_) {
    fault("out of bounds: " + what + " at byte " +
              std::to_string(address - dynamic_shared_begin()) + " of " +
              std::to_string(launch_->shared_bytes) + " of dynamic shared memory",
          code);
  }
  // Small variables need not fill their last word.
  const auto& variables = thread_variables();
  const auto after =
      std::upper_bound(variables.begin(), variables.end(), offset,
                       [](std::uint64_t at, const ThreadVariable& v) { return at < v.offset; });
  if (variables.empty()) return;
  const bool is_first = after == variables.begin();
  const bool inside = !is_first && offset + bytes <= (after - 1)->offset + (after - 1)->bytes;
  const bool is_ours = address - reinterpret_cast<std::uint64_t>(&running_block) < sizeof(this);
  if (inside && !is_ours) return;
  if (is_first || is_ours) fault("out of bounds: " + what + " in no shared variable", code);
  fault("out of bounds: " + what + " at byte " + std::to_string(offset - (after - 1)->offset) +
            " of the shared variable '" + (after - 1)->name + "' of " +
            std::to_string((after - 1)->bytes),
        code);
}

std::vector<std::size_t> BlockRunner::written_variables() const {
  std::vector<std::size_t> written;
  const auto& variables = thread_variables();
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const ThreadVariable& v = variables[i];
    for (std::uint64_t word = v.offset / 4; word * 4 < v.offset + v.bytes; ++word) {
      if (!checker_.is_written(word)) continue;
      written.push_back(i);
      break;
    }
  }
  return written;
}

void BlockRunner::add_products(float* sums, const float* a, unsigned rows, const float* b,
                               unsigned columns, const void* code) {
  if (trace_ == nullptr) {
    multiply_add_outer(sums, a, rows, b, columns);
    return;
  }
  trace_->add(Arithmetic::fma_fp32, rows * columns, code);
  FmaChain& chain = chains_[current_];
  if (!chain.is_watching()) {
    multiply_add_outer(sums, a, rows, b, columns);
    chain.note_unwatched(rows * columns);
    return;
  }
  for (unsigned i = 0; i < rows; ++i) {
    for (unsigned j = 0; j < columns; ++j) {
      float& sum = sums[i * columns + j];
      const float before = sum;
      multiply_add_outer(&sum, &a[i], 1, &b[j], 1);
      chain.note(a[i], b[j], before, sum);
    }
  }
}

std::pair<std::string, std::uint64_t> BlockRunner::home_of(std::uint64_t address) const {
  const auto* pointer = reinterpret_cast<const void*>(address);
  if (memory_.in_range(pointer)) {
    const Allocation* a = memory_.find(pointer);
    return {"an allocation of " + std::to_string(a->bytes) + " bytes",
            reinterpret_cast<std::uint64_t>(a->begin)};
  }
  const std::uint64_t offset = address - static_shared_;
  if (offset >= static_shared_bytes_) return {"dynamic shared memory", dynamic_shared_begin()};
  for (const ThreadVariable& v : thread_variables()) {
    if (offset - v.offset < v.bytes) return {"'" + v.name + "'", static_shared_ + v.offset};
  }
  return {"static shared memory", static_shared_};
}

std::string BlockRunner::place(std::uint64_t address, unsigned bytes) const {
  const auto [home, begin] = home_of(address);
  return "bytes " + std::to_string(address - begin) + ".." +
         std::to_string(address - begin + bytes - 1) + " of " + home;
}

std::pair<Event, std::uint64_t> BlockRunner::last_access(unsigned lane, EventKind kind,
                                                         std::uint64_t begin,
                                                         std::uint64_t end) const {
  if (lanes_[lane].state == LaneState::done && lanes_[lane].ended_in != checker_.interval()) {
    return {};
  }
  const LaneTrace& trace = traces_[lane];
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

std::string BlockRunner::describe_unwritten() const {
  const UnwrittenRead& read = unwritten_;
  return "uninitialised shared memory: " + std::to_string(read.bytes) + "-byte " +
         name_of(read.kind) + " at " + place(read.address, read.bytes) +
         ", not all of which the block has written, by thread " +
         words(thread_of(read.lane, launch_->block)) + " of block " + words(blockIdx) + " at " +
         source_location(read.code);
}

void BlockRunner::report(MemoryChecker::Verdict verdict, std::uint64_t address, unsigned bytes,
                         EventKind kind, const void* code) {
  if (verdict == MemoryChecker::Verdict::never_written) {
    if (unwritten_.bytes == 0) unwritten_ = {current_, address, bytes, kind, code};
    return;
  }
  const HostCode host;
  const std::string what = std::to_string(bytes) + "-byte " + name_of(kind);
  if (verdict == MemoryChecker::Verdict::under_way) {
    if (may_use(address, bytes)) {
      verdict = checker_.on_copied(shared_offset(address), bytes, as_plain(kind));
      if (verdict == MemoryChecker::Verdict::good) return;
    } else {
      const std::uint64_t end = address + bytes;
      std::uint64_t first = address;
      while (first < end && may_use(first, 1)) first += 4;
      const Copy& copy = *copy_into(first);
      fault("asynchronous copy that has not been waited for: " + std::to_string(copy.bytes) +
                " bytes to " + place(copy.to, copy.bytes) + " by thread " +
                words(thread_of(copy.lane, launch_->block)) + " at " + source_location(copy.code) +
                ", and " + what + " at " + place(address, bytes),
            code);
    }
  }
  // The others' traces still hold the other access.
  const MemoryChecker::Opponent& opponent = checker_.opponent();
  unsigned other = opponent.thread;
  auto access = std::pair<Event, std::uint64_t>{};
  if (!opponent.in_another_warp) {
    access = last_access(other, opponent.kind, address, address + bytes);
  } else {
    for (unsigned lane = 0; lane < lanes_.size() && access.first == 0; ++lane) {
      if (lane / warp_lanes == current_ / warp_lanes) continue;
      other = lane;
      access = last_access(lane, opponent.kind, address, address + bytes);
    }
  }
  const Copy* copy = nullptr;
  if (access.first == 0) {  // a store where a thread waited for the end of its copy
    copy = copy_into(address);
    if (copy == nullptr) fault("race: " + what + " at " + place(address, bytes), code);
    other = copy->lane;
    access = {make_event(copy->code, EventKind::store, copy->bytes), copy->to};
  }
  const bool both_store = kind == EventKind::store && opponent.kind == EventKind::store;
  const auto code_of_other = reinterpret_cast<const void*>(code_address_of(access.first));
  fault("race: " + std::to_string(bytes_of(access.first)) + "-byte " + name_of(opponent.kind) +
            " at " + place(access.second, bytes_of(access.first)) + " by thread " +
            words(thread_of(other, launch_->block)) + " at " + source_location(code_of_other) +
            ", and with no barrier between them" +
            (both_store ? " (a race even if both store one value) " : " ") + what + " at " +
            place(address, bytes),
        code);
}

// What is neither device nor shared memory: registers and parameters on the lane's stack or where
// the launch keeps them, constants of the program, or host memory that the device may access.
void BlockRunner::check_private(const void* address, unsigned bytes, EventKind kind,
                                const void* code) {
  const auto at = reinterpret_cast<std::uint64_t>(address);
  const auto stack = reinterpret_cast<std::uint64_t>(lanes_[current_].stack);
  const auto arguments = reinterpret_cast<std::uint64_t>(launch_->arguments.get());
  const auto arguments_end = reinterpret_cast<std::uint64_t>(launch_->argument_words.data()) +
                             launch_->argument_words.size_bytes();
  if (at - stack < FiberStacks::stack_bytes || at - program_begin_ < program_bytes_ ||
      (at >= arguments && at < arguments_end)) {
    return;
  }
  const HostCode host;
  if (is_mapped_host_ && is_mapped_host_(address, bytes)) {
    if (is_traced_) {
      (kind == EventKind::load ? result_.host_bytes_read : result_.host_bytes_written) += bytes;
    }
    return;
  }
  const std::uint64_t beyond = at - dynamic_shared_begin();
  if (launch_->shared_bytes > 0 && beyond < 2 * launch_->shared_bytes + 4096) {
    fault("out of bounds: " + std::to_string(bytes) + "-byte " + name_of(kind) + " at byte " +
              std::to_string(beyond) + " of " + std::to_string(launch_->shared_bytes) +
              " of dynamic shared memory",
          code);
  }
  std::ostringstream text;
  text << "no device memory: " << bytes << "-byte " << name_of(kind) << " at host address 0x"
       << std::hex << at;
  fault(text.str(), code);
}

}  // namespace gpubench::model

using gpubench::model::running_block;

void __syncthreads() noexcept { running_block->block_barrier(__builtin_return_address(0)); }
void __syncwarp(unsigned mask) noexcept {
  running_block->warp_barrier(mask, __builtin_return_address(0));
}

namespace gpubench::model {

void grid_barrier() noexcept { running_block->grid_barrier(__builtin_return_address(0)); }
std::uint64_t shuffle(unsigned mask, std::uint64_t value, Shuffle how, unsigned argument,
                      int width) noexcept {
  return running_block->shuffle(mask, value, how, argument, width, __builtin_return_address(0));
}
unsigned ballot(unsigned mask, bool predicate) noexcept {
  return running_block->ballot(mask, predicate, __builtin_return_address(0));
}
void copy_asynchronously(void* to_shared, const void* from_global, std::size_t bytes,
                         std::size_t zeros) noexcept {
  running_block->copy_asynchronously(to_shared, from_global, bytes, zeros,
                                     __builtin_return_address(0));
}
void multiply_matrices(Tensor type, MatrixElements mine) noexcept {
  running_block->multiply_matrices(type, false, mine, __builtin_return_address(0));
}
void load_matrices(unsigned* to, const void* row, bool transposed) noexcept {
  running_block->load_matrices(to, row, transposed, __builtin_return_address(0));
}
void multiply_warpgroup_tiles(Tensor type, MatrixElements mine) noexcept {
  running_block->multiply_matrices(type, true, mine, __builtin_return_address(0));
}
long long no_clock() noexcept { running_block->no_clock(__builtin_return_address(0)); }
int multiply_add(int a, int b, int c) noexcept {
  if (BlockRunner* block = running_block) {
    block->on_arithmetic(Arithmetic::mad_int32, __builtin_return_address(0));
  }
  return static_cast<int>(static_cast<unsigned>(a) * static_cast<unsigned>(b) +
                          static_cast<unsigned>(c));
}
void add_products(float* sums, const float* a, unsigned rows, const float* b,
                  unsigned columns) noexcept {
  running_block->add_products(sums, a, rows, b, columns, __builtin_return_address(0));
}
void commit_copies() noexcept { running_block->commit_copies(); }
void wait_for_copies(std::size_t groups_left) noexcept {
  running_block->wait_for_copies(groups_left, __builtin_return_address(0));
}
void multiply_shared(SharedProduct mine) noexcept {
  running_block->multiply_shared(mine, __builtin_return_address(0));
}
void commit_products() noexcept { running_block->commit_products(__builtin_return_address(0)); }
void wait_for_products(unsigned groups_left) noexcept {
  running_block->wait_for_products(groups_left, __builtin_return_address(0));
}
void begin_mbarrier(void* barrier, unsigned arrivals) noexcept {
  running_block->begin_mbarrier(barrier, arrivals, __builtin_return_address(0));
}
void arrive_at(void* barrier) noexcept {
  running_block->arrive_at(barrier, __builtin_return_address(0));
}
void copy_box(void* to_shared, const void* map, unsigned column, unsigned row,
              void* barrier) noexcept {
  running_block->copy_box(to_shared, map, column, row, barrier, __builtin_return_address(0));
}
void expect_bytes(void* barrier, std::size_t bytes) noexcept {
  running_block->expect_bytes(barrier, bytes, __builtin_return_address(0));
}
void copy_bulk(void* to_shared, const void* from_global, std::size_t bytes,
               void* barrier) noexcept {
  running_block->copy_bulk(to_shared, from_global, bytes, barrier, __builtin_return_address(0));
}
void wait_for_phase(void* barrier, unsigned parity) noexcept {
  running_block->wait_for_phase(barrier, parity, __builtin_return_address(0));
}
void* dynamic_shared_memory() noexcept { return running_block->dynamic_shared(); }

}  // namespace gpubench::model

namespace {

// Blocks run on several threads at once, so an atomic has to be one.
template <class T>
T counted_atomic_add(T* address, T value, const void* code) {
  running_block->on_access(address, sizeof(T), gpubench::model::EventKind::atomic, code);
  return std::atomic_ref<T>(*address).fetch_add(value, std::memory_order_relaxed);
}

}  // namespace

int atomicAdd(int* address, int value) noexcept {
  return counted_atomic_add(address, value, __builtin_return_address(0));
}
unsigned int atomicAdd(unsigned int* address, unsigned int value) noexcept {
  return counted_atomic_add(address, value, __builtin_return_address(0));
}
unsigned long long atomicAdd(unsigned long long* address, unsigned long long value) noexcept {
  return counted_atomic_add(address, value, __builtin_return_address(0));
}
float atomicAdd(float* address, float value) noexcept {
  return counted_atomic_add(address, value, __builtin_return_address(0));
}
double atomicAdd(double* address, double value) noexcept {
  return counted_atomic_add(address, value, __builtin_return_address(0));
}
