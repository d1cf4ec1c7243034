#include "harness/timing/sampler.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "harness/statistics/statistics.hpp"

namespace gpubench {
namespace {

constexpr std::size_t events_per_window = 2;
constexpr std::size_t most_queueing_times = 4096;
// A stretch is long against a shared clock that counts microseconds.
constexpr double shortest_stretch = 100e-6;
// A wait outlasts what the device needs to make the next kernel ready.
constexpr double shortest_wait = 3e-6;
constexpr double between_health_samples = 0.02;
// A window takes longer to queue at one time than at another.
constexpr double queueing_margin = 2;

// The largest time of which all of `seconds` are multiples; 0 where there is none to speak of.
double tick_of(std::vector<double> seconds) {
  constexpr double shortest_tick = 4e-9;
  constexpr int most_parts = 8;
  std::sort(seconds.begin(), seconds.end());
  const double longest = seconds.back();
  double gap = longest;
  for (std::size_t i = 1; i < seconds.size(); ++i) {
    const double here = seconds[i] - seconds[i - 1];
    if (here > shortest_tick / 4) gap = std::min(gap, here);
  }
  // No two of them need be a single tick apart.
  for (int parts = 1; parts <= most_parts && gap / parts >= shortest_tick; ++parts) {
    // The longest stretch tells it best.
    const double tick = longest / std::round(longest / (gap / parts));
    const bool all = std::all_of(seconds.begin(), seconds.end(), [&](double s) {
      return std::abs(s / tick - std::round(s / tick)) < 0.1;
    });
    if (all) return tick;
  }
  return 0;
}

}  // namespace

// --- the SM clock ---

ClockReader::ClockReader() {
  if (!device_has_clocks()) return;
  int device = 0, sms = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device));
  begin_ = PinnedBuffer<ClockStamp>(static_cast<std::size_t>(sms));
  end_ = PinnedBuffer<ClockStamp>(static_cast<std::size_t>(sms));
}

void ClockReader::begin(cudaStream_t stream) const {
  if (!can_read()) return;
  for (const auto& stamps : {begin_.span(), end_.span()}) {
    std::fill(stamps.begin(), stamps.end(), ClockStamp{});
  }
  CUDA_CHECK(read_clocks(begin_.device_data(), static_cast<unsigned>(begin_.size()), stream));
}

void ClockReader::end(cudaStream_t stream) const {
  if (!can_read()) return;
  CUDA_CHECK(read_clocks(end_.device_data(), static_cast<unsigned>(end_.size()), stream));
}

std::optional<double> ClockReader::hz() const {
  std::vector<double> clocks;
  for (std::size_t sm = 0; sm < begin_.size(); ++sm) {
    const ClockStamp& first = begin_[sm];
    const ClockStamp& last = end_[sm];
    if (first.nanoseconds == 0 || last.nanoseconds <= first.nanoseconds) continue;
    const double seconds = 1e-9 * static_cast<double>(last.nanoseconds - first.nanoseconds);
    if (seconds < shortest_stretch) continue;
    clocks.push_back(static_cast<double>(last.cycles - first.cycles) / seconds);
  }
  if (clocks.empty()) return std::nullopt;
  return median(clocks);
}

// --- windows ---

void Sampler::make_gate() {
  gate_.emplace(std::chrono::duration<double>(settings_.gate_timeout_seconds));
  if (!gate_->available()) do_not_gate("the device has nothing to make a gate of");
}

void Sampler::do_not_gate(std::string reason) {
  gate_.reset();
  not_gated_because_ = std::move(reason);
}

void Sampler::wait_for_a_moment(double least_seconds, double most_seconds) {
  const double seconds =
      std::uniform_real_distribution<double>(least_seconds, most_seconds)(random_);
  CUDA_CHECK(wait_on_device(static_cast<std::uint64_t>(seconds * clock_hz_), stream_));
}

double Sampler::find_tick(double clock_hz) {
  if (!clocks_.can_read() || clock_hz <= 0) return 0;
  constexpr std::size_t waits = 48;
  constexpr double longest_wait = 20e-6;
  clock_hz_ = clock_hz;
  while (events_.size() <= waits) events_.emplace_back();
  wait_for_a_moment(0, longest_wait);  // the first is loaded now
  events_[0].record(stream_);
  for (std::size_t i = 1; i <= waits; ++i) {
    wait_for_a_moment(0, longest_wait);
    events_[i].record(stream_);
  }
  stream_.synchronize();
  std::vector<double> seconds;
  for (std::size_t i = 1; i <= waits; ++i) {
    seconds.push_back(seconds_between(events_[i - 1], events_[i]));
  }
  tick_ = tick_of(std::move(seconds));
  return tick_;
}

std::size_t Sampler::fitting(const Window& window, std::size_t wanted) const {
  if (!gate_) return 1;  // a queue of samples would hide the latency of some and not of others
  const std::size_t each = window.operations + events_per_window + (dithers_ ? 1 : 0);
  const std::size_t beside = 1 + (clocks_.can_read() ? 3 : 0);  // the gate, clocks and a wait
  const std::size_t fit = (max_gated_operations - std::min(max_gated_operations, beside)) / each;
  return std::min(wanted, std::max<std::size_t>(fit, 1));
}

void Sampler::queue(const Window& window, std::size_t i) {
  if (!gate_ && settings_.head_start && !settings_.profile) {
    settings_.head_start(stream_, queueing_.empty() ? 0 : queueing_margin * queueing_.back());
  }
  window.prepare();
  if (dithers_ && gate_) wait_for_a_moment(shortest_wait, shortest_wait + tick_);
  events_[2 * i].record(stream_);
  const double began = settings_.now();
  window.queue(stream_);
  if (queueing_.size() < most_queueing_times) queueing_.push_back(settings_.now() - began);
  events_[2 * i + 1].record(stream_);
}

Batch Sampler::take(const Window& window, std::size_t wanted) {
  wanted = fitting(window, wanted);
  Batch batch{.windows = wanted};
  while (events_.size() < events_per_window * wanted) events_.emplace_back();
  const bool reads_clocks = gate_.has_value() && clocks_.can_read();
  if (gate_) gate_->close(stream_);
  if (reads_clocks) {
    clocks_.begin(stream_);
    if (clock_hz_ > 0) wait_for_a_moment(shortest_wait, shortest_wait);
  }
  for (std::size_t i = 0; i < wanted; ++i) queue(window, i);
  if (reads_clocks) clocks_.end(stream_);
  batch.timed_out = gate_ && !gate_->open();
  // Now the device works.
  if (const double now = settings_.now();
      settings_.health != nullptr && now - health_at_ >= between_health_samples) {
    batch.health = settings_.health->sample();
    health_at_ = now;
  }
  stream_.synchronize();
  if (batch.timed_out) {
    do_not_gate(gate_->timeout_message());
    return batch;
  }
  for (std::size_t i = 0; i < wanted; ++i) {
    batch.seconds.push_back(settings_.common(seconds_between(events_[2 * i], events_[2 * i + 1])));
  }
  if (reads_clocks) batch.clock_hz = clocks_.hz();
  return batch;
}

}  // namespace gpubench
