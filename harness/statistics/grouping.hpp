// Samples from single runs: where the events' clock ticks too slowly for one run, a sample is the
// mean of a group of runs that began at random moments of a tick.
//
// A run of 2.3 ticks reads 2 or 3, and 3 in three runs of ten if its beginning is spread evenly
// over the tick: the mean of many is right although no reading is. So a group is large enough that
// one reading more or less moves its mean by no more than a thousandth. Runs that are off by more
// than ticks and ordinary noise explain (an interrupt, a tenant) are left out of their group's
// mean, as a median would.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace gpubench {

class Grouping {
 public:
  // `tick_seconds`: 0 where events have none.
  explicit Grouping(double tick_seconds) : tick_(tick_seconds) {}

  // Runs, as the events told them, in order. The first call decides how many make a group.
  void add(std::span<const double> seconds);
  // Forgets the samples, and keeps the size of a group.
  void clear();

  const std::vector<double>& samples() const { return samples_; }
  std::size_t group() const { return group_; }  // runs in a sample; 0: not known yet
  // How far ticks may move the median of the samples, either way.
  double resolution() const;
  std::size_t runs() const { return runs_; }          // since the last clear()
  double device_seconds() const { return seconds_; }  // likewise, of the runs

 private:
  double mean_of(std::span<const double> runs) const;
  void look_at(std::span<const double> runs);

  double tick_;
  std::size_t group_ = 0;
  double middle_ = 0, spread_ = 0;  // of single runs
  std::vector<double> pending_;
  std::vector<double> samples_;
  std::size_t runs_ = 0;
  std::size_t just_beyond_ = 0;  // of them: too long for a group, by no more than a tick
  double seconds_ = 0;
};

}  // namespace gpubench
