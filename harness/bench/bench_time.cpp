// A row's time: how it is taken, and the evidence that comes with it.
#include <algorithm>
#include <cmath>
#include <iomanip>
#include <sstream>
#include <stdexcept>

#include "harness/bench/bench.hpp"
#include "harness/records/model_error.hpp"
#include "harness/statistics/statistics.hpp"

namespace gpubench {
namespace {

// What a profiler calls work that is timed beside a row.
constexpr const char* beside_the_row = " (beside)";

// A host that has stumbled once is not to cost every later sample as much.
constexpr double longest_head_start_seconds = 50e-3;

// What a row says whose clock rest has not brought back, or not for long.
std::string how_it_stayed(const Timing& timing) {
  const double hz = timing.sm_clock_hz.value_or(0), wanted_hz = timing.reference_hz.value_or(0);
  if (hz >= 0.995 * wanted_hz) return "; it kept dropping";
  if (hz == 0) return "; it did not recover";
  std::ostringstream words;
  words << "; it did not recover: measured at " << std::setprecision(3) << hz / 1e9
        << " GHz, not at " << wanted_hz / 1e9;
  return words.str();
}

std::vector<std::string> notes_on(const Timing& timing) {
  std::vector<std::string> notes;
  if (timing.pauses > 0) {
    std::ostringstream words;
    words << "paused " << std::setprecision(2) << timing.paused_seconds
          << " s in all, because the clock had dropped";
    if (timing.held_back) words << how_it_stayed(timing);
    notes.push_back(words.str());
  }
  if (!timing.gated) {
    notes.push_back("timed without the start gate: " + timing.not_gated_because);
  }
  return notes;
}

// And how far off it may be: two standard deviations of the model's error for such rows.
void note_prediction(Row& row, double seconds) {
  const double off = std::exp(2 * model_sigma(row.topic, row.kernel));
  row.counters["model_seconds"] = seconds;
  row.counters["model_low_seconds"] = seconds / off;
  row.counters["model_high_seconds"] = seconds * off;
}

}  // namespace

Timing Bench::take_samples(const Body& body, double budget_seconds, double warmup_seconds) {
  TimerSettings timer;
  timer.mode = settings_.mode;
  timer.profile = settings_.profile;
  timer.blocks_host = blocks_host_;
  if (ranks_ != nullptr) {
    // As many sets of the buffer as that takes, were memory as fast as the data sheet says.
    const double each = static_cast<double>(head_start_.bytes()) /
                        platform_.device().find("dram_bytes_per_second").value_or(4e12);
    timer.head_start = [this, each](cudaStream_t s, double least_seconds) {
      const double wanted =
          std::min(std::max(head_start_seconds_, least_seconds), longest_head_start_seconds);
      for (double seconds = 0; seconds < wanted; seconds += each) {
        CUDA_CHECK(cudaMemsetAsync(head_start_.data(), 0, head_start_.bytes(), s));
      }
    };
    timer.common = [](double mine) { return ProcessGroup::all().greatest(mine); };
  }
  timer.stop.budget_seconds = budget_seconds;
  timer.warmup_seconds = warmup_seconds;
  timer.now = [this] { return platform_.host_seconds(); };
  timer.rest = [this](double seconds) { platform_.rest(seconds); };
  timer.health = platform_.health();
  timer.known_clock_hz = platform_.known_clock_hz();
  if (timer.health != nullptr) timer.most_clock_hz = timer.health->max_sm_clock_hz().value_or(0);
  if (platform_.deterministic()) {
    timer.warmup_seconds = 0;
    // How busy this machine is has no say in what a modelled row looks like.
    timer.stop = without_a_clock(timer.stop);
  } else {
    timer.stop = with_a_clock(timer.stop);
  }
  if (settings_.exact_samples) timer.stop = exactly(*settings_.exact_samples, timer.stop);
  Timing timing;
  const auto take = [&] {
    timing = time_body(
        body, [this] { begin_run(); }, timer);
  };
  if (settings_.profile) {
    // What is timed besides, once the row has its time, is not the row.
    platform_.name_for_profiler(row_.name + (row_.samples.empty() ? "" : beside_the_row), take);
  } else {
    take();
  }
  if (timing.seconds.empty()) {
    throw std::runtime_error("no sample survived: " + timing.not_gated_because);
  }
  return timing;
}

void Bench::note_evidence(const Timing& timing) {
  auto& counters = row_.counters;
  if (platform_.health() != nullptr) {
    std::vector<HealthSample> health = timing.health;
    // A row too short to have been looked at in between: the device has just stopped working.
    if (health.empty()) health.push_back(platform_.health()->sample());
    const Health judged = judge(health);
    if (judged.sm_clock_hz) counters["sm_clock_hz"] = *judged.sm_clock_hz;
    if (judged.power_w) counters["power_w"] = *judged.power_w;
    if (judged.temperature_c) counters["temperature_c"] = *judged.temperature_c;
    if (judged.throttled) counters["throttled"] = *judged.throttled ? 1 : 0;
    if (!judged.words.empty()) row_.notes.push_back(judged.words);
  }
  // What the kernels themselves have seen is better than what the driver says.
  if (timing.sm_clock_hz) counters["sm_clock_hz"] = *timing.sm_clock_hz;
  if (timing.sm_clock_hz && !timing.held_back) platform_.note_clock(*timing.sm_clock_hz);
  // A driver that gives reasons would have named one that makes a row invalid: this load draws more
  // than the full clock allows, and the clock that it gets is the row's own.
  if (timing.held_back && !counters.contains("throttled")) counters["throttled"] = 1;
  if (platform_.deterministic()) return;
  counters["discarded"] = static_cast<double>(timing.discarded);
  counters["off_clock"] = static_cast<double>(timing.off_clock);
  counters["paused_seconds"] = timing.paused_seconds;
  counters["gate_timeouts"] = static_cast<double>(timing.gate_timeouts);
  counters["device_seconds"] = timing.device_seconds;
  if (timing.tick_seconds > 0) counters["event_tick_seconds"] = timing.tick_seconds;
  if (timing.cpu_seconds) counters["cpu_seconds"] = *timing.cpu_seconds;
}

void Bench::take_time(const Body& body) {
  platform_.expect_timing();
  const Timing timing = take_samples(body, settings_.budget_seconds, settings_.warmup_seconds);
  note_evidence(timing);
  row_.samples = timing.seconds;
  row_.discarded = timing.discarded;
  for (std::string& note : notes_on(timing)) row_.notes.push_back(std::move(note));
  const Summary summary = summarize(timing.seconds);
  if (summary.median <= 0) skip("is shorter than this device's event timer can resolve");
  row_.median_seconds = summary.median;
  auto& counters = row_.counters;
  // No run takes no time: what coarse events say of the shortest is not known.
  if (summary.min > 0) counters["min_seconds"] = summary.min;
  if (const auto& interval = timing.interval; interval && interval->low > 0) {
    counters["ci_low_seconds"] = interval->low;
    counters["ci_high_seconds"] = interval->high;
  }
  counters["samples"] = static_cast<double>(timing.seconds.size());
  counters["converged"] = timing.converged ? 1 : 0;
  if (timing.empty_seconds) counters["empty_seconds"] = *timing.empty_seconds;
  if (platform_.kind() == DeviceKind::model) note_prediction(row_, summary.median);
  const auto rate = [&](const char* name, double amount) {
    if (amount > 0) counters[name] = amount / summary.median;
  };
  rate("useful_bytes_per_second", work_.useful_bytes);
  rate("moved_bytes_per_second", work_.moved_bytes);
  rate("flops_per_second", work_.flops);
  rate("items_per_second", work_.items);
  if (work_.flops > 0 && dram_bytes_ > 0) {
    counters["arithmetic_intensity"] = work_.flops / dram_bytes_;
  }
}

}  // namespace gpubench
