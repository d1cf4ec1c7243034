#include "harness/program/isolation.hpp"

#include <algorithm>
#include <csignal>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "harness/bench/run_row.hpp"
#include "harness/platform/platform.hpp"
#include "harness/program/resume.hpp"
#include "harness/system/child_processes.hpp"
#include "harness/system/error.hpp"
#include "harness/system/process_group.hpp"

namespace gpubench {
namespace {

// Without a word of why, at most: whoever ends a run in the same row twice does not mean the row.
constexpr int most_starts = 3;

// "SIGSEGV at stream.cuh:30 by thread (0,0,0) of block (0,0,0) of stream::copy".
std::string diagnosis_of(const Crash& crash) {
  std::string text;
  for (std::size_t i = 0; i < crash.frame_count && text.empty(); ++i) {
    // All but the innermost are where a call returns to, which may be the next line.
    const auto* const code = static_cast<const char*>(crash.frames[i]) - (i > 0 ? 1 : 0);
    const std::string place = source_of_code(code);
    const bool is_of_concept = place.find(".cu") != std::string::npos;
    if (is_of_concept) text = "at " + place;
  }
  const std::string doing = crash.doing.data();
  if (!doing.empty()) text += (text.empty() ? "by " : " by ") + doing;
  return text;
}

double elapsed_seconds(const Journal& journal) {
  return journal.rows().empty() ? 0 : journal.rows().back().value("elapsed_seconds", 0.0);
}

// Records the row that is in flight as failed. False: there is none such.
bool record_lost(Journal& journal, const std::vector<Instance>& rows, const std::string& reason,
                 const std::string& diagnosis) {
  const auto& in_flight = journal.in_flight();
  if (!in_flight) return false;
  const auto instance = std::ranges::find(rows, in_flight->name, &Instance::name);
  if (instance == rows.end()) return false;
  Row row = row_of(*instance);
  row.repetition = in_flight->repetition;
  row.outcome = Outcome::failed;
  row.reason = reason;
  row.error_kind = error_kind::crash;
  row.diagnosis = diagnosis;
  std::cerr << "gpubench: " << row.name << ": " << reason
            << (diagnosis.empty() ? "" : ", " + diagnosis) << '\n';
  journal.add(lost_row_json(row, elapsed_seconds(journal)));
  return true;
}

// What a child has left that has not done its work. False: no other can go on.
bool take_over(Journal& journal, const std::vector<Instance>& rows, const ChildEnd& end,
               std::size_t& rows_before) {
  journal.read();
  const bool recorded = record_lost(journal, rows, "the process that ran it " + end.description(),
                                    diagnosis_of(end.crash));
  const bool has_progressed = recorded || journal.rows().size() > rows_before;
  rows_before = journal.rows().size();
  return has_progressed;
}

// A row may be longer than what was left when its process was asked to end: it is to be done again.
// False: something else has ended the child, or the one that was to write what there is.
bool was_ended_by_cpu_limit(Journal& journal, const ChildEnd& end) {
  if (end.cpu_limit_seconds == 0 || ChildProcesses::asked_by() != 0) return false;
  journal.read();
  const auto& in_flight = journal.in_flight();
  std::cerr << "gpubench: " << (in_flight ? in_flight->name + ": " : "")
            << "the process that runs the rows " << end.description() << '\n';
  ChildProcesses::ask_next(SIGXCPU);
  return true;
}

}  // namespace

bool is_isolated(const Options& options) {
  const char* why_not = ProcessGroup::is_launched() ? "a run that mpirun has started"
                        : options.bench.profile     ? "--profile"
                                                    : nullptr;
  const Isolation wanted = options.isolation.value_or(Isolation::fault);
  if (why_not == nullptr) return wanted != Isolation::none;
  if (options.isolation && wanted != Isolation::none) {
    throw UsageError(std::string("--isolate: ") + why_not + " stays in one process");
  }
  return false;
}

int run_isolated(const Options& options, const std::vector<Instance>& rows, Journal& journal,
                 const std::function<int(unsigned turn)>& run) {
  ChildProcesses children;
  std::size_t rows_before = 0;
  for (unsigned turn = 0;; ++turn) {
    const std::size_t bytes_before = journal.bytes();
    const ChildEnd end = children.run([&] { return run(turn); });
    if (end.exit_code) return *end.exit_code;
    if (end.handed_over && journal.bytes() > bytes_before) continue;
    if (end.was_asked_for()) ChildProcesses::end_by(end.signal);
    if (was_ended_by_cpu_limit(journal, end)) continue;
    if (end.handed_over) {
      journal.read();
      std::cerr << "gpubench: no further row can be run: a process's rows cannot be kept for the "
                   "next (--isolate)\n";
    } else if (take_over(journal, rows, end, rows_before)) {
      continue;
    } else {
      const std::string diagnosis = diagnosis_of(end.crash);
      std::cerr << "gpubench: the process that runs the rows " << end.description()
                << (diagnosis.empty() ? "" : ", " + diagnosis) << ", while no row ran\n";
    }
    if (journal.is_file() && !journal.rows().empty()) {
      std::cerr << "gpubench: " << where_rows_are_kept(journal, options.out) << '\n';
    }
    return 1;
  }
}

void settle_in_flight(Journal& journal, const std::vector<Instance>& rows) {
  const auto& in_flight = journal.in_flight();
  if (!in_flight) return;
  if (in_flight->has_crashed) {
    record_lost(journal, rows, "the process that ran it crashed", "");
  } else if (in_flight->starts >= most_starts) {
    record_lost(journal, rows,
                "started " + std::to_string(in_flight->starts) +
                    " times, and no process that ran it lived to finish it",
                "");
  }
}

}  // namespace gpubench
