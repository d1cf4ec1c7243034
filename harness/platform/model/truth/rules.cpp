#include "harness/platform/model/truth/rules.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <deque>
#include <map>
#include <numbers>
#include <numeric>

namespace gpubench::model::truth {
namespace {

// From one sample to the next: the host waits, queues a flush of L2, a blocking kernel and the
// rest.
constexpr double between_samples = 40e-6;
constexpr double between_queued = 60e-6;  // 256 MB are cleared, and the host is far ahead

// Runs a kernel and reads it, with nothing around that could disturb.
class Bystander {
 public:
  Bystander(Pace& pace, double kernel_seconds) : pace_(pace), kernel_(kernel_seconds) {}

  double run() {  // what two events around it say
    const double begin = now_;
    now_ += pace_.kernel_seconds(kernel_, begin);
    worked_ += now_ - begin;
    clock_hz_ = (pace_.cycles(now_) - pace_.cycles(begin)) / (now_ - begin);
    return pace_.event_reading(now_) - pace_.event_reading(begin);
  }
  double runs(int times) {  // by one pair of events
    const double begin = now_;
    for (int i = 0; i < times; ++i) run();
    return (pace_.event_reading(now_) - pace_.event_reading(begin)) / times;
  }
  void wait(double seconds) { now_ += pace_.host_seconds(seconds); }
  double now() const { return now_; }
  double worked() const { return worked_; }
  double clock_hz() const { return clock_hz_; }

 private:
  Pace& pace_;
  double kernel_;
  double now_ = 1e-3, worked_ = 0, clock_hz_ = 0;
};

// Moments of values as they come.
struct Moments {
  double count = 0, mean = 0, squares = 0;
  void add(double x) {
    ++count;
    const double before = x - mean;
    mean += before / count;
    squares += before * (x - mean);
  }
  double deviation() const { return count > 1 ? std::sqrt(squares / (count - 1)) : 0; }
};

Estimate of_mean(const Moments& samples, double device_seconds) {
  const double off = 1.96 * samples.deviation() / std::sqrt(samples.count);
  return {samples.mean, samples.mean - off, samples.mean + off, device_seconds};
}

class StandardDeviation {
 public:
  void add(double seconds) {
    samples_.add(seconds);
    if (samples_.count < 5) return;
    noise_.push_back(samples_.deviation() / samples_.mean);
    if (noise_.size() > 512) noise_.pop_front();
  }
  bool is_finished() const {
    if (samples_.mean * samples_.count <= 0.5 || noise_.empty()) return false;
    if (noise_.back() < 0.005) return true;
    if (noise_.size() <= 64 || static_cast<std::size_t>(samples_.count) % 16 != 0) return false;
    Moments noise;
    for (const double value : noise_) noise.add(value);
    return noise.deviation() < 0.05 * noise.mean;
  }

 private:
  Moments samples_;
  std::deque<double> noise_;
};

class Entropy {
 public:
  void add(double seconds) {
    double& count = counts_[seconds];
    if (count > 0) sum_ -= count * std::log2(count);
    ++count;
    ++total_;
    sum_ += count * std::log2(count);
    entropy_.push_back(std::log2(total_) - sum_ / total_);
    if (entropy_.size() > 299) entropy_.pop_front();
  }
  bool is_finished() const {
    if (entropy_.size() < 2 || static_cast<std::size_t>(total_) % 2 != 0) return false;
    const auto n = static_cast<double>(entropy_.size());
    const double middle = (n - 1) / 2;
    const double mean = std::accumulate(entropy_.begin(), entropy_.end(), 0.0) / n;
    double across = 0, along = 0, total = 0, i = 0;
    for (const double value : entropy_) {
      across += (i - middle) * (value - mean);
      along += (i - middle) * (i - middle);
      total += (value - mean) * (value - mean);
      ++i;
    }
    const double slope = across / along;
    if (std::atan(slope) * 180 / std::numbers::pi > 0.048) return false;
    const double explained = total > 0 ? across * across / along / total : 1;  // R^2
    return explained >= 0.36;
  }

 private:
  std::map<double, double> counts_;
  double total_ = 0, sum_ = 0;
  std::deque<double> entropy_;
};

template <class Criterion>
Estimate nvbench(Pace& pace, double reference_hz, double kernel_seconds) {
  constexpr double least_clock = 0.75, time_out = 15;
  constexpr double least_samples = 10;
  Bystander device(pace, kernel_seconds);
  Criterion criterion;
  Moments samples;
  double recovery = 0.05;
  int discarded = 0;
  device.run();
  do {
    device.wait(between_samples);
    const double seconds = device.run();
    if (device.clock_hz() < least_clock * reference_hz) {
      if (discarded++ > 2) recovery += std::min(1.5 * recovery, 0.5);
      device.wait(recovery);
      continue;
    }
    discarded = 0;
    samples.add(seconds);
    criterion.add(seconds);
  } while ((samples.count < least_samples || !criterion.is_finished()) && device.now() < time_out);
  return of_mean(samples, device.worked());
}

Estimate do_bench(Pace& pace, double, double kernel_seconds) {
  Bystander device(pace, kernel_seconds);
  device.run();
  const double begin = device.now();
  for (int i = 0; i < 5; ++i) {
    device.wait(between_queued);
    device.run();
  }
  const double estimate = (device.now() - begin) / 5;
  const int warm_ups = std::max(1, static_cast<int>(0.025 / estimate));
  const int repetitions = std::max(1, static_cast<int>(0.1 / estimate));
  for (int i = 0; i < warm_ups; ++i) device.run();
  Moments samples;
  for (int i = 0; i < repetitions; ++i) {
    device.wait(between_queued);
    samples.add(device.run());
  }
  return of_mean(samples, device.worked());
}

Estimate plain_mean(Pace& pace, double, double kernel_seconds) {
  Bystander device(pace, kernel_seconds);
  device.run();
  Moments samples;
  for (int i = 0; i < 100; ++i) {
    device.wait(between_samples);
    samples.add(device.run());
  }
  return of_mean(samples, device.worked());
}

}  // namespace

std::vector<std::pair<std::string, Rule>> published_rules() {
  return {{"nvbench, stdrel", nvbench<StandardDeviation>},
          {"nvbench, entropy", nvbench<Entropy>},
          {"Triton, do_bench", do_bench},
          {"plain mean", plain_mean}};
}

}  // namespace gpubench::model::truth
