// Which rows the options ask for.
#pragma once

#include <vector>

#include "harness/bench/registry.hpp"
#include "harness/program/options.hpp"

namespace gpubench {

// UsageError: there are none, the filter is no regular expression, or --explain cannot be had.
std::vector<Instance> choose_rows(const Options& options);

}  // namespace gpubench
