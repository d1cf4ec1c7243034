#include "harness/bench/bench.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "harness/cuda/event.hpp"
#include "harness/cuda/stream.hpp"
#include "harness/statistics/statistics.hpp"
#include "harness/system/error.hpp"
#include "harness/system/interrupt.hpp"

namespace gpubench {
namespace {

// Sets of buffers in cold mode, at most: a row whose set is so small that this many of them still
// fit in L2 pays for launches, not for memory.
constexpr std::size_t most_sets = 256;

// A head start is so many bytes of this buffer, set once or more.
constexpr std::size_t head_start_bytes = std::size_t{256} << 20;

// What a profiler calls work that is timed beside a row.
constexpr const char* beside_the_row = " (beside)";

// A moment of a watched row: long enough for the driver to have something new to say.
constexpr double moment_seconds = 0.1;

struct Skipped {
  std::string reason;
};

// Whether a kernel has faulted: then every call fails from there on, whoever makes it.
bool is_device_lost() {
  const cudaError_t error = cudaStreamQuery(nullptr);
  if (error == cudaSuccess) return false;
  static_cast<void>(cudaGetLastError());
  return error != cudaErrorNotReady;
}

// A wrong result: the row has failed, and no time of it is worth anything.
struct WrongResult {
  std::string what;
};

}  // namespace

Bench::Bench(const Instance& instance, Platform& platform, const BenchSettings& settings)
    : platform_(platform), settings_(settings) {
  row_.name = instance.name;
  row_.topic = instance.topic;
  row_.kernel = instance.kernel;
  row_.arguments = instance.arguments;
  platform_.expect_results(settings_.whole_grids);  // also of what prepares the row
}

std::int64_t Bench::arg(std::string_view name) const {
  for (const auto& [key, value] : row_.arguments) {
    if (key == name && std::holds_alternative<std::int64_t>(value)) {
      return std::get<std::int64_t>(value);
    }
  }
  throw std::logic_error(row_.name + " has no argument '" + std::string(name) + "'");
}

const std::string& Bench::axis(std::string_view name) const {
  for (const auto& [key, value] : row_.arguments) {
    if (key == name && std::holds_alternative<std::string>(value)) {
      return std::get<std::string>(value);
    }
  }
  throw std::logic_error(row_.name + " has no axis '" + std::string(name) + "'");
}

void Bench::skip(const std::string& reason) const { throw Skipped{reason}; }

void Bench::note_compiled(cudaError_t error, const cudaFuncAttributes& attributes, bool required) {
  if (error == cudaErrorNotSupported) {
    if (!required) return;
    skip("nobody has written down how many registers nvcc gives this kernel (scripts/audit)");
  }
  CUDA_CHECK(error);
  note("registers", attributes.numRegs);
  note("local_bytes", static_cast<double>(attributes.localSizeBytes));
}

const GpuRanks& Bench::ranks(std::int64_t count, double head_start) {
  const int wanted = static_cast<int>(count), gpus = platform_.gpus();
  if (const std::string why = GpuRanks::why_not(wanted, gpus); !why.empty()) skip(why);
  ranks_ = std::make_unique<GpuRanks>(wanted, gpus);
  head_start_ = DeviceBuffer<char>(head_start_bytes);
  const double rate = platform_.device().find("dram_bytes_per_second").value_or(4e12);
  head_start_sets_ = static_cast<int>(std::ceil(head_start * rate / head_start_bytes));
  blocks_host_ = true;
  return *ranks_;
}

void Bench::check(std::function<std::string(bool only_written)> wrong) {
  checks_.push_back(std::move(wrong));
}

void Bench::each_set(std::function<void()> contents) {
  prepare([this, contents = std::move(contents)](std::size_t set) {
    turn_ = set;
    contents();
  });
}

OperandMemory Bench::memory(std::size_t elements, std::size_t size) {
  OperandMemory memory{std::make_shared<std::vector<DeviceBuffer<std::byte>>>(), &turn_};
  const auto add = [sets = memory.sets, bytes = detail::checked_bytes(elements, size)] {
    sets->emplace_back(bytes);
  };
  add();
  set_bytes_ += memory.sets->front().bytes();
  add_set_.push_back(add);
  return memory;
}

void Bench::poison(const OperandMemory& memory) {
  prepare([memory](std::size_t set) {
    const DeviceBuffer<std::byte>& buffer = (*memory.sets)[set];
    if (buffer.size() > 0) buffer.set(poison_byte);
  });
}

void Bench::prepare(std::function<void(std::size_t set)> contents) {
  prepare_.push_back(std::move(contents));
}

void Bench::work(const Work& work) { work_ = work; }

void Bench::note(const std::string& key, const std::string& words) { row_.words[key] = words; }

void Bench::note(const std::string& key, double number) { row_.counters[key] = number; }

void Bench::add_cold_sets() {
  if (settings_.mode != Mode::cold || settings_.profile || set_bytes_ == 0) return;
  const double l2 = platform_.device().find("l2_bytes").value_or(0);
  // A run touches no more than the set, and perhaps only the useful part of it. When that alone is
  // twice the cache, its own end has washed its beginning out.
  double touched = static_cast<double>(set_bytes_);
  if (work_.useful_bytes > 0) touched = std::min(touched, work_.useful_bytes);
  const double wanted = std::ceil(2 * l2 / touched);
  const auto sets = static_cast<std::size_t>(std::clamp(wanted, 1.0, double{most_sets}));
  for (; sets_ < sets; ++sets_) {
    for (const auto& add : add_set_) add();
    for (const auto& prepare : prepare_) prepare(sets_);
  }
}

void Bench::check_results(const Body& body) {
  const Stream stream;
  platform_.expect_results(settings_.whole_grids);
  body(stream);
  CUDA_CHECK(cudaStreamSynchronize(stream));
  const Observation observation = platform_.observe(work_.access);
  priced_ = observation.priced;
  if (settings_.profile) row_.launches = platform_.launches();
  for (const auto& check : checks_) {
    if (const std::string wrong = check(!observation.whole); !wrong.empty()) {
      throw WrongResult{"verification failed: " + wrong};
    }
  }
  if (checks_.empty()) throw std::logic_error("the bench function verifies nothing before run()");
  row_.verified = priced_ ? "operation" : observation.whole ? "full" : "sampled";
  take_counters(observation);
}

void Bench::take_counters(const Observation& observation) {
  const auto known = [&](const char* name, const std::optional<double>& value) {
    if (value) row_.counters[name] = *value;
  };
  known("sectors_per_request", observation.sectors_per_request);
  known("wavefronts_per_request", observation.wavefronts_per_request);
  known("active_lanes", observation.active_lanes);
  known("occupancy", observation.occupancy);
  // A claim of the model's: on a GPU only a prediction can say it.
  const bool claimed = platform_.kind() == DeviceKind::model && !work_.bound.empty();
  row_.bound = claimed ? work_.bound : observation.bound;
  if (!claimed && observation.roof != row_.bound) row_.roof = observation.roof;
  row_.counts = observation.counts;
  row_.assuming = observation.assuming;
  row_.terms = observation.terms;
  row_.instructions = observation.instructions;
  if (work_.law_per_request > 0) row_.counters["law_per_request"] = work_.law_per_request;
  dram_bytes_ = work_.moved_bytes;
  if (work_.moved_bytes == 0) {
    dram_bytes_ = observation.dram_bytes.value_or(0);
    const bool shared = observation.bound == "shared";
    if (shared) row_.moved_through = observation.bound;
    const auto& moved = shared ? observation.shared_bytes : observation.dram_bytes;
    work_.moved_bytes = moved.value_or(0);
  }
}

Timing Bench::take_samples(const Body& body, double budget_seconds, double warmup_seconds) {
  TimerSettings timer;
  timer.mode = settings_.mode;
  timer.profile = settings_.profile;
  timer.blocks_host = blocks_host_;
  if (ranks_ != nullptr) {
    timer.head_start = [this](cudaStream_t s) {
      for (int i = 0; i < head_start_sets_; ++i) {
        CUDA_CHECK(cudaMemsetAsync(head_start_.data(), 0, head_start_.bytes(), s));
      }
    };
    timer.common = [](double mine) { return Processes::all().greatest(mine); };
  }
  timer.stop.budget_seconds = budget_seconds;
  timer.warmup_seconds = warmup_seconds;
  if (platform_.deterministic()) {
    timer.warmup_seconds = 0;
    // How busy this machine is has no say in what a modelled row looks like.
    timer.stop = without_a_clock(timer.stop);
  }
  Timing timing;
  const auto take = [&] {
    timing = time_body(
        body, [this] { turn_ = (turn_ + 1) % sets_; }, timer);
  };
  if (settings_.profile) {
    // What is timed besides, once the row has its time, is not the row.
    platform_.name_for_profiler(row_.name + (row_.samples.empty() ? "" : beside_the_row), take);
  } else {
    take();
  }
  if (timing.seconds.empty()) throw WrongResult{"no sample survived: " + timing.not_gated_because};
  return timing;
}

void Bench::take_time(const Body& body) {
  platform_.expect_timing();
  std::vector<HealthSample> health;
  if (platform_.health() != nullptr) health.push_back(platform_.health()->sample());
  const Timing timing = take_samples(body, settings_.budget_seconds, settings_.warmup_seconds);
  if (platform_.health() != nullptr) {
    health.push_back(platform_.health()->sample());
    const Health judged = judge(health);
    if (judged.sm_clock_hz) row_.counters["sm_clock_hz"] = *judged.sm_clock_hz;
    if (judged.power_w) row_.counters["power_w"] = *judged.power_w;
    if (judged.temperature_c) row_.counters["temperature_c"] = *judged.temperature_c;
    if (judged.throttled) row_.counters["throttled"] = *judged.throttled ? 1 : 0;
    row_.note = judged.words;
  }
  row_.samples = timing.seconds;
  row_.discarded = timing.discarded;
  if (!timing.gated) {
    row_.note += (row_.note.empty() ? "" : "; ") + ("not gated: " + timing.not_gated_because);
  }
  const Summary summary = summarize(timing.seconds);
  row_.median_seconds = summary.median;
  auto& counters = row_.counters;
  counters["min_seconds"] = summary.min;
  if (summary.ci_low) counters["ci_low_seconds"] = *summary.ci_low;
  if (summary.ci_high) counters["ci_high_seconds"] = *summary.ci_high;
  counters["samples"] = static_cast<double>(timing.seconds.size());
  counters["converged"] = timing.converged ? 1 : 0;
  if (timing.empty_seconds) counters["empty_seconds"] = *timing.empty_seconds;
  if (platform_.kind() == DeviceKind::model) counters["model_seconds"] = summary.median;
  if (summary.median > 0) {
    const auto rate = [&](const char* name, double amount) {
      if (amount > 0) counters[name] = amount / summary.median;
    };
    rate("useful_bytes_per_second", work_.useful_bytes);
    rate("moved_bytes_per_second", work_.moved_bytes);
    rate("flops_per_second", work_.flops);
    rate("items_per_second", work_.items);
  }
  if (work_.flops > 0 && dram_bytes_ > 0) {
    counters["arithmetic_intensity"] = work_.flops / dram_bytes_;
  }
}

void Bench::run(const Body& body) {
  if (ranks_ == nullptr && Processes::all().count() > 1) {
    skip("a row of one process: run it without mpirun");
  }
  row_.law = work_.law;
  row_.law_tolerance = work_.law_tolerance;
  row_.measures = work_.measures;
  row_.headline = !work_.headline.empty() ? work_.headline
                  : work_.flops > 0       ? "flops_per_second"
                  : work_.items > 0       ? "items_per_second"
                                          : "useful_bytes_per_second";
  for (const auto& prepare : prepare_) prepare(0);
  check_results(body);
  add_cold_sets();
  take_time(body);
  if (settings_.trace) {
    row_.show_trace = work_.show_trace;
    row_.trace = platform_.trace([&] {
      const Stream stream;
      body(stream);
      stream.synchronize();
    });
  }
}

double Bench::seconds() const {
  if (row_.samples.empty()) throw std::logic_error(row_.name + " has no time before run()");
  return row_.median_seconds;
}

double Bench::time(const Body& body, std::optional<double> budget_seconds) {
  static_cast<void>(seconds());
  // The row itself has warmed the clock up; of a small budget nothing is left for it.
  const double budget = budget_seconds.value_or(settings_.budget_seconds);
  const double warmup = std::min(settings_.warmup_seconds, budget / 5);
  return summarize(take_samples(body, budget, warmup).seconds).median;
}

void Bench::note_kernels(const Body& body) {
  const Stream stream;
  std::string names;
  for (const std::string& name : platform_.kernels([&] {
         body(stream);
         CUDA_CHECK(cudaStreamSynchronize(stream));
       })) {
    names += (names.empty() ? "" : ", ") + name;
  }
  if (!names.empty()) note("kernels", names);
}

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
  const double amount = row_.counters.at(row_.headline) * a_run * static_cast<double>(runs);
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

void Bench::counter(const std::string& name, double value) {
  static_cast<void>(seconds());
  if (!std::isfinite(value)) return;
  if (!row_.counters.emplace(name, value).second) {
    throw std::logic_error(row_.name + " has a counter '" + name + "' already");
  }
}

Row run_row(const Instance& instance, Platform& platform, const BenchSettings& settings) {
  static std::string culprit;  // the row after which the device was lost, if it was
  Bench bench(instance, platform, settings);
  Row row;
  const auto ended = [&](Outcome outcome, const std::string& reason) {
    row = bench.row();
    row.outcome = outcome;
    row.reason = reason;
  };
  if (!culprit.empty() && is_device_lost()) {
    ended(Outcome::skipped, "not run: " + culprit + " has left the device in an error");
    return row;
  }
  culprit.clear();
  try {
    instance.function(bench);
    row = bench.row();
  } catch (const Skipped& skipped) {
    ended(Outcome::skipped, skipped.reason);
  } catch (const WrongResult& wrong) {
    ended(Outcome::failed, wrong.what);
  } catch (const CudaError& error) {
    ended(error.is_out_of_memory() || error.is_unsupported() ? Outcome::skipped : Outcome::failed,
          error.what());
  } catch (const UsageError& unknown) {  // a figure that this device's file does not have
    ended(Outcome::skipped, unknown.what());
  } catch (const std::exception& error) {
    ended(Outcome::failed, error.what());
  }
  if (row.outcome == Outcome::failed && is_device_lost()) culprit = row.name;
  if (row.outcome == Outcome::failed && Processes::all().count() > 1) {
    Processes::all().abort(row.name + ": " + row.reason);
  }
  if (row.outcome == Outcome::measured && row.samples.empty()) {
    ended(Outcome::failed, "the bench function never called run()");
  }
  return row;
}

}  // namespace gpubench
