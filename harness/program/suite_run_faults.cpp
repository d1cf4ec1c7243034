// What a run does about rows that break the process they run in.
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <sstream>

#include "harness/bench/run_row.hpp"
#include "harness/program/suite_run.hpp"
#include "harness/system/child_processes.hpp"
#include "harness/system/host_memory.hpp"

namespace gpubench {
namespace {

// That a row may take where the user does not say.
constexpr double usual_limit_seconds = 120;
constexpr double usual_limit_of_model_seconds = 3600;
constexpr double budgets_in_a_row = 40;  // a row times other programs too, and rests
constexpr double usual_share_of_memory = 0.9;

// Rows of one kernel that break their process, until its other rows are not tried any more: each
// may have hung for as long as it could.
constexpr int most_broken_rows = 3;

bool breaks_process(const Row& row) {
  constexpr const char* kinds[] = {error_kind::illegal_access, error_kind::trap,
                                   error_kind::launch_failure, error_kind::timeout,
                                   error_kind::ecc_error,      error_kind::device_lost,
                                   error_kind::crash};
  return row.outcome == Outcome::failed &&
         std::ranges::find(kinds, row.error_kind) != std::end(kinds);
}

// Takes what is written to a stream for as long as it lives.
class Captured {
 public:
  explicit Captured(std::ostream& stream) : stream_(stream), before_(stream.rdbuf(text_.rdbuf())) {}
  ~Captured() { stream_.rdbuf(before_); }
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;
  std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
  std::ostream& stream_;
  std::streambuf* before_;
};

}  // namespace

double SuiteRun::row_limit_seconds() const {
  if (options_.row_limit) return *options_.row_limit;
  const BenchSettings usual;
  const BenchSettings& asked = options_.bench;
  // Profilers and sanitizers take their time, and so many samples whatever they need.
  if (asked.profile || asked.exact_samples) return 0;
  const auto beyond = [](double seconds, double usually) {
    return std::max(seconds - usually, 0.0);
  };
  return (modelled() ? usual_limit_of_model_seconds : usual_limit_seconds) +
         budgets_in_a_row * beyond(asked.budget_seconds, usual.budget_seconds) +
         budgets_in_a_row * beyond(asked.warmup_seconds, usual.warmup_seconds) +
         beyond(asked.watch_seconds, usual.watch_seconds);
}

// `processes`: that run rows at the same time.
double SuiteRun::row_memory_bytes(unsigned processes) const {
  if (options_.row_memory) return *options_.row_memory;
  static const double occupied = static_cast<double>(resident_bytes());
  static const std::optional<double> free = available_bytes();
  return free ? occupied + usual_share_of_memory * *free / processes : 0;
}

bool SuiteRun::changes_process_often() const {
  return is_child() &&
         (options_.isolation == Isolation::by_concept || options_.isolation == Isolation::row);
}

// A row of which this process must not know what ran before it is left to the next one.
void SuiteRun::run_or_hand_over(const Instance& instance) {
  const Instance* const before = std::exchange(last_run_, &instance);
  if (!changes_process_often() || before == nullptr) return;
  const bool is_same = options_.isolation == Isolation::row ? before->name == instance.name
                                                            : before->topic == instance.topic;
  if (!is_same) hand_over();
}

void SuiteRun::note_broken(const Row& row) {
  if (breaks_process(row)) ++broken_[row.topic + "/" + row.kernel];
}

std::string SuiteRun::why_not_again(const Instance& instance) const {
  const auto found = broken_.find(instance.topic + "/" + instance.kernel);
  if (found == broken_.end() || found->second < most_broken_rows) return "";
  return "not run: " + std::to_string(found->second) + " rows of " + found->first +
         " have broken the process that ran them";
}

void SuiteRun::lose_device(const std::string& reason) {
  device_lost_ = "not run: " + reason;
  std::cerr << "gpubench: " << reason
            << (is_child() ? ": a new process runs the remaining rows\n"
                           : ": the remaining rows are not run\n");
}

// The watchdog's: the row that is running takes too long or too much, and whoever runs it will not
// come back, nor would anything that waits for the device, destructors included.
void SuiteRun::give_up(Watchdog::Over over) {
  if (helpers_beside_ > 0) _exit(1);  // the row is run once more, by whom it concerns
  Row row = row_of(*running_);
  row.repetition = repetition_;
  row.outcome = Outcome::failed;
  std::ostringstream reason;
  if (over == Watchdog::Over::time) {
    row.error_kind = error_kind::timeout;
    reason << "did not finish in " << row_limit_seconds()
           << " s (--row_limit): its kernel hangs, or the machine is too slow";
  } else {
    row.error_kind = error_kind::out_of_memory;
    reason << "the process takes more than " << row_memory_bytes()
           << " bytes of the host's memory (--row_memory)";
  }
  row.reason = reason.str();
  progress_.clear();
  keep(row);
  print(row);
  unfinished_.insert(row.name);
  lose_device(row.name + (over == Watchdog::Over::time ? " hung" : " took too much memory"));
  results_.rows.push_back(std::move(row));
  bool is_left = false;
  for (const Instance& instance : rows_) {
    for (int repetition = 0; repetition < options_.repetitions; ++repetition) {
      if (is_left) take_row(instance, repetition);
      is_left = is_left || (&instance == running_ && repetition == repetition_);
    }
  }
  if (has_rest_ && !interrupted_ && is_child()) hand_over_rest();
  end_at_once(conclude());
}

// What is left is for a process that nothing has happened to. Should none be able to open the
// device any more, files and words are there as they are without one.
void SuiteRun::hand_over_rest() {
  predictions_.reset();
  const Captured said(std::cout), unsaid(std::cerr);
  conclude();
  journal_->note_otherwise(said.text());
  hand_over();
}

}  // namespace gpubench
