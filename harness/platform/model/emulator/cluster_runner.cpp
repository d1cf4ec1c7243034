#include "harness/platform/model/emulator/cluster_runner.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace gpubench::model {

void ClusterRunner::attach() {
  for (const auto& block : blocks_) block->attach();
}

void ClusterRunner::begin(const KernelLaunch& launch, dim3 first, bool traced) {
  size_ = launch.together;
  traced_ = traced;
  while (blocks_.size() < size_) {
    blocks_.push_back(std::make_unique<BlockRunner>(memory_, is_mapped_host_, ordering_));
    blocks_.back()->attach();
  }
  std::vector<Block*> together;
  std::vector<BulkCopies*> copies;
  for (unsigned number = 0; number < size_; ++number) {
    const dim3 index = block_after(first, number, launch.grid);
    blocks_[number]->begin(launch, index, traced, {&cluster_, number});
    together.push_back(&blocks_[number]->block());
    copies.push_back(&blocks_[number]->bulk_copies());
  }
  for (BulkCopies* const each : copies) each->join(copies);
  for (unsigned odd = 1; launch.cluster % 2 == 0 && odd < size_; odd += 2) {
    blocks_[odd]->pair_with(*blocks_[odd - 1]);
  }
  cluster_.begin(std::move(together));
}

// One waits for lanes that never come; those that only wait for it say less.
std::string ClusterRunner::stuck() {
  const auto blocks = std::span(blocks_).first(size_);
  const auto waits = [](const auto& block) {
    return block->is_running() && !block->block().lanes().all_wait_for_cluster();
  };
  const auto stuck_block = std::ranges::find_if(blocks, waits);
  (*stuck_block)->end_in_deadlock();
  return (*stuck_block)->block().result().fault;
}

std::string ClusterRunner::run_to_end() {
  const auto blocks = std::span(blocks_).first(size_);
  for (;;) {
    bool advanced = false;
    for (const auto& block : blocks) {
      advanced = block->advance() || advanced;
      // A fault, or a lack of memory, stops a block: its end says which.
      const bool has_stopped = block->block().lanes().has_live_lanes() && !block->is_running();
      if (has_stopped || block->block().has_unwritten_read()) return block->block().result().fault;
    }
    const auto is_running = [](const auto& block) { return block->is_running(); };
    if (std::ranges::none_of(blocks, is_running)) return traced_ ? cluster_.end() : "";
    if (advanced) continue;
    const auto waits = [](const auto& block) {
      return block->block().lanes().all_wait_for_cluster();
    };
    if (!std::ranges::all_of(blocks, waits)) return stuck();
    std::string left = traced_ ? cluster_.meet() : "";
    if (!left.empty()) return left;
    for (const auto& block : blocks) block->release_cluster();
  }
}

std::vector<BlockResult> ClusterRunner::run(const KernelLaunch& launch, dim3 first, bool traced) {
  begin(launch, first, traced);
  const std::string wrong = run_to_end();
  std::vector<BlockResult> results;
  for (unsigned number = 0; number < size_; ++number) results.push_back(blocks_[number]->end());
  const auto failed = std::ranges::find_if(results, [](const auto& r) { return !r.fault.empty(); });
  if (failed != results.end()) {
    std::swap(results.front().fault, failed->fault);
    results.front().is_illegal_access = failed->is_illegal_access;
  } else {
    results.front().fault = wrong;
  }
  return results;
}

}  // namespace gpubench::model
