#include "harness/program/suite_run.hpp"

#include <benchmark/benchmark.h>
#include <algorithm>
#include <exception>
#include <iostream>
#include <sstream>
#include <string_view>
#include <utility>

#include "harness/bench/run_row.hpp"
#include "harness/program/isolation.hpp"
#include "harness/program/output_file.hpp"
#include "harness/program/predictions.hpp"
#include "harness/program/result_json.hpp"
#include "harness/system/child_processes.hpp"
#include "harness/system/crash.hpp"
#include "harness/system/error.hpp"
#include "harness/system/exception_text.hpp"
#include "harness/system/interrupt.hpp"
#include "harness/system/plain_text.hpp"
#include "harness/system/process_group.hpp"
#include "harness/system/sibling_programs.hpp"

namespace gpubench {
namespace {

using nlohmann::ordered_json;

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
                   const char* executable, Journal* journal, unsigned turn)
    : options_(options),
      platform_(platform),
      rows_(std::move(rows)),
      is_first_(ProcessGroup::all().index() == 0),
      info_(to_console() || !is_first_ ? std::cout : std::cerr),
      progress_(rows_.size()),
      journal_(journal),
      turn_(turn),
      prints_kept_(turn == 0) {
  platform_.set_explaining(!options_.explain.empty());
  if (!changes_process_often()) predict();
  std::size_t names = 0;
  for (const Instance& i : rows_) names = std::max(names, i.name.size() + 1);
  if (options_.repetitions > 1) names += std::string_view("_median").size();
  table_.emplace(names, line_width(), shows_colours(options_.colour), options_.bench.energy);
  results_.places = places_of(rows_);
  results_.context = context_json(options_, platform_, executable);
}

int SuiteRun::run() {
  begin_or_go_on();
  start_helpers();
  announce();
  register_rows();
  run_all();
  if (has_rest_ && !interrupted_ && is_child()) hand_over_rest();
  if (interrupted_ && results_.rows.empty()) {
    info_ << "interrupted before the first row was finished: nothing written\n";
    if (journal_ != nullptr) journal_->remove();
    return signal_exit + interrupting_signal();
  }
  const int code = conclude();
  if (device_lost_.empty()) return code;
  end_at_once(code);
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
    std::cerr << "gpubench: " << plain_text(text_of(error));
    if (journal_ != nullptr && journal_->is_file()) {
      std::cerr << "; " << where_rows_are_kept(*journal_, options_.out);
    }
    std::cerr << '\n';
    return 1;
  }
}

void SuiteRun::begin_or_go_on() {
  if (journal_ == nullptr) return;
  ordered_json run = run_json(options_, results_.context, rows_);
  // Only a file can be gone on with by another program.
  if (journal_->is_file()) run["same"]["program"] = program_hash();
  if (turn_ == 0 && options_.resumed.empty()) {
    journal_->begin(run);
  } else {
    journal_->read();
    if (journal_->run().is_null()) {
      throw UsageError("--resume='" + options_.out + "': its journal has no run to resume");
    }
    check_same_run(journal_->run(), run,
                   options_.resumed.empty() ? "the run cannot go on in another process"
                                            : "--resume='" + options_.out + "'");
    if (turn_ == 0) {
      settle_in_flight(*journal_, rows_);
      journal_->read();
    }
    kept_ = kept_rows(*journal_, rows_, platform_, options_.bench);
    const ordered_json date = results_.context.at("date");
    results_.context = journal_->run().at("context");
    if (turn_ == 0) journal_->note_resumed(date);
    for (const ordered_json& resumed : journal_->resumed()) {
      results_.context["resumed"].push_back(resumed);
    }
    if (turn_ == 0) results_.context["resumed"].push_back(date);
  }
  static Crash unread;  // the line in the journal says enough
  if (!is_child()) catch_crashes(unread, journal_->file(), Journal::crash_line());
}

void SuiteRun::settle_journal() {
  if (journal_ == nullptr) return;
  if (!interrupted_ && !has_rest_) {
    journal_->remove();
    return;
  }
  if (!journal_->is_file()) return;
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
  const auto skip = [&](const std::string& reason) {
    row = row_of(instance);
    row.outcome = Outcome::skipped;
    row.reason = reason;
    row.repetition = repetition;
  };
  const RowKey key{instance.name, repetition};
  if (kept_.ended_in == key) prints_kept_ = true;
  if (const auto kept = kept_.rows.find(key); kept != kept_.rows.end()) {
    row = kept->second;
    if (repetition == 0) progress_.passes();
    prints_kept_ ? print(row) : note_said(row);
    note_broken(row);
  } else if (gpubench::interrupted()) {
    interrupted_ = true;
    return nullptr;
  } else if (unfinished_.contains(instance.name)) {
    row = *std::ranges::find_if(rows, [&](const Row& r) {
      return r.name == instance.name && r.outcome != Outcome::measured;
    });
    row.repetition = repetition;
  } else if (!device_lost_.empty()) {
    has_rest_ = true;
    skip(device_lost_);
  } else if (const std::string why = why_not_again(instance); !why.empty()) {
    skip(why);
    keep(row);
    print(row);
  } else {
    run_or_hand_over(instance);
    row = new_row(instance, repetition);
    keep(row);
    print(row);  // what has been seen is not lost
    if (row.outcome != Outcome::measured && is_device_lost()) {
      lose_device(row.name + " left the device in an error state");
    }
  }
  if (row.outcome != Outcome::measured) unfinished_.insert(row.name);
  return &rows.emplace_back(std::move(row));
}

Row SuiteRun::new_row(const Instance& instance, int repetition) {
  if (repetition == 0) progress_.starts(instance.topic);
  running_ = &instance;
  repetition_ = repetition;
  if (journal_ != nullptr) journal_->note_started(instance.name, repetition);
  Row row = row_of_helper_or_own(instance, repetition);
  if (repetition == 0) explanations_ = platform_.explanations();
  progress_.clear();
  if (predictions_) predictions_->complete(row);
  return row;
}

void SuiteRun::keep(const Row& row) {
  if (gpubench::interrupted() && !row.moments.empty()) {
    interrupted_ = true;  // it was not watched for as long as was asked: to be done again
  } else if (journal_ != nullptr && !kept_.rows.contains({row.name, row.repetition})) {
    journal_->add(kept_row_json(row, platform_, elapsed_seconds()));
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

void SuiteRun::predict() {
  if (!options_.predict || !is_first_ || modelled()) return;
  predictions_.emplace(options_, platform_, path_of(Half::model));
}

// What was measured before the model had come to it gets its prediction now.
void SuiteRun::await_predictions() {
  if (changes_process_often() && device_lost_.empty()) predict();
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
