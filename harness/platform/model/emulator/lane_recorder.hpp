// What is kept of each lane of a traced block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "harness/platform/model/emulator/block_result.hpp"
#include "harness/platform/model/emulator/fma_chain.hpp"
#include "harness/platform/model/emulator/load_chain.hpp"
#include "harness/platform/model/emulator/memory_checker.hpp"
#include "harness/platform/model/emulator/trace.hpp"

namespace gpubench::model {

class LaneRecorder {
 public:
  void begin_block(unsigned lanes, std::size_t shared_words, bool traced);
  // From now on this lane's turn.
  void enter(unsigned lane) {
    current_ = lane;
    trace_ = is_on_ ? &traces_[lane] : nullptr;
    if (is_on_) checker_.enter(lane);
  }

  bool is_on() const { return is_on_; }
  LaneTrace* trace() { return trace_; }  // the current lane's, or nullptr
  LoadChain& loads() { return load_chains_[current_]; }
  FmaChain& multiply_adds() { return chains_[current_]; }
  void count_product() { ++products_[current_]; }
  // Multiply-adds and products of matrices that the current lane has made.
  std::uint32_t computed_so_far() const {
    return is_on_ ? chains_[current_].count() + products_[current_] : 0;
  }
  CopyWaits& copy_waits() { return copy_waits_[current_]; }
  MemoryChecker& checker() { return checker_; }
  const MemoryChecker& checker() const { return checker_; }

  // --- of the last traced block, in the order of the lanes' linear thread index ---
  const std::vector<LaneTrace>& traces() const { return traces_; }
  const FmaChain& chain(std::size_t lane) const { return chains_[lane]; }
  const LoadChain& load_chain(std::size_t lane) const { return load_chains_[lane]; }
  const CopyWaits& copy_waits(std::size_t lane) const { return copy_waits_[lane]; }

 private:
  std::vector<LaneTrace> traces_;
  std::vector<FmaChain> chains_;
  std::vector<LoadChain> load_chains_;
  std::vector<std::uint32_t> products_;
  std::vector<CopyWaits> copy_waits_;
  bool is_on_ = false;
  unsigned current_ = 0;
  LaneTrace* trace_ = nullptr;
  MemoryChecker checker_;
};

}  // namespace gpubench::model
