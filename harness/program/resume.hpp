// What must be alike for one run to go on with another one's rows, and how a row is kept.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/bench/registry.hpp"
#include "harness/platform/platform.hpp"
#include "harness/program/journal.hpp"
#include "harness/program/options.hpp"

namespace gpubench {

// Two builds may have one commit: of a changed checkout, of an archive, or with other concepts of
// the user's own. Children of whoever has called this before do not read the program again.
const std::string& program_hash();
// The first line of a journal: the command, what must be alike, the context of the result file.
nlohmann::ordered_json run_json(const Options& options, const nlohmann::ordered_json& context,
                                const std::vector<Instance>& rows);
// UsageError says, for whoever goes on with it, what differs between a journal's run and this one.
void check_same_run(const nlohmann::ordered_json& theirs, const nlohmann::ordered_json& ours,
                    const std::string& who);
// The command that goes on with the run, for a shell.
std::string resume_command(const nlohmann::ordered_json& run, const std::string& result_file);
// The same in words, where a run cannot go on.
std::string where_rows_are_kept(const Journal& journal, const std::string& result_file);

nlohmann::ordered_json kept_row_json(const Row& row, const Platform& platform,
                                     double elapsed_seconds);
// For a row that has ended its process: another one writes it.
nlohmann::ordered_json lost_row_json(const Row& row, double elapsed_seconds);
bool is_lost_row(const nlohmann::ordered_json& line);

struct KeptRows {
  std::map<std::pair<std::string, int>, Row> rows;  // by name and repetition
  double elapsed_seconds = 0;                       // of the run when it was broken off
  // The row in which the process before this one has ended, if it has not handed over.
  std::optional<std::pair<std::string, int>> ended_in{};
};
// A row as kept_row_json() has it. With its law, for which its bench function is asked once more,
// up to what it runs. nlohmann::json::exception, std::exception: it is none.
Row kept_row(const nlohmann::ordered_json& line, const std::vector<Instance>& instances,
             Platform& platform, const BenchSettings& settings);
// UsageError: a row that cannot be read.
KeptRows kept_rows(const Journal& journal, const std::vector<Instance>& instances,
                   Platform& platform, const BenchSettings& settings);

}  // namespace gpubench
