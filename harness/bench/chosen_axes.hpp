// Rows with values of the user's own: --axis=coalescing/strided_read/stride=3,5,7.
#pragma once

#include <string>
#include <vector>

#include "harness/bench/registry.hpp"

namespace gpubench {

struct ChosenAxis {
  std::string text;  // as it was given
  std::string topic, kernel, axis;
  std::vector<Argument> values;
};

// CONCEPT/KERNEL/AXIS=VALUES, with VALUES separated by commas: a word, a number, LOW:HIGH, with
// steps LOW:HIGH:+STEP, by a factor LOW:HIGH:*FACTOR; K, M and G multiply by powers of 1024.
// UsageError: it is none of these.
ChosenAxis parse_axis(const std::string& text);

// The rows of the kernels that are named, as `suite` has them (or the full one, where it lacks what
// is chosen), with the chosen values instead of their own. UsageError: there is no such kernel or
// axis, or the kernel cannot take a value.
std::vector<Instance> chosen_rows(const std::vector<ChosenAxis>& chosen, Suite suite);

}  // namespace gpubench
