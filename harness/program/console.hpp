// A run as a table for people.
#pragma once

#include <string>
#include <vector>

#include "harness/program/results.hpp"
#include "harness/program/roofs.hpp"

namespace gpubench {

// With the prefix that leaves one to three digits before the point: "4.31 T".
std::string with_prefix(double value, const std::string& unit);

// "gpubench: NVIDIA H200: MODELLED, ...": what every table begins with.
std::string headline_text(const nlohmann::ordered_json& context);
std::string console_header(std::size_t width);  // `width`: of the name column
std::string console_line(const Row& row, std::size_t width);
std::string terms_line(const Row& row);
// How many rows are as close to their law as they should be, and which is the farthest; empty where
// none has a law.
std::string laws_text(const std::vector<Row>& rows);
// Aggregates of the rows that were repeated and measured every time.
std::string console_aggregates(const Results& results, std::size_t width);
// The table as a file: which device, and whether it was modelled, first.
std::string console_text(const Results& results, const Options& options, std::size_t width);
// The roofs as a table: what was measured or modelled, the data sheet's figure, the fraction.
std::string roofs_text(const std::vector<StatedRoof>& stated);

}  // namespace gpubench
