// A run as CSV: one line per row, a column per counter.
#pragma once

#include <string>

#include "harness/program/results.hpp"

namespace gpubench {

std::string result_csv(const Results& results, const Options& options);

}  // namespace gpubench
