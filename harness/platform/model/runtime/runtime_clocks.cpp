// What a device under timing conditions says of its clocks.
#include "harness/platform/model/runtime/runtime.hpp"

namespace gpubench::model {
namespace {

// What the driver's library takes to answer; nobody has published a figure.
constexpr double health_host_seconds = 20e-6;

}  // namespace

HealthSample Runtime::health() {
  const std::lock_guard lock(mutex_);
  if (!pace_) return {};
  pay(health_host_seconds);
  catch_up();
  pace_->idle_until(host_now_);
  HealthSample sample;
  sample.sm_clock_hz = pace_->clock_hz(host_now_);
  sample.reasons = pace_->reasons(host_now_);
  return sample;
}

void Runtime::sleep(double seconds) {
  const std::lock_guard lock(mutex_);
  host_now_ += seconds;
}

cudaError_t Runtime::read_clocks(ClockStamp* stamps, unsigned sms, cudaStream_t stream) {
  Work work{.name = "read clocks"};
  work.carry_out = [this, stamps, sms] {
    const double now = timeline_.now();
    pace_->idle_until(now);
    constexpr double epoch = 1;  // 0 would read as not written
    for (unsigned sm = 0; sm < sms; ++sm) {
      stamps[sm] = {static_cast<std::uint64_t>(pace_->cycles(now)) + sm,
                    static_cast<std::uint64_t>((epoch + now) * 1e9)};
    }
    return device_["kernel_floor_seconds"];
  };
  return queue_operation(std::move(work), stream);
}

cudaError_t Runtime::wait_cycles(std::uint64_t cycles, cudaStream_t stream) {
  Work work{.name = "wait"};
  work.carry_out = [this, cycles] {
    pace_->idle_until(timeline_.now());
    return device_["kernel_floor_seconds"] +
           static_cast<double>(cycles) / pace_->clock_hz(timeline_.now());
  };
  return queue_operation(std::move(work), stream);
}

}  // namespace gpubench::model
