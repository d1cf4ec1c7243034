#include "harness/platform/model/truth/trials.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>

#include "harness/cuda/launch.hpp"
#include "harness/platform/model/runtime/runtime.hpp"
#include "harness/statistics/statistics.hpp"

namespace gpubench::model::truth {
namespace {

// Their misses are no matter of a per cent, and some of their rows take very long.
constexpr std::size_t others_share = 20;

void kernel() {}  // never carried out: its time is all that matters

class FixedTime final : public KernelExecutor {
 public:
  explicit FixedTime(double seconds) : seconds_(seconds) {}
  KernelOutcome execute(const KernelLaunch&) override { return {seconds_, "", 1}; }

 private:
  double seconds_;
};

class Driver final : public HealthMonitor {
 public:
  HealthSample sample() override { return current_runtime()->health(); }
};

TimingConditions of_row(TimingConditions conditions, std::size_t row) {
  conditions.seed = conditions.seed * 1'000'003 + row;
  return conditions;
}

// Kernels of about that length: none is a multiple of a tick, nor are all alike.
double length_in_row(double kernel_seconds, std::size_t row) {
  std::minstd_rand random(static_cast<std::uint32_t>(row + 1));
  random.discard(4);
  return kernel_seconds * std::uniform_real_distribution<double>(1, 1.25)(random);
}

// The truth of a row, and what a rule made of it.
struct Trial {
  double truth = 0;
  Estimate estimate;
};

Score score_of(const std::string& rule, const std::vector<Trial>& trials) {
  std::vector<double> errors, distances, widths, device;
  Score score{.rule = rule};
  for (const auto& [truth, estimate] : trials) {
    const double error = estimate.seconds / truth - 1;
    errors.push_back(error);
    distances.push_back(std::abs(error));
    widths.push_back((estimate.high - estimate.low) / 2 / truth);
    device.push_back(estimate.device_seconds);
    const double rounding = 1e-6 * truth;  // events tell their distance as a float
    const bool holds = estimate.low - rounding <= truth && truth <= estimate.high + rounding;
    score.coverage += (holds ? 1.0 : 0.0) / static_cast<double>(trials.size());
  }
  score.bias = median(errors);
  score.worst = quantile(distances, 0.95);
  score.half_width = median(widths);
  score.device_seconds = median(device);
  return score;
}

}  // namespace

Estimate time_by_gpubench(const DeviceSpec& device, const TimingConditions& conditions,
                          double kernel_seconds, Mode mode) {
  DeviceMemory memory(std::size_t{1} << 20);
  FixedTime executor(kernel_seconds);
  RuntimeOptions options;
  options.conditions.timing = conditions;
  options.conditions.timing.present = true;
  install_runtime(std::make_unique<Runtime>(device, memory, executor, options));
  Driver driver;
  TimerSettings settings;
  settings.mode = mode;
  settings.stop = with_a_clock(settings.stop);
  settings.now = [] { return current_runtime()->host_seconds(); };
  settings.rest = [](double seconds) { current_runtime()->sleep(seconds); };
  settings.health = &driver;
  const Timing timing = time_body(
      [](cudaStream_t stream) { gpubench::launch(kernel, 1, 32, 0, stream); }, [] {}, settings);
  Estimate estimate{.seconds = median(timing.seconds),
                    .device_seconds = current_runtime()->pace()->busy_seconds()};
  // Without an interval a row claims nothing.
  estimate.low = timing.interval ? timing.interval->low : estimate.seconds;
  estimate.high = timing.interval ? timing.interval->high : estimate.seconds;
  install_runtime(nullptr);
  return estimate;
}

Score try_gpubench(const DeviceSpec& device, const TimingConditions& conditions,
                   double kernel_seconds, std::size_t rows, Mode mode) {
  const double reference = device["sm_clock_hz"];
  std::vector<Trial> trials;
  for (std::size_t row = 0; row < rows; ++row) {
    const TimingConditions own = of_row(conditions, row);
    const double length = length_in_row(kernel_seconds, row);
    trials.push_back(
        {Pace(own, reference).true_seconds(length), time_by_gpubench(device, own, length, mode)});
  }
  return score_of("gpubench", trials);
}

std::vector<Score> try_rules(const DeviceSpec& device, const TimingConditions& conditions,
                             double kernel_seconds, std::size_t rows) {
  const double reference = device["sm_clock_hz"];
  std::vector<Score> scores{try_gpubench(device, conditions, kernel_seconds, rows)};
  for (const auto& [name, rule] : published_rules()) {
    std::vector<Trial> trials;
    for (std::size_t row = 0; row < std::max<std::size_t>(1, rows / others_share); ++row) {
      Pace pace(of_row(conditions, row), reference);
      const double length = length_in_row(kernel_seconds, row);
      trials.push_back({pace.true_seconds(length), rule(pace, reference, length)});
    }
    scores.push_back(score_of(name, trials));
  }
  return scores;
}

}  // namespace gpubench::model::truth
