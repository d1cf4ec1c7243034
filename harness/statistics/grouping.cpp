#include "harness/statistics/grouping.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "harness/statistics/statistics.hpp"

namespace gpubench {
namespace {

constexpr double wanted_resolution = 0.001;  // of a run
constexpr std::size_t most_runs = 1024;      // in a group
// A run of the middle's length reads less than a tick more or less; what noise adds to that.
constexpr double ticks_explained = 1.1;
constexpr double sigmas_explained = 5;
// The robust sigma of readings whose runs are all alike, in ticks, at most.
constexpr double sigma_of_ticks = 0.75;

}  // namespace

void Grouping::look_at(std::span<const double> runs) {
  const double noise = robust_sigma(runs), of_ticks = sigma_of_ticks * tick_;
  const double sigma = std::sqrt(std::max(0.0, noise * noise - of_ticks * of_ticks));
  spread_ = ticks_explained * tick_ + sigmas_explained * sigma;
  middle_ = median(runs);
  middle_ = mean_of(runs);  // between two readings, where it may well lie
  if (group_ > 0) return;
  const double run = std::max(middle_, tick_ / 16);
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
  for (const double run : seconds) {
    const double beyond = run - middle_ - spread_;
    if (beyond > 0 && beyond <= tick_) ++just_beyond_;
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
  just_beyond_ = 0;
  seconds_ = 0;
}

double Grouping::resolution() const {
  if (group_ <= 1) return tick_;
  // Runs that are longer by less than a tick cannot be told from the others, and are in the mean.
  // With an exponential tail they bring 1 to 2.5 times what the next tick shows of it.
  constexpr double hidden = 2;
  const double shown = static_cast<double>(just_beyond_) / static_cast<double>(runs_);
  return tick_ / static_cast<double>(group_) + hidden * shown * tick_;
}

}  // namespace gpubench
