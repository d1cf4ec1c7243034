#include "harness/measure/grouping.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "harness/measure/statistics.hpp"

namespace gpubench {
namespace {

constexpr double wanted_resolution = 0.001;  // of a run
constexpr std::size_t most_runs = 1024;      // in a group
// Readings of equal runs differ by up to one tick to either side of the truth.
constexpr double ticks_explained = 1.5;
constexpr double sigmas_explained = 5;

}  // namespace

void Grouping::look_at(std::span<const double> runs) {
  middle_ = median(runs);
  spread_ = ticks_explained * tick_ + sigmas_explained * robust_sigma(runs);
  if (group_ > 0) return;
  const double run = std::max(mean_of(runs), tick_ / 16);
  const double needed = tick_ > 0 ? std::ceil(tick_ / (wanted_resolution * run)) : 1;
  group_ = static_cast<std::size_t>(std::clamp(needed, 1.0, 1.0 * most_runs));
}

double Grouping::mean_of(std::span<const double> runs) const {
  double sum = 0;
  std::size_t count = 0;
  for (const double run : runs) {
    if (std::abs(run - middle_) > spread_) continue;
    sum += run;
    ++count;
  }
  // None is near the others: the device has changed its pace, and their own median says more.
  return count > 0 ? sum / static_cast<double>(count) : median(runs);
}

void Grouping::add(std::span<const double> seconds) {
  if (seconds.empty()) return;
  if (group_ != 1) look_at(seconds);
  runs_ += seconds.size();
  seconds_ += std::accumulate(seconds.begin(), seconds.end(), 0.0);
  if (group_ == 1) {
    samples_.insert(samples_.end(), seconds.begin(), seconds.end());
    return;
  }
  pending_.insert(pending_.end(), seconds.begin(), seconds.end());
  std::span<const double> left = pending_;
  for (; left.size() >= group_; left = left.subspan(group_)) {
    samples_.push_back(mean_of(left.first(group_)));
  }
  pending_.assign(left.begin(), left.end());
}

void Grouping::clear() {
  pending_.clear();
  samples_.clear();
  runs_ = 0;
  seconds_ = 0;
}

double Grouping::resolution() const {
  return group_ > 0 ? tick_ / static_cast<double>(group_) : tick_;
}

}  // namespace gpubench
