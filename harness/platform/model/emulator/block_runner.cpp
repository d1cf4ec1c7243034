#include "harness/platform/model/emulator/block_runner.hpp"

#include <exception>
#include <optional>
#include <string>

#include "harness/platform/model/emulator/host_code.hpp"
#include "harness/platform/model/emulator/matrices.hpp"
#include "harness/system/exception_text.hpp"

__constinit thread_local uint3 threadIdx;
__constinit thread_local uint3 blockIdx;
__constinit thread_local dim3 blockDim;
__constinit thread_local dim3 gridDim;

namespace gpubench::model {

__constinit thread_local BlockRunner* running_block = nullptr;

BlockRunner::BlockRunner(DeviceMemory& memory, const MappedHost& is_mapped_host,
                         const Ordering& ordering)
    : block_(memory, is_mapped_host, ordering, this, &run_lanes),
      collectives_(block_),
      warpgroup_reads_(block_, arrivals_),
      matrices_(block_, collectives_, warpgroup_reads_),
      thread_copies_(block_),
      tensor_fences_(block_),
      mbarriers_(block_, arrivals_, tensor_fences_),
      bulk_copies_(block_, mbarriers_, warpgroup_reads_),
      tensor_memory_(block_, collectives_, arrivals_, mbarriers_, warpgroup_reads_, tensor_fences_),
      multimem_(block_, memory) {}

BlockResult BlockRunner::run(const KernelLaunch& launch, dim3 index, bool traced) {
  begin(launch, index, traced, {});
  while (is_running() && (advance() || release_cluster())) {
  }
  if (is_running()) end_in_deadlock();
  return end();
}

void BlockRunner::begin(const KernelLaunch& launch, dim3 index, bool traced,
                        ClusterMemory::Place place) {
  block_.begin(launch, index, traced, place);
  votes_ = {};
  collectives_.begin_block();
  thread_copies_.begin_block();
  tensor_fences_.begin_block();
  mbarriers_.begin_block();
  bulk_copies_.begin_block();
  warpgroup_reads_.begin_block();
  matrices_.begin_block();
  tensor_memory_.begin_block();
  arrivals_.begin_block(block_.lanes().warps());
}

void BlockRunner::pair_with(BlockRunner& even) {
  arrivals_.join(even.arrivals_);
  mbarriers_.pair_with(even.mbarriers_);
  tensor_memory_.pair_with(even.tensor_memory_);
}

bool BlockRunner::is_running() const {
  const LaneScheduler& lanes = block_.lanes();
  return lanes.has_live_lanes() && !lanes.is_stopped() && !block_.recorder().checker().is_lacking();
}

bool BlockRunner::advance() {
  LaneScheduler& lanes = block_.lanes();
  blockIdx = block_.index();
  blockDim = block_.launch().block;
  gridDim = block_.launch().grid;
  bool advanced = false;
  while (is_running() && (lanes.run_ready() || bulk_copies_.land_late() ||
                          release(lanes.release_barrier(), false))) {
    advanced = true;
  }
  return advanced;
}

BlockResult BlockRunner::end() {
  BlockResult result = block_.end();
  const bool has_ended = !block_.lanes().has_live_lanes();
  for (const std::string& left : {tensor_memory_.leftover(), bulk_copies_.leftover()}) {
    if (has_ended && result.fault.empty() && !left.empty()) {
      result.fault = std::string(block_.launch().name) + ": " + left;
    }
  }
  if (const auto lacking = block_.recorder().checker().take_lacking()) {
    throw OutOfHostMemory(*lacking);
  }
  return result;
}

// On a fiber of its own.
void BlockRunner::run_lanes() {
  BlockRunner& runner = *running_block;
  LaneScheduler& lanes = runner.block_.lanes();
  bool begins_next = true;
  while (begins_next) {
    runner.run_lane();
    const HostCode host;
    lanes.end();
    runner.collectives_.lane_ended(lanes.current_warp());
    begins_next = lanes.begin_next();
  }
  lanes.leave();
}

void BlockRunner::run_lane() {
  std::optional<std::string> thrown;
  try {
    block_.launch().invoke(block_.launch().arguments.get());
  } catch (const std::exception& error) {
    thrown = text_of(error);
  } catch (...) {
    thrown = "of an unknown type";
  }
  // Device code has no exceptions: one comes from the host's code that a kernel called.
  if (thrown) block_.fault("exception (" + *thrown + ") thrown");
}

bool BlockRunner::release(unsigned warps, bool of_cluster) {
  if (warps == 0) return false;
  block_.result().barriers += warps;
  if (of_cluster) block_.result().cluster_barriers += warps;
  votes_[++passed_barriers_ % 2] = {};
  if (block_.is_traced()) {
    block_.recorder().checker().barrier();
    block_.copies().settle_seen(of_cluster);
    arrivals_.tell_all(of_cluster);
  }
  if (block_.has_unwritten_read()) block_.lanes().stop();
  return true;
}

void BlockRunner::block_barrier(const void* code) {
  tensor_fences_.tell(code);
  block_.lanes().wait(LaneState::at_barrier, code);
  tensor_fences_.learn();
  if (auto* trace = block_.trace()) trace->events.push(make_event(code, EventKind::collective, 1));
}

BlockRunner::Vote BlockRunner::block_vote(bool holds, const void* code) {
  Vote& vote = votes_[passed_barriers_ % 2];
  ++vote.cast;
  vote.holding += holds;
  block_barrier(code);
  return vote;
}

void BlockRunner::cluster_barrier(const void* code) {
  // A block of a cooperative grid is a cluster by itself: it waits for none of the others.
  if (block_.launch().cooperative) return block_barrier(code);
  wait_for_blocks(code);
}

void BlockRunner::wait_for_blocks(const void* code) {
  tensor_fences_.tell(code);
  block_.lanes().wait(LaneState::at_cluster, code);
  tensor_fences_.learn();
  if (auto* trace = block_.trace()) trace->events.push(make_event(code, EventKind::collective, 1));
}

void* BlockRunner::shared_of(const void* mine, unsigned rank, const void* code) {
  const HostCode host;
  const auto at = reinterpret_cast<std::uint64_t>(mine);
  if (rank >= cluster_blocks()) {
    block_.fault("shared memory of block " + std::to_string(rank) + " in a cluster of " +
                     std::to_string(cluster_blocks()) + " asked for",
                 code);
  }
  if (!block_.shared().is_dynamic(at)) {
    block_.fault("another block's counterpart asked for of what is no dynamic shared memory", code);
  }
  ClusterMemory* const cluster = block_.cluster().memory;
  return reinterpret_cast<void*>(
      rank == cluster_rank() ? at : at - block_.shared().dynamic_begin() + cluster->begin_of(rank));
}

void BlockRunner::grid_barrier(const void* code) {
  if (!block_.launch().cooperative) {
    const HostCode host;
    block_.fault("grid-wide barrier (this_grid().sync()) in a launch that is not cooperative",
                 code);
  }
  // The block meets, one of its threads waits for the other blocks, and the block meets again.
  block_barrier(code);
  wait_for_blocks(code);
}

void BlockRunner::no_clock(const void* code) {
  block_.fault("the SM's clock, which the model does not have, read", code);
}

void BlockRunner::add_products(float* sums, const float* a, unsigned rows, const float* b,
                               unsigned columns, const void* code) {
  LaneTrace* const trace = block_.trace();
  if (trace == nullptr) {
    multiply_add_outer(sums, a, rows, b, columns);
    return;
  }
  trace->add(Arithmetic::fma_fp32, rows * columns, code);
  FmaChain& chain = block_.recorder().multiply_adds();
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

}  // namespace gpubench::model
