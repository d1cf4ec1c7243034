// Rows of the model device are run beside one another, on all cores of the host.
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/bench/run_row.hpp"
#include "harness/program/suite_run.hpp"
#include "harness/system/child_processes.hpp"
#include "harness/system/cores.hpp"
#include "harness/system/host_memory.hpp"

namespace gpubench {
namespace {

// Host memory for a process that runs rows: few need more, and those are run again
// alone.
constexpr double usual_bytes_of_rows = 2e9;

// How long others wait, so that the process that writes is not ended before it has.
constexpr double patience_of_others_seconds = 30;

// How long a helper is waited for past the limit, where it ends itself unless it is stopped.
constexpr double patience_with_helpers_seconds = 10;

unsigned most_helpers(std::size_t rows) {
  double helpers = std::min(static_cast<double>(rows), 1.0 * usable_cpus());
  if (const auto free = available_bytes()) helpers = std::min(helpers, *free / usual_bytes_of_rows);
  return static_cast<unsigned>(helpers);
}

bool lacked_memory(const Row& row, const Platform& platform) {
  const bool is_refused = row.outcome == Outcome::skipped && !platform.lacking_memory().empty();
  return is_refused || row.error_kind == error_kind::out_of_memory;
}

}  // namespace

// Not where rows are to share a process, or not to, or what happens to the device goes on from row
// to row, or a row has broken a process and others of its kind may.
void SuiteRun::start_helpers() {
  const bool may_share = is_child() && turn_ == 0 && !changes_process_often() &&
                         options_.conditions.empty() && options_.bench.kept_results.empty() &&
                         options_.bench.judged_results.empty();
  if (!modelled() || !may_share) return;
  for (const Instance& instance : rows_) {
    for (int repetition = 0; repetition < options_.repetitions; ++repetition) {
      const RowKey key{instance.name, repetition};
      if (!kept_.rows.contains(key)) for_helpers_.push_back(key);
    }
  }
  const unsigned helpers = most_helpers(for_helpers_.size());
  if (helpers < 2) return;
  const auto begin = [this, helpers] {
    helpers_beside_ = helpers;
    if (journal_ != nullptr) journal_->leave();
    platform_.use_threads(usable_cpus() / helpers);
  };
  const auto piece = [this](std::size_t i) { return help_with(for_helpers_[i]); };
  // Rows are printed in their order, and kept in that in which they are done.
  const auto heard = [this](std::size_t i, const std::string& text) {
    nlohmann::ordered_json line = nlohmann::ordered_json::parse(text);
    line["elapsed_seconds"] = elapsed_seconds();
    if (journal_ != nullptr) journal_->add(line);
    kept_.rows.insert_or_assign(for_helpers_[i], kept_row(line, rows_, platform_, options_.bench));
  };
  const double limit = row_limit_seconds();
  helpers_.emplace(helpers, for_helpers_.size(), HelperProcesses::Work{begin, piece, heard},
                   limit > 0 ? limit + patience_with_helpers_seconds : 0);
}

Row SuiteRun::watched_row(const Instance& instance, Watchdog::Seconds limit, double bytes) {
  const Watchdog::Guard guard = watchdog_.guard(limit, bytes);
  return run_row(instance, platform_, options_.bench);
}

// In a helper. What breaks the device, and what needs more memory than a helper has, is run once
// more by who can tell of it.
std::optional<std::string> SuiteRun::help_with(const RowKey& key) {
  const auto instance = std::ranges::find(rows_, key.first, &Instance::name);
  Row row = watched_row(*instance, Watchdog::Seconds(row_limit_seconds()),
                        row_memory_bytes(helpers_beside_));
  if (row.outcome != Outcome::measured && is_device_lost()) _exit(1);
  if (lacked_memory(row, platform_)) return std::nullopt;
  row.repetition = key.second;
  return kept_row_json(row, platform_, 0).dump();
}

Row SuiteRun::row_of_helper_or_own(const Instance& instance, int repetition) {
  if (helpers_) {
    const RowKey key{instance.name, repetition};
    const auto piece = std::ranges::find(for_helpers_, key) - for_helpers_.begin();
    if (helpers_->take(static_cast<std::size_t>(piece))) return kept_.rows.at(key);  // heard of
  }
  double limit = row_limit_seconds();
  if (limit > 0 && !is_first_) limit += patience_of_others_seconds;
  Row row = watched_row(instance, Watchdog::Seconds(limit), row_memory_bytes());
  row.repetition = repetition;
  return row;
}

}  // namespace gpubench
