#include "harness/program/suite_run.hpp"

#include <benchmark/benchmark.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "harness/bench/run_row.hpp"
#include "harness/program/console.hpp"
#include "harness/program/output_file.hpp"
#include "harness/program/predictions.hpp"
#include "harness/program/result_csv.hpp"
#include "harness/program/result_json.hpp"
#include "harness/program/trace.hpp"
#include "harness/records/explanation.hpp"
#include "harness/system/child_process.hpp"
#include "harness/system/error.hpp"
#include "harness/system/interrupt.hpp"
#include "harness/system/process_group.hpp"

namespace gpubench {
namespace {

using nlohmann::ordered_json;

constexpr int signal_exit = 128;  // and the signal's number, as shells have it

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

// NAME.explain.json: what the charts of a warp are drawn from.
ordered_json explanations_json(const std::string& row, const std::vector<Explanation>& explanations,
                               const ordered_json& context) {
  ordered_json json = {{"context", context}, {"explanations", ordered_json::array()}};
  for (const Explanation& explanation : explanations) {
    ordered_json one = {{"name", row}};
    one.update(explanation_json(explanation));
    json["explanations"].push_back(std::move(one));
  }
  return json;
}

std::filesystem::path beside(const std::string& file, const char* ending) {
  return std::filesystem::path(file).replace_extension(ending);
}

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
    predicted_ = predictions(options_, platform_);
  }
  for (const Instance& i : rows_) width_ = std::max(width_, i.name.size() + 1);
  if (options_.repetitions > 1) width_ += std::string_view("_median").size();
  results_.context = context_json(options_, platform_, executable);
}

int SuiteRun::run() {
  open_journal();
  announce();
  register_rows();
  run_all();
  if (interrupted_ && results_.rows.empty()) {
    info_ << "interrupted before the first row was done: nothing written\n";
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
    judge();
    show();
    if (is_first_) write_files();
    settle_journal();
    return summarise();
  } catch (const std::exception& error) {
    std::cerr << "gpubench: " << error.what();
    if (journal_) {
      std::cerr << "; what was done is kept: " << resume_command(journal_->run(), options_.out);
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
                       "': not a regular file, of which none is kept");
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
  info_ << "for the rest: " << resume_command(journal_->run(), options_.out) << '\n';
}

void SuiteRun::announce() {
  const char* why = std::getenv(modelled_because);
  if (why != nullptr && modelled() && is_first_) {
    std::cerr << "gpubench: " << why << ": every figure below is MODELLED for "
              << platform_.device().name() << ", not measured\n";
  }
  info_ << headline_text(results_.context);
  if (to_console()) std::cout << console_header(width_) << std::flush;
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
  if (const auto found = predicted_.find(row.name); found != predicted_.end()) {
    take_prediction(row, found->second);
  }
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
  std::cerr << "gpubench: " << reason << ": the rows that are left are not run\n";
}

// The watchdog's: the row that is running takes too long, and whoever runs it will not come back,
// nor would anything that waits for the device, destructors included.
void SuiteRun::give_up() {
  Row row = row_of(*running_);
  row.repetition = repetition_;
  row.outcome = Outcome::failed;
  std::ostringstream reason;
  reason << "not done after " << row_limit_seconds()
         << " s (--row_limit): a kernel that never ends, or too slow a machine";
  row.reason = reason.str();
  progress_.clear();
  keep(row);
  print(row);
  unfinished_.insert(row.name);
  lose_device(row.name + " never ended");
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

void SuiteRun::print(const Row& row) const {
  // With only one repetition there are no aggregates to show instead.
  const bool row_by_row = options_.repetitions == 1 ||
                          !(options_.report_aggregates_only || options_.display_aggregates_only);
  if (to_console() && (row_by_row || row.outcome != Outcome::measured)) {
    std::cout << console_line(judged_so_far(row, results_.rows, platform_), width_)
              << (options_.terms ? terms_line(row) : "") << std::flush;
  }
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

void SuiteRun::judge() {
  results_.context["run_seconds"] = elapsed_seconds();
  if (!options_.filter.empty()) results_.context["filter"] = options_.filter;
  roofs_ = state_roofs(results_.rows, platform_);
  judge_rows(results_.rows, roofs_);
  complete_context(results_.context, results_.rows, roofs_);
}

std::string SuiteRun::text_in(Format format) const {
  if (format == Format::csv) return result_csv(results_, options_);
  if (format == Format::json) return json_text(result_json(results_, options_), 1);
  return console_text(results_, options_, width_);
}

void SuiteRun::show() {
  std::cout << (to_console() ? console_aggregates(results_, width_) : text_in(options_.format));
  if (options_.roofs) info_ << '\n' << roofs_text(roofs_) << '\n';
  for (const Explanation& explanation : explanations_) {
    info_ << '\n' << explanation_text(explanation);
  }
  if (!options_.explain.empty() && explanations_.empty() &&
      results_.rows.front().outcome == Outcome::measured) {
    info_ << "nothing to explain: this row runs no kernel that the model executes\n";
  }
  // Somebody who has closed the pipe has seen enough; files are written all the same.
  if (!std::cout.flush() && !gpubench::interrupted())
    throw std::runtime_error("cannot write to standard output");
}

void SuiteRun::write_files() {
  if (!options_.out.empty() && is_written_in_place(options_.out)) {
    write_file(options_.out, text_in(options_.out_format));
  } else if (!options_.out.empty()) {
    const std::filesystem::path samples = beside(options_.out, ".samples.jsonl");
    write_file(samples, samples_lines(results_));
    write_file(options_.out, text_in(options_.out_format));
    info_ << "wrote " << options_.out << " and " << samples.string() << '\n';
    const auto write_beside = [&](const char* ending, const std::string& text) {
      const std::filesystem::path path = beside(options_.out, ending);
      write_file(path, text);
      info_ << "wrote " << path.string() << '\n';
    };
    const std::string series = series_lines(results_);
    if (!series.empty()) write_beside(".series.jsonl", series);
    if (!explanations_.empty()) {
      write_beside(
          ".explain.json",
          json_text(explanations_json(options_.explain, explanations_, results_.context), 1));
    }
  }
  if (!options_.trace.empty()) {
    write_file(options_.trace, json_text(trace_json(results_.rows, results_.context)));
    info_ << "wrote " << options_.trace << '\n';
  }
}

int SuiteRun::summarise() {
  const std::vector<Row>& rows = results_.rows;
  const auto skipped = std::ranges::count(rows, Outcome::skipped, &Row::outcome);
  const auto failed = std::ranges::count(rows, Outcome::failed, &Row::outcome);
  if (interrupted_) {
    info_ << "interrupted: " << rows.size() << " of " << rows_.size() << " rows\n";
  }
  const auto done = std::ranges::count(rows, Outcome::measured, &Row::outcome);
  info_ << done << (done == 1 ? " row " : " rows ") << (modelled() ? "modelled" : "measured")
        << ", " << skipped << " skipped, " << failed << " failed\n"
        << laws_text(rows);
  const int signal = interrupting_signal();
  return signal != 0 ? signal_exit + signal : failed > 0 ? 1 : 0;
}

}  // namespace gpubench
