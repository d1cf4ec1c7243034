// Runs kernels for the model device: executes blocks on the host's cores, counts what the hardware
// would, and says how long the kernel would take.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/platform/model/conditions/conditions.hpp"
#include "harness/platform/model/emulator/block_engine.hpp"
#include "harness/platform/model/emulator/footprint.hpp"
#include "harness/platform/model/engine/block_sample.hpp"
#include "harness/platform/model/launch/executor.hpp"
#include "harness/platform/model/memory/host_memory.hpp"
#include "harness/platform/model/time/time_model.hpp"
#include "harness/records/explanation.hpp"

namespace gpubench::model {

struct LaunchFault;

class Worker;

// How much of a grid is run.
enum class Execution {
  sampled,  // up to a budget of work; blocks at both ends, and some of all between
  whole,    // every block; a sample of them is traced
  counted,  // every block, and every one is traced
  timing,   // nothing that was run before with arguments of the same shape: only its duration
};

struct EmulatorSettings {
  unsigned threads = 0;  // of the host; 0: all cores
  std::size_t most_sampled_blocks = 32;
  std::size_t event_budget =
      1'500'000;  // events and multiply-adds per kernel, after which sampling stops
  std::size_t most_host_bytes = model::most_host_bytes;  // unless whole grids are run
  MappedHost is_mapped_host{};                           // default: no host memory may be accessed
  // Whether kernels of a device may access a peer's memory. Default: none may.
  std::function<bool(int device, int peer)> may_access{};
  Ordering ordering{};  // of blocks, lanes and copies
};

class Emulator final : public KernelExecutor {
 public:
  // `device` and `memory` must outlive the emulator.
  Emulator(const DeviceSpec& device, DeviceMemory& memory, EmulatorSettings settings = {});
  ~Emulator() override;

  KernelOutcome execute(const KernelLaunch& launch) override;

  // What runs blocks from now on; otherwise the source as the host's compiler made it.
  void use_engine(const MakeEngine& make);
  void use_threads(unsigned threads);  // of the host, from now on; 0: all cores

  void set_execution(Execution execution);
  // Why the host's memory did not do for a launch since the last call of forget_runs(), or "".
  const std::string& lacking_memory() const { return lacking_memory_; }

  // One launch as it was predicted.
  struct Run {
    KernelProfile profile;
    Prediction prediction;
    bool whole = false;  // every block was executed
  };
  // The launches since the last call of forget_runs(), in order.
  const std::vector<Run>& runs() const { return runs_; }
  // What kernels take that were not run since, and what the caches hold.
  void forget_past() {
    measured_.clear();
    l2_traffic_.clear();
    last_use_.clear();
  }
  void forget_runs() {
    runs_.clear();
    explanations_.clear();
    lacking_memory_.clear();
    sample_.forget();
  }

  // Whether launches are explained as well: what the first warp of their first block accesses.
  void set_explaining(bool explaining) { explaining_ = explaining; }
  // Explanations of the launches since the last call of forget_runs(), in order.
  const std::vector<Explanation>& explanations() const { return explanations_; }

 private:
  struct Measured {
    KernelProfile profile;
    bool whole = false;
    std::vector<std::uint64_t> identities;  // of the allocations it was measured on
    Touches touches;                        // of these and others
    // By what L2 holds of each footprint: a loop soon finds it as it was.
    std::map<std::vector<Held>, Prediction> predictions{};
  };

  bool runs_all() const {
    return execution_ == Execution::whole || execution_ == Execution::counted;
  }
  std::string shape_of(const KernelLaunch& launch, std::vector<std::uint64_t>& identities) const;
  // Before a launch of which every block runs: asks for what its arguments hold.
  void ask_for_arguments(const KernelLaunch& launch) const;
  Measured run_blocks(const KernelLaunch& asked, LaunchFault& fault);
  static KernelLaunch as_it_runs(const KernelLaunch& launch);
  Held held(const FootprintSums& f) const;
  std::string forbidden_access(const KernelProfile& profile) const;
  // The prediction for a launch with these footprints, before it uses them.
  const Prediction& prediction_of(Measured& measured,
                                  const std::vector<FootprintSums>& footprints) const;
  void remember_traffic(const KernelProfile& profile, const std::vector<FootprintSums>& footprints);

  const DeviceSpec& device_;
  DeviceMemory& memory_;
  EmulatorSettings settings_;
  BlockSample sample_;
  MakeEngine make_engine_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::string lacking_memory_;
  Execution execution_ = Execution::sampled;
  std::vector<Run> runs_;
  bool explaining_ = false;
  std::vector<Explanation> explanations_;
  std::map<std::string, Measured> measured_;
  // What went through each device's L2, in bytes since the start, now and when each allocation was
  // last begun to be used.
  std::map<int, double> l2_traffic_;
  std::map<std::uint64_t, double> last_use_;
};

}  // namespace gpubench::model
