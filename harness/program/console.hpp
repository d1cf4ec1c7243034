// A run as a table for people.
#pragma once

#include <string>
#include <vector>

#include "harness/program/results.hpp"
#include "harness/program/roofs.hpp"
#include "harness/program/row_table.hpp"

namespace gpubench {

// "gpubench: NVIDIA H200: MODELLED, ...": what every table begins with.
std::string headline_text(const nlohmann::ordered_json& context);
std::string terms_line(const Row& row);
// Aggregates of the rows that were repeated and measured every time; `width`: of the name column.
std::string console_aggregates(const Results& results, std::size_t width);
// The table as a file: which device, and whether it was modelled, first.
std::string console_text(const Results& results, const Options& options, const RowTable& table);
// The roofs as a table: what was measured or modelled, the data sheet's figure, the fraction.
std::string roofs_text(const std::vector<StatedRoof>& stated);

}  // namespace gpubench
