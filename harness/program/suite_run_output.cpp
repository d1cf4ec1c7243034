// What a run shows and writes.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <stdexcept>
#include <utility>

#include "harness/program/console.hpp"
#include "harness/program/grades.hpp"
#include "harness/program/output_file.hpp"
#include "harness/program/result_csv.hpp"
#include "harness/program/result_json.hpp"
#include "harness/program/suite_run.hpp"
#include "harness/program/trace.hpp"
#include "harness/records/explanation.hpp"
#include "harness/system/interrupt.hpp"
#include "harness/system/own_files.hpp"
#include "harness/system/plain_text.hpp"
#include "harness/system/shell_word.hpp"
#include "harness/system/sibling_programs.hpp"
#include "harness/system/standard_streams.hpp"

namespace gpubench {
namespace {

using nlohmann::ordered_json;

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

// How to get the report of a result file; empty where there is none.
std::string report_of(const Options& options) {
  if (const char* page = std::getenv(report_follows); page != nullptr) return page;
  const bool is_file = !options.out.empty() && !is_written_in_place(options.out);
  return is_file && options.out_format == Format::json
             ? "gpubench-report html " + shell_word(options.out)
             : "";
}

}  // namespace

void SuiteRun::announce() {
  if (turn_ > 0) return;  // another process has
  const char* why = std::getenv(modelled_because);
  if (why != nullptr && modelled() && is_first_) {
    std::cerr << "gpubench: " << why << ": every figure below is MODELLED for "
              << platform_.device().name() << ", not measured\n";
  }
  for (const std::string& caveat : caveats_of_run(options_, platform_)) {
    if (is_first_) std::cerr << "gpubench: " << caveat << '\n';
  }
  info_ << headline_text(results_.context);
  if (to_console()) std::cout << table_->header() << std::flush;
}

// As if print() had shown the row.
void SuiteRun::note_said(const Row& row) {
  if (to_console() && options_.repetitions == 1) {
    said_grades_[row.name] = judged_so_far(row, results_.rows, platform_).graded.grade;
  }
}

void SuiteRun::print(const Row& row) {
  // With only one repetition there are no aggregates to show instead.
  const bool row_by_row = options_.repetitions == 1 ||
                          !(options_.report_aggregates_only || options_.display_aggregates_only);
  if (to_console() && (row_by_row || row.outcome != Outcome::measured)) {
    const Row judged = judged_so_far(row, results_.rows, platform_);
    if (options_.repetitions == 1) said_grades_[row.name] = judged.graded.grade;
    std::cout << table_->line(judged) << (options_.terms ? terms_line(row) : "") << std::flush;
  }
}

std::string SuiteRun::text_in(Format format) const {
  if (format == Format::csv) return result_csv(results_, options_);
  if (format == Format::json) return json_text(result_json(results_, options_), 1);
  return console_text(results_, options_,
                      RowTable(table_->name_width(), 0, false, options_.bench.energy));
}

void SuiteRun::show() {
  std::cout << (to_console() ? console_aggregates(results_, table_->name_width())
                             : text_in(options_.format));
  if (options_.roofs) info_ << '\n' << roofs_text(roofs_) << '\n';
  for (const Explanation& explanation : explanations_) {
    info_ << '\n' << explanation_text(explanation);
  }
  if (!options_.explain.empty() && explanations_.empty() &&
      results_.rows.front().outcome == Outcome::measured) {
    info_ << "nothing to explain: this row runs no kernel that the model executes\n";
  }
  if (!explanations_.empty()) {
    if (const auto files = own_files()) info_ << "\nkernels: " << files->kernels.string() << '\n';
  }
  // Somebody who has closed the pipe has seen enough, and who started this with a closed output
  // wants the file alone; files are written all the same.
  const bool wants_file_alone = !options_.out.empty() && is_standard_output_closed();
  if (!std::cout.flush() && !gpubench::interrupted() && !wants_file_alone)
    throw std::runtime_error("cannot write to standard output");
}

void SuiteRun::write_files() {
  if (!options_.out.empty() && is_written_in_place(options_.out)) {
    write_file(options_.out, text_in(options_.out_format));
  } else if (!options_.out.empty()) {
    const std::filesystem::path samples = companion_of(options_.out, samples_file);
    write_file(samples, samples_lines(results_));
    write_file(options_.out, text_in(options_.out_format));
    info_ << "wrote " << plain_text(options_.out + " and " + samples.string()) << '\n';
    const auto write_beside = [&](const char* what, const std::string& text) {
      const std::filesystem::path path = companion_of(options_.out, what);
      write_file(path, text);
      info_ << "wrote " << plain_text(path.string()) << '\n';
    };
    const std::string series = series_lines(results_);
    if (!series.empty()) write_beside(series_file, series);
    if (!explanations_.empty()) {
      write_beside(
          explain_file,
          json_text(explanations_json(options_.explain, explanations_, results_.context), 1));
    }
  }
  if (!options_.trace.empty()) {
    write_file(options_.trace, json_text(trace_json(results_.rows, results_.context)));
    info_ << "wrote " << plain_text(options_.trace) << '\n';
  }
}

int SuiteRun::summarise() {
  const std::vector<Row>& rows = results_.rows;
  const auto skipped = std::ranges::count(rows, Outcome::skipped, &Row::outcome);
  const auto failed = std::ranges::count(rows, Outcome::failed, &Row::outcome);
  if (interrupted_) {
    (is_unread() ? std::cerr : info_)
        << (is_unread() ? "gpubench: standard output was closed: " : "interrupted: ") << rows.size()
        << " of " << rows_.size() << " rows\n";
  }
  const auto done = std::ranges::count(rows, Outcome::measured, &Row::outcome);
  info_ << done << (done == 1 ? " row " : " rows ") << (modelled() ? "modelled" : "measured")
        << ", " << skipped << " skipped, " << failed << " failed\n"
        << regraded_text(rows, said_grades_) << grades_text(rows, report_of(options_));
  const int signal = interrupting_signal();
  return signal != 0 ? signal_exit + signal : failed > 0 ? 1 : 0;
}

}  // namespace gpubench
