// gpubench-emulator-rate: how fast the emulator is on this machine, on one core: what a traced
// access costs (WORKLOAD/traced, with its counting), one that is only run (WORKLOAD/run_only), and
// a switch of fibers. Accesses are those of single lanes.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <vector>

#include "harness/cuda/check.hpp"
#include "harness/platform/model/engine/emulator.hpp"
#include "harness/platform/model/rate/emulator_rate_kernels.hpp"
#include "harness/platform/model/runtime/runtime.hpp"

namespace gpubench {
namespace {

using model::Access;
using model::Space;

constexpr unsigned elements = 1 << 18, stride = 8, size = 256;

class EmulatedDevice {
 public:
  explicit EmulatedDevice(bool traced) : emulator(spec, memory, settings(traced)) {
    emulator.set_execution(model::Execution::whole);
    model::install_runtime(std::make_unique<model::Runtime>(spec, memory, emulator));
  }
  ~EmulatedDevice() { model::install_runtime(nullptr); }

  float* make(std::size_t count) {
    auto* floats = static_cast<float*>(memory.allocate(count * sizeof(float)));
    memory.set(floats, 0, count * sizeof(float));
    return floats;
  }

  const DeviceSpec spec = device_spec("h200-sxm");
  model::DeviceMemory memory{std::size_t{1} << 30};
  model::Emulator emulator;

 private:
  // All blocks traced, or no more than the two that have to be.
  static model::EmulatorSettings settings(bool traced) {
    model::EmulatorSettings all;
    all.threads = 1;
    all.most_sampled_blocks = traced ? std::numeric_limits<std::size_t>::max() : 2;
    all.event_budget = std::numeric_limits<std::size_t>::max();
    return all;
  }
};

double accesses_of(const model::KernelProfile& profile) {
  double lanes = 0;
  for (const Space space : {Space::global, Space::shared}) {
    for (const Access kind : {Access::load, Access::store, Access::atomic}) {
      lanes += profile.counts.at(space, kind).lanes;
    }
  }
  return lanes * profile.scale();
}

void measure(benchmark::State& state, bool traced,
             const std::function<void(EmulatedDevice&)>& prepare,
             const std::function<void()>& launch) {
  EmulatedDevice device(traced);
  prepare(device);
  double accesses = 0, blocks = 0;
  for (auto _ : state) {
    device.emulator.forget_runs();
    launch();
    CUDA_CHECK(cudaDeviceSynchronize());
    accesses += accesses_of(device.emulator.runs().at(0).profile);
    blocks += device.emulator.runs()[0].profile.blocks;
  }
  state.counters["accesses_per_second"] = benchmark::Counter(accesses, benchmark::Counter::kIsRate);
  state.counters["seconds_per_access"] =
      benchmark::Counter(accesses, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["blocks_per_second"] = benchmark::Counter(blocks, benchmark::Counter::kIsRate);
}

// Buffers shared by the workloads; each device has its own.
float *a, *b, *c;

void register_all() {
  const auto buffers = [](EmulatedDevice& device) {
    a = device.make(std::size_t{elements} * stride);
    b = device.make(std::size_t{elements} * stride);
    c = device.make(std::size_t{elements} * stride);
  };
  const struct {
    const char* name;
    std::function<void()> launch;
  } workloads[] = {
      {"copy", [] { rate::copy(b, a, elements); }},
      {"copy_strided", [] { rate::copy_strided(b, a, elements, stride); }},
      {"transpose", [] { rate::transpose(b, a, 2 * size); }},
      {"shared_reduction", [] { rate::reduce(b, a, elements); }},
      {"matrix_multiply", [] { rate::multiply(c, a, b, size); }},
  };
  for (const auto& workload : workloads) {
    for (const bool traced : {true, false}) {
      const std::string name = std::string(workload.name) + (traced ? "/traced" : "/run_only");
      benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
        measure(state, traced, buffers, workload.launch);
      })->Unit(benchmark::kMillisecond);
    }
  }
  // What a barrier costs a thread: from one fiber to the next, with the scheduling.
  benchmark::RegisterBenchmark("fiber_switch", [=](benchmark::State& state) {
    constexpr unsigned blocks = 100, times = 100;
    measure(state, false, buffers, [] { rate::meet(c, blocks, times); });
    state.counters.clear();  // it accesses next to nothing
    state.counters["seconds_per_switch"] =
        benchmark::Counter(256.0 * blocks * times, benchmark::Counter::kIsIterationInvariantRate |
                                                       benchmark::Counter::kInvert);
  })->Unit(benchmark::kMillisecond);
}

}  // namespace
}  // namespace gpubench

int main(int argc, char** argv) {
  gpubench::register_all();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
