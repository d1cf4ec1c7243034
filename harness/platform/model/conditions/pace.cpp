#include "harness/platform/model/conditions/pace.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "harness/evidence/evidence.hpp"

namespace gpubench::model {
namespace {

constexpr double clock_step_hz = 15e6;      // clocks are multiples of it
constexpr double longest_stride = 0.25e-3;  // between two looks at a clock that changes
constexpr std::size_t most_stretches = 4096;
constexpr double taken_back = 0.75;  // of the load at which a step was taken
constexpr int drawn_runs = 20001;    // beside a tenant, for the truth

double normal_cdf(double z) { return 0.5 * std::erfc(-z / std::numbers::sqrt2); }

// A number in [0, 1) that depends on `n` and `seed` alone.
double hashed(std::int64_t n, std::uint64_t seed) {
  std::uint64_t x = static_cast<std::uint64_t>(n) * 0x9E3779B97F4A7C15U + seed;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return static_cast<double>((x ^ (x >> 31)) >> 11) * 0x1p-53;
}

}  // namespace

Pace::Pace(const TimingConditions& conditions, double reference_hz)
    : conditions_(conditions), reference_hz_(reference_hz), random_(conditions.seed) {
  random_.discard(8);
  process_ = std::exp(conditions_.noise.process_sigma * normal_(random_));
  event_phase_ =
      conditions_.event_tick_seconds * std::uniform_real_distribution<double>(0, 1)(random_);
  drift_ = normal_(random_);
  median_ = median_of_noise();
  stretches_.push_back({0, clock_now(), 0, 0});
}

// --- noise ---

double Pace::noise(double start) {
  const NoiseConditions& noise = conditions_.noise;
  if (noise.drift_sigma > 0) {
    const double alike = std::exp(-(start - drift_at_) / noise.drift_seconds);
    drift_ = alike * drift_ + std::sqrt(1 - alike * alike) * normal_(random_);
    drift_at_ = start;
  }
  return noise_with(drift_, random_) * process_;
}

// The noise of one run, while the slow part is `drift` sigmas off.
double Pace::noise_with(double drift, std::mt19937_64& random) const {
  const NoiseConditions& noise = conditions_.noise;
  double logarithm = noise.drift_sigma * drift;
  if (noise.sigma > 0) logarithm += std::normal_distribution<double>(0, noise.sigma)(random);
  double factor = std::exp(logarithm);
  if (noise.tail_probability > 0 &&
      std::uniform_real_distribution<double>(0, 1)(random) < noise.tail_probability) {
    factor *= 1 + std::exponential_distribution<double>(1 / noise.tail_mean)(random);
  }
  return factor / median_;
}

// The median of a lognormal factor times one that is 1, or with `tail_probability` 1 plus an
// exponential one: where half of the distribution lies below.
double Pace::median_of_noise() const {
  const NoiseConditions& noise = conditions_.noise;
  const double sigma = std::hypot(noise.sigma, noise.drift_sigma);
  if (noise.tail_probability == 0 || sigma == 0) return 1;
  const auto below = [&](double value) {
    constexpr int slices = 400;  // of equal probability
    double tail = 0;
    for (int i = 0; i < slices; ++i) {
      const double longer = -noise.tail_mean * std::log(1 - (i + 0.5) / slices);
      tail += normal_cdf((std::log(value) - std::log1p(longer)) / sigma) / slices;
    }
    return (1 - noise.tail_probability) * normal_cdf(std::log(value) / sigma) +
           noise.tail_probability * tail;
  };
  double low = std::exp(-4 * sigma), high = std::exp(4 * sigma) * (1 + 4 * noise.tail_mean);
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (below(middle) < 0.5 ? low : high) = middle;
  }
  return (low + high) / 2;
}

// --- the clock ---

bool Pace::has_changing_clock() const {
  return conditions_.clock.idle_hz > 0 || conditions_.clock.limit_hz > 0;
}

double Pace::clock_now() const {
  const ClockConditions& clock = conditions_.clock;
  double hz = reference_hz_;
  if (clock.idle_hz > 0) {
    const double done = std::min(1.0, ramp_ / clock.ramp_seconds);
    hz = clock.idle_hz + done * (reference_hz_ - clock.idle_hz);
    if (done < 1) hz = std::max(clock.idle_hz, std::floor(hz / clock_step_hz) * clock_step_hz);
  }
  if (steps_ > 0) {
    const double lost = (reference_hz_ - clock.limit_hz) * steps_ / clock.limit_steps;
    hz = std::min(hz, reference_hz_ - lost);
  }
  return hz;
}

void Pace::take_steps() {
  const ClockConditions& clock = conditions_.clock;
  if (clock.limit_hz == 0) return;
  const auto begins_at = [&](int step) {
    return clock.limit_load + (1 - clock.limit_load) * step / clock.limit_steps;
  };
  while (steps_ < clock.limit_steps && load_ > begins_at(steps_)) ++steps_;
  while (steps_ > 0 && load_ < taken_back * begins_at(steps_ - 1)) --steps_;
}

void Pace::remember_clock() {
  const double hz = clock_now();
  std::uint64_t reasons = 0;
  if (steps_ > 0) {
    reasons = conditions_.clock.limit_is_thermal ? clock_reason::software_thermal
                                                 : clock_reason::software_power_cap;
  } else if (hz < reference_hz_ && ramp_ == 0) {
    reasons = clock_reason::idle;
  }
  Stretch& last = stretches_.back();
  if (last.hz == hz && last.reasons == reasons) return;
  stretches_.push_back({now_, hz, last.cycles + (now_ - last.from) * last.hz, reasons});
  if (stretches_.size() > most_stretches) stretches_.pop_front();
}

