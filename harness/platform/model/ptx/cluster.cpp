#include "harness/platform/model/ptx/cluster.hpp"

#include <algorithm>
#include <bit>
#include <span>
#include <utility>

#include "harness/platform/model/ptx/windows.hpp"

namespace gpubench::model::ptx {

View Block::view(Space space, Mask mask, const Addresses& addresses, unsigned bytes, bool writes,
                 unsigned warp, Mask* host) {
  if (space != Space::cluster) {
    return memory.view(space, mask, addresses, bytes, writes, warp, host);
  }
  const auto first = static_cast<std::size_t>(std::countr_zero(mask));
  const std::uint64_t begin = addresses[first] / window_bytes * window_bytes;
  Block& other = cluster.block(static_cast<unsigned>(begin / window_bytes));
  if (!cluster.has_met(*this)) {
    throw Fault{"access to the shared memory of a block that need not have begun", mask};
  }
  if (other.live_ == 0) throw Fault{"access to the shared memory of a block that has ended", mask};
  Addresses there = addresses;
  for (std::uint64_t& a : there) a -= begin;
  View view = other.memory.view(Space::shared, mask, there, bytes, writes, warp, host);
  view.base -= begin;
  return view;
}

Cluster::Place Cluster::place_of(Block& own, std::uint64_t address) {
  const std::uint64_t number = address >> cluster_rank_bit;
  if (number == 0) return {&own, address};
  if (number > own.launch().cluster) throw Fault{"an address of a block beyond the cluster", 0};
  Block& other = block(own.ordinal - own.rank() + static_cast<unsigned>(number - 1));
  if (!has_met(own)) throw Fault{"use of an mbarrier of a block that need not have begun", 0};
  if (other.live_threads() == 0) throw Fault{"use of an mbarrier of a block that has ended", 0};
  return {&other, address & ((std::uint64_t{1} << cluster_rank_bit) - 1)};
}

void Cluster::begin_launch() {
  for (const auto& block : blocks_) block->begin_launch();
}

std::vector<BlockResult> Cluster::run(const Program& program, const KernelLaunch& launch,
                                      dim3 first, bool traced) {
  size_ = launch.together;
  waits_.note_progress();
  grid_word_ = 0;
  meetings_.assign(size_ / launch.cluster, {});
  const std::uint64_t grid_blocks = std::uint64_t{launch.grid.x} * launch.grid.y * launch.grid.z;
  has_whole_grid_ = size_ == grid_blocks;
  while (blocks_.size() < size_) {
    blocks_.push_back(std::make_unique<Block>(*this, static_cast<unsigned>(blocks_.size()), memory_,
                                              mapped_, conduct_));
  }
  const auto blocks = std::span(blocks_).first(size_);
  for (const auto& block : blocks) {
    block->begin(program, launch, block_after(first, block->ordinal, launch.grid), traced);
  }
  const auto is_live = [](const auto& block) { return block->live_threads() > 0; };
  const auto failed = [](const auto& block) { return !block->result.fault.empty(); };
  while (std::ranges::any_of(blocks, is_live) && std::ranges::none_of(blocks, failed)) {
    if (advance() || std::ranges::any_of(blocks, failed)) continue;
    (*std::ranges::find_if(blocks, is_live))->end_in_deadlock();
  }
  // Blocks that this one has stopped could not give back what they had: no fault of theirs.
  const auto first_failed = std::ranges::find_if(blocks, failed) - blocks.begin();
  std::vector<BlockResult> results;
  for (const auto& block : blocks) results.push_back(block->finish());
  auto fault = results.begin() + first_failed;
  if (fault == results.end()) {
    fault = std::ranges::find_if(results, [](const auto& r) { return !r.fault.empty(); });
  }
  if (fault != results.end() && fault != results.begin()) {
    std::swap(results.front().fault, fault->fault);
    results.front().is_illegal_access = fault->is_illegal_access;
  }
  return results;
}

bool Cluster::advance() {
  bool advanced = false;
  for (const auto& block : std::span(blocks_).first(size_)) {
    if (block->live_threads() > 0 && block->result.fault.empty()) {
      advanced = block->advance() || advanced;
    }
  }
  return advanced;
}

void Cluster::arrive(Warp& warp, Mask mask) {
  if (mask != warp.live) throw Fault{"a cluster's barrier that only some lanes come to", mask};
  if (warp.cluster_phase != 0) throw Fault{"a second arrival at a cluster's barrier", mask};
  Meeting& meeting = meeting_of(warp.block);
  waits_.note_progress();
  warp.cluster_phase = meeting.phase + 1;
  meeting.arrived += static_cast<unsigned>(std::popcount(mask));
  release(warp.block);
}

bool Cluster::wait(Warp& warp, Mask mask) {
  if (warp.cluster_phase == 0) throw Fault{"a wait for a cluster's barrier without arrival", mask};
  release(warp.block);
  if (meeting_of(warp.block).phase < warp.cluster_phase) return false;
  warp.cluster_phase = 0;
  ++warp.interval;
  ++warp.block.result.barriers;
  // In a cooperative launch, those counted are the grid's.
  if (!warp.block.launch().cooperative) ++warp.block.result.cluster_barriers;
  return true;
}

namespace {
constexpr std::uint32_t phase_bit = 0x80000000u;
}

std::uint32_t Cluster::add_to_grid(Warp& warp, std::uint32_t added) {
  waits_.note_progress();
  warp.grid_phase = grid_word_;
  grid_word_ = has_whole_grid_ ? grid_word_ + added : grid_word_ ^ phase_bit;
  return warp.grid_phase;
}

std::optional<std::uint32_t> Cluster::grid_word(Warp& warp) const {
  if (((grid_word_ ^ warp.grid_phase) & phase_bit) == 0) return std::nullopt;
  warp.block.result.cluster_barriers += warp.block.warps().size();
  return grid_word_;
}

void Cluster::release(const Block& of) {
  const std::size_t blocks = of.launch().cluster, first = cluster_of(of) * blocks;
  unsigned live = 0;
  for (const auto& block : std::span(blocks_).subspan(first, blocks)) live += block->live_threads();
  Meeting& meeting = meeting_of(of);
  if (meeting.arrived < live) return;
  ++meeting.phase;
  meeting.arrived = 0;
}

}  // namespace gpubench::model::ptx
