#include "harness/program/suite_run.hpp"

#include <benchmark/benchmark.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <iostream>
#include <sstream>
#include <string_view>
#include <utility>

#include "harness/bench/run_row.hpp"
#include "harness/program/output_file.hpp"
#include "harness/program/predictions.hpp"
#include "harness/program/result_json.hpp"
#include "harness/system/error.hpp"
#include "harness/system/interrupt.hpp"
#include "harness/system/process_group.hpp"
#include "harness/system/sibling_programs.hpp"

namespace gpubench {
namespace {

using nlohmann::ordered_json;

// That a row may take where the user does not say.
constexpr double usual_limit_seconds = 120;
constexpr double usual_limit_of_model_seconds = 3600;
constexpr double budgets_in_a_row = 40;  // a row times other programs too, and rests
// Of several processes, the one that writes is not to be ended before it has.
constexpr double patience_of_others_seconds = 30;

// Google Benchmark runs, repeats and aggregates; what is printed and written is ours.
class Collector final : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.run_type == Run::RT_Aggregate) aggregates.push_back(run);
    }
  }
  Aggregates aggregates;
};

}  // namespace

SuiteRun::SuiteRun(const Options& options, Platform& platform, std::vector<Instance> rows,
                   const char* executable)
    : options_(options),
      platform_(platform),
      rows_(std::move(rows)),
      is_first_(ProcessGroup::all().index() == 0),
      info_(to_console() || !is_first_ ? std::cout : std::cerr),
      progress_(rows_.size()) {
  platform_.set_explaining(!options_.explain.empty());
  if (options_.predict && is_first_ && platform_.kind() == DeviceKind::cuda) {
    predictions_.emplace(options_, platform_, path_of(Half::model));
  }
  std::size_t names = 0;
  for (const Instance& i : rows_) names = std::max(names, i.name.size() + 1);
  if (options_.repetitions > 1) names += std::string_view("_median").size();
  table_.emplace(names, line_width(), shows_colours(options_.colour));
  results_.context = context_json(options_, platform_, executable);
}

int SuiteRun::run() {
  open_journal();
  announce();
  register_rows();
  run_all();
  if (interrupted_ && results_.rows.empty()) {
    info_ << "interrupted before the first row was finished: nothing written\n";
    if (journal_) journal_->remove();
    return signal_exit + interrupting_signal();
  }
  const int code = conclude();
  if (device_lost_.empty()) return code;
  std::cout.flush();
  _exit(code);  // what would clean up after a lost device may wait for it
}

// What there is of the run, to whom it may concern. Returns the exit code.
int SuiteRun::conclude() {
  try {
    await_predictions();
    judge();
    show();
    if (is_first_) write_files();
    settle_journal();
    return summarise();
  } catch (const std::exception& error) {
    std::cerr << "gpubench: " << error.what();
    if (journal_) {
      std::cerr << "; the finished rows are kept: "
                << resume_command(journal_->run(), options_.out);
    }
    std::cerr << '\n';
    return 1;
  }
}

void SuiteRun::open_journal() {
  const bool resumes = !options_.resumed.empty();
  if (resumes && ProcessGroup::all().count() > 1) {
    throw UsageError("--resume: a run of several processes cannot be resumed");
  }
  if (!is_first_ || options_.out.empty() || is_written_in_place(options_.out)) {
    if (resumes) {
      throw UsageError("--resume='" + options_.out +
                       "': not a regular file, so no rows of it were kept");
    }
    return;
  }
  const ordered_json run = run_json(options_, results_.context, rows_);
  if (!resumes) {
    journal_.emplace(Journal::begin(options_.out, run));
    return;
  }
  journal_.emplace(Journal::resume(options_.out));
  check_same_run(journal_->run(), run, options_.out);
  kept_ = kept_rows(*journal_, rows_, platform_, options_.bench);
  const ordered_json date = results_.context.at("date");
  results_.context = journal_->run().at("context");
  results_.context["resumed"] = journal_->resumed();
  results_.context["resumed"].push_back(date);
  journal_->note_resumed(date);
}

void SuiteRun::settle_journal() {
  if (!journal_) return;
  if (!interrupted_ && device_lost_.empty()) {
    journal_->remove();
    return;
  }
  journal_->close();
  (is_unread() ? std::cerr : info_)
      << "to finish the run: " << resume_command(journal_->run(), options_.out) << '\n';
}

void SuiteRun::register_rows() {
  for (const Instance& instance : rows_) {
    benchmark::RegisterBenchmark(
        instance.name.c_str(),
        [this, &instance, repetition = 0](benchmark::State& state) mutable {
          run_once(instance, repetition, state);
          ++repetition;
        })
        ->Iterations(1)
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond);
  }
}

void SuiteRun::run_once(const Instance& instance, int repetition, benchmark::State& state) {
  const Row* const row = take_row(instance, repetition);
  if (row == nullptr) {
    for (auto _ : state) state.SetIterationTime(1);
    return;
  }
  // Google Benchmark is told of no error: 1.7.1 crashes on one among good repetitions. The row says
  // it.
  for (auto _ : state) state.SetIterationTime(row->median_seconds);
  for (const auto& [name, value] : row->counters) state.counters[name] = value;
}

