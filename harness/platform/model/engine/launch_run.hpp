// The blocks of one launch as they are run, on all workers, and what they did together.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/devices/device.hpp"
#include "harness/platform/model/conditions/conditions.hpp"
#include "harness/platform/model/engine/block_sample.hpp"
#include "harness/platform/model/engine/neighbours.hpp"
#include "harness/platform/model/engine/worker.hpp"
#include "harness/platform/model/memory/host_memory.hpp"

namespace gpubench::model {

struct CompiledKernel;

// What is kept of a block that runs: nothing, what it reads first, or that and all counts.
enum class Watch { nothing, reads, counts };

struct LaunchFault {
  std::string text;                // in one line; "": there was none
  bool is_illegal_access = false;  // outside all memory, or not aligned
};

using Workers = std::span<const std::unique_ptr<Worker>>;

class LaunchRun {
 public:
  // All but the last two must outlive it. `compared`: blocks of which it keeps what they read.
  // `explaining`: whether it explains block 0.
  LaunchRun(const KernelLaunch& launch, const DeviceSpec& device, DeviceMemory& memory,
            const Ordering& ordering, Workers workers, std::vector<std::uint64_t> compared,
            bool explaining);

  // Runs the blocks of these clusters, until one of them faults; none once one has. (A block that
  // is no cluster's is one by itself.) OutOfHostMemory: what they do is too much to be kept.
  void run(std::vector<std::uint64_t> clusters, Watch watch);

  // The first fault of a block, or what ended up wrong between blocks; or "".
  LaunchFault fault() const;
  // Whether some of the blocks that were counted wrote to global memory and some did not: then no
  // sample tells what the grid leaves unwritten.
  bool has_idle_blocks() const { return idle_blocks_ > 0 && writing_blocks_ > 0; }
  // Whether cluster `first`, which ran before all others, did the work of others, too: blocks that
  // draw it from a counter in memory leave none to those after them.
  bool has_drawn_all(std::uint64_t first) const;
  // What it cost to run the first block of each cluster that was watched.
  const BlockWork& work() const { return work_; }
  // What the blocks that were counted did.
  KernelProfile profile();
  Touches touches() const;
  // Once block 0 was counted.
  std::optional<Explanation> explanation();

 private:
  bool run_one(Worker& worker, std::uint64_t cluster, Watch watch);
  // Whether the cluster ran without a fault.
  bool run_and_keep(Worker& worker, std::uint64_t cluster, Watch watch);
  void keep(Worker& worker, std::uint64_t block, const BlockResult& result, Watch watch);
  void add(const BlockResult& result);
  Counts counts() const;
  double traced_blocks() const;

  const KernelLaunch& launch_;
  const DeviceSpec& device_;
  const Ordering& ordering_;
  Workers workers_;
  const std::vector<std::uint64_t> compared_;
  const bool explaining_;
  const CompiledKernel* const compiled_;  // null: what nvcc made of it is not known
  FootprintMap map_;
  std::mutex mutex_;  // of all that follows
  LaunchFault fault_;
  std::optional<OutOfHostMemory> lacking_;
  BlockWork work_;
  ReadSectors reads_;  // of those compared, once they have run
  std::optional<std::vector<ExplainedAccess>> explained_;
  Counts block_counts_;  // what blocks count, beside their warps' traces
  std::size_t idle_blocks_ = 0, writing_blocks_ = 0;
  bool has_guessed_structs_ = false;
  unsigned tensor_columns_ = 0;          // of the block with most
  std::size_t static_shared_bytes_ = 0;  // of the block with most, if nothing else tells
  double host_bytes_read_ = 0, host_bytes_written_ = 0;
};

}  // namespace gpubench::model
