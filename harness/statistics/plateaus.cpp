#include "harness/statistics/plateaus.hpp"

#include <algorithm>
#include <cmath>

namespace gpubench {
namespace {

constexpr std::size_t fewest_points = 3;
constexpr double least_rise = 1.25;
// Beyond this multiple of its level a plateau is over.
constexpr double departure = 1.06;

double level_of(std::span<const CurvePoint> points) {
  std::vector<double> values;
  for (const CurvePoint& p : points) values.push_back(p.value);
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

// The longest flat stretch of [begin, end) and, on either side of it, those of the rest.
void find(std::span<const CurvePoint> curve, std::size_t begin, std::size_t end, double spread,
          std::vector<Plateau>& found) {
  std::size_t best_first = begin, best_length = 0;
  for (std::size_t first = begin; first < end; ++first) {
    double least = curve[first].value, most = least;
    std::size_t last = first;
    for (std::size_t i = first; i < end; ++i) {
      least = std::min(least, curve[i].value);
      most = std::max(most, curve[i].value);
      if (most > (1 + spread) * least) break;
      last = i;
    }
    if (last + 1 - first > best_length) {
      best_length = last + 1 - first;
      best_first = first;
    }
  }
  if (best_length < fewest_points) return;
  const std::size_t best_end = best_first + best_length;
  find(curve, begin, best_first, spread, found);
  found.push_back({best_first, best_end - 1, level_of(curve.subspan(best_first, best_length))});
  find(curve, best_end, end, spread, found);
}

}  // namespace

std::vector<Plateau> plateaus(std::span<const CurvePoint> curve, double spread) {
  std::vector<Plateau> found, joined;
  find(curve, 0, curve.size(), spread, found);
  for (const Plateau& p : found) {
    if (joined.empty() || p.level > least_rise * joined.back().level) {
      joined.push_back(p);
    } else {
      joined.back().last = p.last;
    }
  }
  return joined;
}

std::vector<Step> steps(std::span<const CurvePoint> curve, double spread) {
  const std::vector<Plateau> flat = plateaus(curve, spread);
  std::vector<Step> found;
  for (std::size_t i = 0; i + 1 < flat.size(); ++i) {
    found.push_back(
        {curve[flat[i].last].size, curve[flat[i].last + 1].size, flat[i].level, flat[i + 1].level});
  }
  return found;
}

double edge_of(const Step& step, const std::function<double(double size)>& value_at,
               unsigned times) {
  double low = step.last_below, high = step.first_above;
  for (unsigned i = 0; i < times; ++i) {
    const double middle = std::sqrt(low * high);
    (value_at(middle) <= departure * step.before ? low : high) = middle;
  }
  return low;
}

}  // namespace gpubench