// Adds the row to the results, wherever it comes from. nullptr: the run is to end before it.
const Row* SuiteRun::take_row(const Instance& instance, int repetition) {
  std::vector<Row>& rows = results_.rows;
  Row row;
  if (const auto kept = kept_.rows.find({instance.name, repetition}); kept != kept_.rows.end()) {
    row = kept->second;
    print(row);
  } else if (gpubench::interrupted()) {
    interrupted_ = true;
    return nullptr;
  } else if (unfinished_.contains(instance.name)) {
    row = *std::ranges::find_if(rows, [&](const Row& r) {
      return r.name == instance.name && r.outcome != Outcome::measured;
    });
    row.repetition = repetition;
  } else if (!device_lost_.empty()) {
    row = row_of(instance);
    row.outcome = Outcome::skipped;
    row.reason = device_lost_;
    row.repetition = repetition;
  } else {
    row = new_row(instance, repetition);
    keep(row);
    print(row);  // what has been seen is not lost
    if (row.outcome == Outcome::failed && is_device_lost()) {
      lose_device(row.name + " left the device in an error state");
    }
  }
  if (row.outcome != Outcome::measured) unfinished_.insert(row.name);
  return &rows.emplace_back(std::move(row));
}

double SuiteRun::row_limit_seconds() const {
  if (options_.row_limit) return *options_.row_limit;
  const BenchSettings usual;
  const BenchSettings& asked = options_.bench;
  if (asked.profile) return 0;  // profilers and sanitizers take their time
  const auto beyond = [](double seconds, double usually) {
    return std::max(seconds - usually, 0.0);
  };
  return (modelled() ? usual_limit_of_model_seconds : usual_limit_seconds) +
         budgets_in_a_row * beyond(asked.budget_seconds, usual.budget_seconds) +
         budgets_in_a_row * beyond(asked.warmup_seconds, usual.warmup_seconds) +
         beyond(asked.watch_seconds, usual.watch_seconds);
}

Row SuiteRun::new_row(const Instance& instance, int repetition) {
  if (repetition == 0) progress_.starts(instance.topic);
  running_ = &instance;
  repetition_ = repetition;
  if (const double limit = row_limit_seconds(); limit > 0) {
    watchdog_.begin(Watchdog::Seconds(limit + (is_first_ ? 0 : patience_of_others_seconds)));
  }
  Row row = run_row(instance, platform_, options_.bench);
  watchdog_.end();
  row.repetition = repetition;
  if (repetition == 0) explanations_ = platform_.explanations();
  progress_.clear();
  if (predictions_) predictions_->complete(row);
  return row;
}

void SuiteRun::keep(const Row& row) {
  if (gpubench::interrupted() && !row.moments.empty()) {
    interrupted_ = true;  // it was not watched for as long as was asked: to be done again
  } else if (journal_) {
    journal_->add(kept_row_json(row, platform_, elapsed_seconds()));
  }
}

void SuiteRun::lose_device(const std::string& reason) {
  device_lost_ = "not run: " + reason;
  std::cerr << "gpubench: " << reason << ": the remaining rows are not run\n";
}

// The watchdog's: the row that is running takes too long, and whoever runs it will not come back,
// nor would anything that waits for the device, destructors included.
void SuiteRun::give_up() {
  Row row = row_of(*running_);
  row.repetition = repetition_;
  row.outcome = Outcome::failed;
  std::ostringstream reason;
  reason << "did not finish in " << row_limit_seconds()
         << " s (--row_limit): its kernel hangs, or the machine is too slow";
  row.reason = reason.str();
  progress_.clear();
  keep(row);
  print(row);
  unfinished_.insert(row.name);
  lose_device(row.name + " hung");
  results_.rows.push_back(std::move(row));
  bool is_left = false;
  for (const Instance& instance : rows_) {
    for (int repetition = 0; repetition < options_.repetitions; ++repetition) {
      if (is_left) take_row(instance, repetition);
      is_left = is_left || (&instance == running_ && repetition == repetition_);
    }
  }
  const int code = conclude();
  std::cout.flush();
  _exit(code);
}

void SuiteRun::run_all() {
  catch_interrupts();
  Collector collector;
  std::ostringstream nowhere;
  collector.SetOutputStream(&nowhere);
  benchmark::RunSpecifiedBenchmarks(&collector, nullptr, "all");
  if (interrupted_) {
    results_.context["interrupted"] = true;  // no aggregates: not all rows were run
  } else {
    results_.aggregates = std::move(collector.aggregates);
  }
}

// What was measured before the model had come to it gets its prediction now.
void SuiteRun::await_predictions() {
  if (!predictions_) return;
  if (!interrupted_ && device_lost_.empty()) predictions_->finish();
  for (Row& row : results_.rows) predictions_->complete(row);
  predictions_.reset();
}

void SuiteRun::judge() {
  results_.context["run_seconds"] = elapsed_seconds();
  if (!options_.filter.empty()) results_.context["filter"] = options_.filter;
  roofs_ = state_roofs(results_.rows, platform_);
  judge_rows(results_.rows, roofs_, platform_.kind());
  complete_context(results_.context, results_.rows, roofs_);
}

}  // namespace gpubench
