// How long things take on a device that is less kind, and how well that can be known: the object
// "timing" of a conditions file (conditions.hpp). What is left at its default does not happen.
#pragma once

#include <cstdint>

namespace gpubench::model {

// An SM clock that sleeps, ramps up and is held back.
struct ClockConditions {
  double idle_hz = 0;             // without work; 0: as fast as under load
  double ramp_seconds = 0.03;     // of load, from idle to full
  double idle_after_seconds = 1;  // without work
  double share = 1;               // of a kernel's time that goes with the clock
  // Load is the share of recent time in which heavy kernels ran, with an exponential memory.
  double load_seconds = 0.05;    // of that memory
  double heavy_seconds = 50e-6;  // kernels of at least this count as load
  // Beyond `limit_load` the clock falls, in equal steps that end at a load of 1, to `limit_hz`. A
  // step is taken back once the load is a quarter below where it began.
  double limit_hz = 0;  // 0: never
  double limit_load = 0.6;
  int limit_steps = 1;
  bool limit_is_thermal = false;  // what the driver says of it: thermal, or the power cap
};

// Factors on a kernel's time; their product has the median 1.
struct NoiseConditions {
  double sigma = 0;             // of the logarithm, anew for every kernel
  double tail_probability = 0;  // that a kernel takes longer still,
  double tail_mean = 0.3;       // by this fraction on average (exponential)
  double drift_sigma = 0;       // of a slow part, alike for kernels that are close in time:
  double drift_seconds = 0.01;  // its correlation falls to 1/e
  double process_sigma = 0;     // of a part that is drawn once and stays
};

// Someone else's work, which comes in bursts.
struct TenantConditions {
  double period_seconds = 0;  // 0: nobody
  double burst_seconds = 0;
  double slowdown = 2;  // of our kernels meanwhile
  double jitter = 0;    // of a burst's beginning, as a fraction of the period
};

struct HostConditions {
  double jitter = 0;              // sigma of the logarithm of a call's time
  double hiccup_probability = 0;  // that a call takes
  double hiccup_seconds = 0;      // so much longer
};

struct TimingConditions {
  bool present = false;  // the file has such an object
  std::uint64_t seed = 1;
  double event_tick_seconds = 0;
  ClockConditions clock;
  NoiseConditions noise;
  TenantConditions tenant;
  HostConditions host;
};

}  // namespace gpubench::model
