// A row's energy: the row over and over, for as long as the driver's counter needs.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "harness/bench/bench.hpp"
#include "harness/cuda/event.hpp"
#include "harness/cuda/graph.hpp"
#include "harness/cuda/stream.hpp"
#include "harness/evidence/energy.hpp"
#include "harness/system/interrupt.hpp"

namespace gpubench {
namespace {

// Between two looks at the counter. Drivers that are asked more often have been seen to refuse.
constexpr double look_seconds = 5e-3;
// Several looks long, so that the next batch is queued before this one ends.
constexpr double batch_seconds = 20e-3;
// A host may be too slow to launch shorter runs one by one, and an idle device takes less power.
constexpr double short_run_seconds = 50e-6;
constexpr double graph_seconds = 1e-3;
constexpr double most_in_graph = 4096;
// On average: a second of more is a counter that cannot be right.
constexpr double most_of_power_limit = 1.5;

// Runs that are queued together.
struct Piece {
  Body queue;
  std::size_t runs = 1;
};

// `sets`: of buffers, each of which has its turn.
Piece piece_of(const Body& run, double run_seconds, std::size_t sets) {
  if (run_seconds >= short_run_seconds) return {run};
  const double wanted = std::min(std::ceil(graph_seconds / run_seconds), most_in_graph);
  const std::size_t runs = std::max(sets, static_cast<std::size_t>(wanted));
  try {
    const auto graph = std::make_shared<const ExecutableGraph>([&](cudaStream_t s) {
      for (std::size_t i = 0; i < runs; ++i) run(s);
    });
    return {[graph](cudaStream_t s) { graph->launch(s); }, runs};
  } catch (const CudaError& error) {
    if (!error.is_capture_failure()) throw;
    return {run};
  }
}

class EnergyPass {
 public:
  EnergyPass(Platform& platform, const Piece& piece, double run_seconds)
      : platform_(platform),
        piece_(piece),
        pieces_(static_cast<std::size_t>(std::max(
            1.0, std::ceil(batch_seconds / run_seconds / static_cast<double>(piece.runs))))) {}

  void run();
  const EnergyMeter& meter() const { return meter_; }
  // While the energy was measured, back to back.
  double run_seconds() const {
    return seconds_between(begin_, end_) / static_cast<double>(counted_runs_);
  }
  const HealthSample& health() const { return health_; }

 private:
  bool goes_on() const {
    if (interrupted()) return false;
    return !meter_.has_ended() || (meter_.span() && counted_runs_ == 0);
  }
  void queue();
  void look();

  Platform& platform_;
  const Piece& piece_;
  std::size_t pieces_;  // in a batch
  Stream stream_;
  Event begin_, end_;  // of the runs that are counted
  std::size_t counted_runs_ = 0;
  double next_look_ = 0;
  HealthSample health_;
  EnergyMeter meter_;
};

void EnergyPass::run() {
  // One batch is queued while the other runs, so that the device is never idle.
  std::array<Event, 2> ends;
  next_look_ = platform_.host_seconds();
  for (std::size_t n = 0; goes_on(); ++n) {
    queue();
    ends[n % 2].record(stream_);
    if (n == 0) continue;
    while (!ends[(n - 1) % 2].has_happened()) {
      look();
      platform_.rest(look_seconds);
    }
  }
  health_ = platform_.health()->sample();
  end_.record(stream_);
  stream_.synchronize();
}

void EnergyPass::queue() {
  const bool counts = meter_.has_begun();
  if (counts && counted_runs_ == 0) begin_.record(stream_);
  for (std::size_t i = 0; i < pieces_; ++i) {
    piece_.queue(stream_);
    look();
  }
  if (counts) counted_runs_ += pieces_ * piece_.runs;
}

void EnergyPass::look() {
  const double asked = platform_.host_seconds();
  if (asked < next_look_) return;
  const auto joules = platform_.health()->energy_joules();
  meter_.read(asked, platform_.host_seconds(), joules);
  next_look_ = asked + look_seconds;
}

// Empty: the figures of the pass are good.
std::string why_no_joules(const EnergyPass& pass, const DeviceState& state) {
  const EnergyMeter& meter = pass.meter();
  if (!meter.span()) return meter.why_none().empty() ? "interrupted" : meter.why_none();
  const double power = meter.span()->joules / meter.span()->seconds;
  const bool is_possible =
      !state.power_limit_w || power <= most_of_power_limit * *state.power_limit_w;
  return is_possible ? "" : "the energy counter says more than the power limit allows";
}

}  // namespace

void Bench::take_energy(const Body& body) {
  HealthMonitor* const health = platform_.health();
  // Where there is no counter, the run says so once.
  if (!settings_.energy || health == nullptr || !health->energy_joules()) return;
  const auto none = [&](const std::string& why) { row_.notes.push_back("no joules: " + why); };
  if (ranks_ != nullptr && ranks_->count() > 1) {
    none("several GPUs share the row, and the counter is that of one");
    return;
  }
  const double a_run = seconds();
  if (a_run <= 0) return none("its time is 0");
  const Body run = [&](cudaStream_t s) {
    turn_ = (turn_ + 1) % sets_;
    body(s);
  };
  const Piece piece = blocks_host_ ? Piece{run} : piece_of(run, a_run, sets_);
  EnergyPass pass(platform_, piece, a_run);
  pass.run();
  const std::string why = why_no_joules(pass, health->state());
  if (!why.empty()) return none(why);

  const EnergySpan& span = *pass.meter().span();
  const double power = span.joules / span.seconds;
  const double joules = power * pass.run_seconds();
  counter("joules", joules);
  counter("joules_error_fraction", span.error);
  counter("average_power_w", power);
  counter("energy_run_seconds", pass.run_seconds());
  if (work_.flops > 0) counter("joules_per_flop", joules / work_.flops);
  if (work_.useful_bytes > 0) counter("joules_per_byte", joules / work_.useful_bytes);
  const std::string reasons = words_of(pass.health().reasons.value_or(0));
  if (!reasons.empty()) row_.notes.push_back("while its energy was measured: " + reasons);
}

double Bench::joules() const {
  return row_.counter("joules").value_or(std::numeric_limits<double>::quiet_NaN());
}

}  // namespace gpubench
