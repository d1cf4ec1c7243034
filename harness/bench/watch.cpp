#include <array>
#include <cmath>

#include "harness/bench/bench.hpp"
#include "harness/cuda/event.hpp"
#include "harness/cuda/stream.hpp"
#include "harness/system/interrupt.hpp"

namespace gpubench {
namespace {

// A moment of a watched row: long enough for the driver to have something new to say.
constexpr double moment_seconds = 0.1;

}  // namespace

void Bench::watch(const Body& body) {
  const double a_run = seconds();
  if (settings_.profile) {
    note("verdict", "none: profiled, not watched");
    return;
  }
  if (platform_.health() == nullptr && platform_.deterministic()) {
    note("verdict", "none: the model has no clock to lose");
    return;
  }
  struct Batch {
    Event begin, end;
  };
  const Stream stream;
  const auto runs = static_cast<std::size_t>(std::ceil(moment_seconds / a_run));
  const double amount = row_.headline_value() * a_run * static_cast<double>(runs);
  const double began = platform_.host_seconds();
  const auto since = [&] { return platform_.host_seconds() - began; };
  // One batch is queued while the other runs, so that the device is never idle.
  std::array<Batch, 2> batches;
  for (std::size_t n = 0;; ++n) {
    const bool last = n > 0 && (since() >= settings_.watch_seconds || interrupted());
    if (!last) {
      Batch& queued = batches[n % 2];
      queued.begin.record(stream);
      for (std::size_t i = 0; i < runs; ++i) {
        turn_ = (turn_ + 1) % sets_;
        body(stream);
      }
      queued.end.record(stream);
    }
    if (n > 0) {
      // The batch before is what runs now, so it is what the evidence is of.
      const Batch& running = batches[(n - 1) % 2];
      HealthSample health;
      if (platform_.health() != nullptr) health = platform_.health()->sample();
      running.end.synchronize();
      row_.moments.push_back(
          {since(), amount / seconds_between(running.begin, running.end), health});
    }
    if (last) break;
  }
  note("verdict", (interrupted() ? "interrupted; " : "") + judge_watch(row_.moments).words);
}

}  // namespace gpubench
