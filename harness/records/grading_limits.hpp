// How far rows may be from what they are graded by: the numbers of the reports' own rules
// (reports/gpubench_reports/rules), compiled in, so that console and report use the same.
#pragma once

namespace gpubench {

struct GradingLimits {
  double law;        // from its law, where a row states no tolerance of its own
  double roof_low;   // the least share of its roof, where nothing better is known
  double roof_high;  // above this share a roof cannot be the one that binds
};

const GradingLimits& grading_limits();

}  // namespace gpubench
