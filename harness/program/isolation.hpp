// Rows in processes of their own, so that one that breaks its process costs no other row.
#pragma once

#include <functional>
#include <vector>

#include "harness/bench/registry.hpp"
#include "harness/program/journal.hpp"
#include "harness/program/options.hpp"

namespace gpubench {

// What such a run does without: it is one of several processes, or a profiler follows this one.
// UsageError: the user asks for it all the same.
bool is_isolated(const Options& options);

// Calls `run(turn)` in one process after another, until one has done all rows: each goes on where
// the journal says that the last one stopped. The row that has ended a process is recorded as
// failed. Returns the exit code.
int run_isolated(const Options& options, const std::vector<Instance>& rows, Journal& journal,
                 const std::function<int(unsigned turn)>& run);

// A row that must not be started again, since the process that ran it did not live to finish it, is
// recorded as failed.
void settle_in_flight(Journal& journal, const std::vector<Instance>& rows);

}  // namespace gpubench
