// Takes samples: queues runs between events, behind a gate where that is possible, and reads the
// device's clocks around them.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "harness/cuda/buffer.hpp"
#include "harness/cuda/event.hpp"
#include "harness/cuda/stream.hpp"
#include "harness/platform/device_clocks.hpp"
#include "harness/timing/gate.hpp"
#include "harness/timing/timer.hpp"

namespace gpubench {

// What lies between a sample's two events, and how many operations that queues.
struct Window {
  std::function<void()> prepare;  // before the first event
  Body queue;
  std::size_t operations = 1;
};

// What came of a gate's worth of windows.
struct Batch {
  std::size_t windows = 0;           // that ran
  std::vector<double> seconds{};     // of each; none if the gate timed out
  std::optional<double> clock_hz{};  // of an SM, on average over them
  std::optional<HealthSample> health{};
  bool timed_out = false;  // the gate did; there is no gate any more
};

// The SM clock over a stretch of a stream, by what two kernels read at its ends. Nothing where
// kernels have no clock.
class ClockReader {
 public:
  ClockReader();
  bool can_read() const { return begin_.size() > 0; }
  void begin(cudaStream_t stream) const;
  void end(cudaStream_t stream) const;
  // Between the two, once both have run; absent if no SM has both stamps, or they are too close.
  std::optional<double> hz() const;

 private:
  PinnedBuffer<ClockStamp> begin_, end_;
};

class Sampler {
 public:
  explicit Sampler(const TimerSettings& settings) : settings_(settings) {}

  const Stream& stream() const { return stream_; }
  const ClockReader& clocks() const { return clocks_; }
  bool gated() const { return gate_.has_value(); }
  const std::string& not_gated_because() const { return not_gated_because_; }
  // Until then no window is gated. The reason is absent where the device has no gate either.
  void make_gate();
  void do_not_gate(std::string reason);

  // Finds the tick of the events, and from then on lets windows begin at random moments of it as
  // long as `dither` says so. `clock_hz`: of an SM.
  double find_tick(double clock_hz);
  void dither(bool on) { dithers_ = on; }

  // Up to `wanted` windows behind one gate, or one without.
  Batch take(const Window& window, std::size_t wanted);
  // The host's time to queue a window, by window so far.
  const std::vector<double>& queueing() const { return queueing_; }

 private:
  std::size_t fitting(const Window& window, std::size_t wanted) const;
  void queue(const Window& window, std::size_t i);
  void wait_for_a_moment(double least_seconds, double most_seconds);

  const TimerSettings& settings_;
  const Stream stream_;
  const ClockReader clocks_;
  std::vector<Event> events_;
  std::optional<Gate> gate_;
  std::string not_gated_because_;
  double tick_ = 0;
  double clock_hz_ = 0;
  bool dithers_ = false;
  std::minstd_rand random_;
  double health_at_ = 0;  // when it was last asked for
  std::vector<double> queueing_;
};

}  // namespace gpubench
