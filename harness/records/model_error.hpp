// How far off the model's times are, by what they were compared with: the table of the reports,
// rules/model_error.toml.
#pragma once

#include <string>

namespace gpubench {

// For the rows of one kernel of a concept: the standard deviation of the logarithm of the measured
// over the modelled time, by the class that the row belongs to.
double model_sigma(const std::string& topic, const std::string& kernel);
// Whether the table has a figure for this concept, and not only for all others.
bool has_model_sigma(const std::string& topic);

}  // namespace gpubench
