// How far rows may be from what they are graded by: the numbers of the reports' own rules
// (reports/gpubench_reports/rules), compiled in, so that console and report use the same.
#pragma once

#include <map>
#include <string>

namespace gpubench {

struct GradingLimits {
  double law;                // from its law, where a row states no tolerance of its own
  double roof_low;           // the least share of its roof, where nothing better is known
  double roof_high;          // above this share a roof cannot be the one that binds
  double other_model_error;  // of concepts that are not in `model_error`
  // By concept: the standard deviation of the logarithm of the measured over the modelled time.
  std::map<std::string, double> model_error;
};

const GradingLimits& grading_limits();

}  // namespace gpubench
