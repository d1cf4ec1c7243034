// Rows of the model device are run beside one another, on all cores of the host.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/bench/run_row.hpp"
#include "harness/program/suite_run.hpp"
#include "harness/system/child_processes.hpp"
#include "harness/system/cores.hpp"
#include "harness/system/host_memory.hpp"

namespace gpubench {
namespace {

// Of the host's memory, for a process that runs rows: few need more, and those are run again
// alone.
constexpr double usual_bytes_of_rows = 2e9;

unsigned most_helpers(std::size_t rows) {
  double helpers = static_cast<double>(std::min(rows, allowed_cpus().size()));
  if (const auto free = available_bytes()) helpers = std::min(helpers, *free / usual_bytes_of_rows);
  return static_cast<unsigned>(helpers);
}

}  // namespace

// Not where rows are to share a process, or not to, or what happens to the device goes on from row
// to row.
void SuiteRun::start_helpers() {
  const bool may_share = is_child() && !changes_process_often() && options_.conditions.empty() &&
                         options_.bench.kept_results.empty() &&
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
    is_helper_ = true;
    platform_.use_threads(static_cast<unsigned>(allowed_cpus().size()) / helpers);
    watchdog_.begin({}, row_memory_bytes(helpers));
  };
  const auto piece = [this](std::size_t i) { return help_with(for_helpers_[i]); };
  helpers_.emplace(helpers, for_helpers_.size(), HelperProcesses::Work{begin, piece});
}

// In a helper. What breaks the device is run once more by who can tell of it.
std::optional<std::string> SuiteRun::help_with(const RowKey& key) {
  const auto instance = std::ranges::find(rows_, key.first, &Instance::name);
  Row row = run_row(*instance, platform_, options_.bench);
  if (row.outcome != Outcome::measured && is_device_lost()) return std::nullopt;
  row.repetition = key.second;
  return kept_row_json(row, platform_, 0).dump();
}

Row SuiteRun::row_of_helper_or_own(const Instance& instance, int repetition) {
  if (helpers_) {
    const auto place = std::ranges::find(for_helpers_, RowKey{instance.name, repetition});
    const auto piece = static_cast<std::size_t>(place - for_helpers_.begin());
    if (const auto text = helpers_->take(piece)) {
      return kept_row(nlohmann::ordered_json::parse(*text), rows_, platform_, options_.bench);
    }
    helpers_.reset();
  }
  Row row = run_row(instance, platform_, options_.bench);
  row.repetition = repetition;
  return row;
}

}  // namespace gpubench
