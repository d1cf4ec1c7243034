// How good rows are: graded as gpubench-report grades them (rules/verdicts/judge.py), by the same
// limits. Tests hold the two against each other.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/platform/platform.hpp"
#include "harness/program/roofs.hpp"
#include "harness/records/row.hpp"

namespace gpubench {

// How much of its law a row reaches, a time too: below 1 is slower. 0: it has none.
double share_of_law(const Row& row);

// The grade of a row that is judged by these roofs.
Graded grade_of(const Row& row, const std::vector<StatedRoof>& roofs, DeviceKind kind);

// How many rows have which grade, which one is the worst, and how to get the report: the last
// sentence of a run. Empty where nothing was measured.
std::string grades_text(const std::vector<Row>& rows, const std::string& report);

// The rows that the console has called fine, and are not by the roofs of the whole run, or the
// other way round; empty where there are none.
std::string regraded_text(const std::vector<Row>& rows,
                          const std::map<std::string, Grade>& said_before);

}  // namespace gpubench