// Time goes by, with or without work.
void Pace::pass(double until, bool busy, bool heavy) {
  const ClockConditions& clock = conditions_.clock;
  while (now_ < until) {
    const double stride = std::min(until - now_, busy ? longest_stride : 20 * longest_stride);
    now_ += stride;
    idle_ = busy ? 0 : idle_ + stride;
    ramp_ = idle_ > clock.idle_after_seconds ? 0 : busy || ramp_ > 0 ? ramp_ + stride : 0;
    load_ += ((heavy ? 1 : 0) - load_) * -std::expm1(-stride / clock.load_seconds);
    take_steps();
    remember_clock();
  }
}

void Pace::idle_until(double at) {
  if (has_changing_clock()) pass(at, false, false);
}

const Pace::Stretch& Pace::stretch_at(double at) const {
  const auto after = std::upper_bound(stretches_.begin(), stretches_.end(), at,
                                      [](double time, const Stretch& s) { return time < s.from; });
  return after == stretches_.begin() ? stretches_.front() : *std::prev(after);
}

double Pace::clock_hz(double at) const { return stretch_at(at).hz; }

double Pace::cycles(double at) const {
  const Stretch& stretch = stretch_at(at);
  return stretch.cycles + (at - stretch.from) * stretch.hz;
}

std::uint64_t Pace::reasons(double at) const { return stretch_at(at).reasons; }

// --- kernels, events, calls ---

bool Pace::tenant_runs(double at, double* for_seconds) const {
  const TenantConditions& tenant = conditions_.tenant;
  *for_seconds = std::numeric_limits<double>::infinity();
  if (tenant.period_seconds == 0) return false;
  const auto period = static_cast<std::int64_t>(std::floor(at / tenant.period_seconds));
  for (const std::int64_t n : {period - 1, period, period + 1}) {
    const double begin = tenant.period_seconds *
                         (static_cast<double>(n) + tenant.jitter * hashed(n, conditions_.seed));
    const double end = begin + tenant.burst_seconds;
    if (at >= begin && at < end) {
      *for_seconds = end - at;
      return true;
    }
    if (at < begin) *for_seconds = std::min(*for_seconds, begin - at);
  }
  return false;
}

double Pace::kernel_seconds(double reference_seconds, double start) {
  const bool heavy = reference_seconds >= conditions_.clock.heavy_seconds;
  double work = reference_seconds * noise(start);
  double at = start;
  if (has_changing_clock()) pass(start, false, false);
  while (work > 0) {
    double stride = 0;
    const bool shared = tenant_runs(at, &stride);
    double speed = shared ? 1 / conditions_.tenant.slowdown : 1;
    if (has_changing_clock()) {
      const double share = conditions_.clock.share;
      speed /= 1 - share + share * reference_hz_ / clock_hz(at);
      stride = std::min(stride, longest_stride);
    }
    stride = std::min(stride, work / speed);
    work -= stride * speed;
    if (work < 1e-12 * reference_seconds) work = 0;
    at += stride;
    if (has_changing_clock()) pass(at, true, heavy);
  }
  busy_seconds_ += at - start;
  return at - start;
}

double Pace::event_reading(double at) const {
  const double tick = conditions_.event_tick_seconds;
  return tick == 0 ? at : std::floor((at + event_phase_) / tick) * tick;
}

double Pace::host_seconds(double seconds) {
  const HostConditions& host = conditions_.host;
  if (host.jitter > 0) seconds *= std::exp(host.jitter * normal_(random_));
  if (host.hiccup_probability > 0 &&
      std::uniform_real_distribution<double>(0, 1)(random_) < host.hiccup_probability) {
    seconds += host.hiccup_seconds;
  }
  return seconds;
}

// --- the truth ---

double Pace::beside_tenant(double reference_seconds, double start) const {
  double work = reference_seconds;
  double at = start;
  while (work > 1e-12 * reference_seconds) {
    double stride = 0;
    const double speed = tenant_runs(at, &stride) ? 1 / conditions_.tenant.slowdown : 1;
    stride = std::min(stride, work / speed);
    work -= stride * speed;
    at += stride;
  }
  return at - start;
}

double Pace::true_seconds_of_all_processes(double reference_seconds) const {
  const double period = conditions_.tenant.period_seconds;
  if (period == 0) return reference_seconds;  // the noise has a median of 1
  std::mt19937_64 random(1);
  std::vector<double> seconds;
  for (int i = 0; i < drawn_runs; ++i) {
    // One in each period, since bursts that jitter are no two alike, at moments spread evenly.
    const double start = period * (i + (i + 0.5) / drawn_runs);
    const double drift = std::normal_distribution<double>()(random);
    seconds.push_back(beside_tenant(reference_seconds * noise_with(drift, random), start));
  }
  std::nth_element(seconds.begin(), seconds.begin() + drawn_runs / 2, seconds.end());
  return seconds[drawn_runs / 2];
}

double Pace::true_seconds(double reference_seconds) const {
  return true_seconds_of_all_processes(reference_seconds * process_);
}

}  // namespace gpubench::model
