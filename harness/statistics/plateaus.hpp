// Where a curve is flat, and where it steps: the edges of caches, found in measured latencies.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace gpubench {

struct CurvePoint {
  double size = 0;
  double value = 0;
};

// A stretch of at least three points within `spread` of each other.
struct Plateau {
  std::size_t first = 0, last = 0;  // points
  double level = 0;                 // their median
};

// A rise from one plateau to the next.
struct Step {
  double last_below = 0;   // the last size on the lower plateau, no more than 6 % above its level
  double first_above = 0;  // the first that is not on it
  double before = 0, after = 0;
};

// Of a curve whose sizes ascend. Noise of a few per cent is flat; plateaus of less than a quarter's
// difference are one.
std::vector<Plateau> plateaus(std::span<const CurvePoint> curve, double spread = 0.12);
std::vector<Step> steps(std::span<const CurvePoint> curve, double spread = 0.12);

// The largest size whose value is still that before the step, or no more than 6 % above: bisects
// between `last_below` and `first_above`, asking `value_at` for `times` more points.
double edge_of(const Step& step, const std::function<double(double size)>& value_at,
               unsigned times);

}  // namespace gpubench
