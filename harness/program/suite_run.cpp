#include "harness/program/suite_run.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include "harness/bench/run_row.hpp"
#include "harness/program/console.hpp"
#include "harness/program/output_file.hpp"
#include "harness/program/predictions.hpp"
#include "harness/program/result_csv.hpp"
#include "harness/program/result_json.hpp"
#include "harness/program/trace.hpp"
#include "harness/records/explanation.hpp"
#include "harness/system/child_process.hpp"
#include "harness/system/interrupt.hpp"
#include "harness/system/process_group.hpp"

namespace gpubench {
namespace {

using nlohmann::ordered_json;

constexpr int interrupted_exit = 130;  // as shells have it: 128 and SIGINT

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
  announce();
  register_rows();
  run_all();
  if (interrupted_ && results_.rows.empty()) {
    info_ << "interrupted before the first row was done: nothing written\n";
    return interrupted_exit;
  }
  judge();
  show();
  if (is_first_) write_files();
  return summarise();
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
  if (gpubench::interrupted()) {  // the rows that are left are not run
    for (auto _ : state) state.SetIterationTime(1);
    return;
  }
  std::vector<Row>& rows = results_.rows;
  Row row;
  if (unfinished_.contains(instance.name)) {
    row = *std::ranges::find_if(rows, [&](const Row& r) {
      return r.name == instance.name && r.outcome != Outcome::measured;
    });
  } else {
    row = new_row(instance, repetition);
  }
  row.repetition = repetition;
  if (row.outcome != Outcome::measured) unfinished_.insert(row.name);
  // Google Benchmark is told of no error: 1.7.1 crashes on one among good repetitions. The row says
  // it.
  for (auto _ : state) state.SetIterationTime(row.median_seconds);
  for (const auto& [name, value] : row.counters) state.counters[name] = value;
  rows.push_back(std::move(row));
}

Row SuiteRun::new_row(const Instance& instance, int repetition) {
  if (repetition == 0) progress_.starts(instance.topic);
  Row row = run_row(instance, platform_, options_.bench);
  if (repetition == 0) explanations_ = platform_.explanations();
  progress_.clear();
  if (const auto found = predicted_.find(row.name); found != predicted_.end()) {
    take_prediction(row, found->second);
  }
  // With only one repetition there are no aggregates to show instead.
  const bool row_by_row = options_.repetitions == 1 ||
                          !(options_.report_aggregates_only || options_.display_aggregates_only);
  if (to_console() && (row_by_row || row.outcome != Outcome::measured)) {
    std::cout << console_line(row, width_) << (options_.terms ? terms_line(row) : "") << std::flush;
  }
  return row;
}

void SuiteRun::run_all() {
  catch_interrupts();
  Collector collector;
  std::ostringstream nowhere;
  collector.SetOutputStream(&nowhere);
  benchmark::RunSpecifiedBenchmarks(&collector, nullptr, "all");
  interrupted_ = gpubench::interrupted();
  if (interrupted_) {
    results_.context["interrupted"] = true;  // no aggregates: not all rows were run
  } else {
    results_.aggregates = std::move(collector.aggregates);
  }
}

void SuiteRun::judge() {
  results_.context["run_seconds"] = progress_.seconds();
  if (!options_.filter.empty()) results_.context["filter"] = options_.filter;
  roofs_ = state_roofs(results_.rows, platform_);
  judge_rows(results_.rows, roofs_);
  complete_context(results_.context, results_.rows, roofs_);
}

std::string SuiteRun::text_in(Format format) const {
  if (format == Format::csv) return result_csv(results_, options_);
  if (format == Format::json) return result_json(results_, options_).dump(1) + "\n";
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
  if (!std::cout.flush()) throw std::runtime_error("cannot write to standard output");
}

void SuiteRun::write_files() {
  if (!options_.out.empty()) {
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
          explanations_json(options_.explain, explanations_, results_.context).dump(1) + "\n");
    }
  }
  if (!options_.trace.empty()) {
    write_file(options_.trace, trace_json(results_.rows, results_.context).dump() + "\n");
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
        << ", " << skipped << " skipped, " << failed << " failed\n";
  return interrupted_ ? interrupted_exit : failed > 0 ? 1 : 0;
}

}  // namespace gpubench
