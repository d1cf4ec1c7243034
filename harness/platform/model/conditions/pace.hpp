// What a device under timing conditions makes of a kernel's time, and what its clocks say.
//
// Time here is the model's virtual time. Kernels come in the order in which they start; what
// happened before can still be asked for (clock, cycles), what is to come cannot.
#pragma once

#include <cstdint>
#include <deque>
#include <random>

#include "harness/platform/model/conditions/timing_conditions.hpp"

namespace gpubench::model {

class Pace {
 public:
  // `reference_hz`: the SM clock that kernels' times are modelled at.
  Pace(const TimingConditions& conditions, double reference_hz);

  // How long a kernel takes that begins now and would take `reference_seconds` undisturbed.
  double kernel_seconds(double reference_seconds, double start);
  // The reading of an event that is reached at `at`.
  double event_reading(double at) const;
  // What a call to the host's runtime takes that would take `seconds` undisturbed.
  double host_seconds(double seconds);

  // Nothing begins before `at` any more.
  void idle_until(double at);
  double clock_hz(double at) const;
  double cycles(double at) const;                        // that an SM has counted
  std::uint64_t reasons(double at) const;                // a mask of clock_reason (evidence.hpp)
  double busy_seconds() const { return busy_seconds_; }  // of all kernels so far

  // The truth that a measurement is held against: the median of a kernel's runs at the reference
  // clock, with this noise, beside this tenant, in this process.
  double true_seconds(double reference_seconds) const;
  // The same, had this process nothing of its own.
  double true_seconds_of_all_processes(double reference_seconds) const;

 private:
  struct Stretch {  // of one clock
    double from = 0;
    double hz = 0;
    double cycles = 0;  // at its beginning
    std::uint64_t reasons = 0;
  };

  double noise(double start);
  double noise_with(double drift, std::mt19937_64& random) const;
  double median_of_noise() const;
  bool has_changing_clock() const;
  void pass(double until, bool busy, bool heavy);
  void take_steps();
  double clock_now() const;
  void remember_clock();
  const Stretch& stretch_at(double at) const;
  // Whether the tenant runs at `at`, and for how long that stays so.
  bool tenant_runs(double at, double* for_seconds) const;
  double beside_tenant(double reference_seconds, double start) const;

  const TimingConditions conditions_;
  const double reference_hz_;
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  double process_ = 1;
  double median_ = 1;
  double event_phase_ = 0;
  double drift_ = 0, drift_at_ = 0;  // in units of its sigma, and when that was

  double now_ = 0;
  double ramp_ = 0;  // seconds of load since the clock was idle
  double idle_ = 0;  // seconds without work
  double load_ = 0;
  int steps_ = 0;  // by which the clock is held back
  double busy_seconds_ = 0;
  std::deque<Stretch> stretches_;
};

}  // namespace gpubench::model
