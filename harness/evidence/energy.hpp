// A GPU's energy between two steps of its counter, and how far off that may be.
//
// The counter stands still between steps, and no document says for how long: 10 to 100 ms have been
// seen. So a span begins and ends at a step, not at a reading. When a step was is known but for the
// time between the two readings that enclose it, however long the counter stood still.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace gpubench {

struct EnergySettings {
  double lead_seconds = 0.2;     // of steady work, before a step counts
  double least_seconds = 1;      // that a span lasts,
  std::size_t least_steps = 10;  // in so many steps
  double most_error = 0.01;      // of the energy; a span goes on until it is no greater
  double limit_seconds = 15;     // of readings; a span that has not ended by then has no figure
};

struct EnergySpan {
  double joules = 0;
  double seconds = 0;
  double error = 0;  // of joules / seconds, either way, as a fraction
};

class EnergyMeter {
 public:
  explicit EnergyMeter(const EnergySettings& settings = {}) : settings_(settings) {}

  // The counter [J], for which somebody asked at one time of the host's clock and got the answer at
  // the other [s]; absent: the driver refused. The first reading is the beginning of steady work.
  void read(double asked, double answered, std::optional<double> joules);

  bool has_begun() const { return first_.has_value(); }
  bool has_ended() const { return span_.has_value() || !why_none_.empty(); }
  const std::optional<EnergySpan>& span() const { return span_; }
  const std::string& why_none() const { return why_none_; }  // empty: it has a span, or goes on

 private:
  struct Reading {
    double asked, joules;
  };
  struct Step {
    double seconds, either_way, joules;
  };
  void take(const Step& step);

  EnergySettings settings_;
  std::optional<double> began_;
  std::optional<Reading> last_;
  std::optional<Step> first_;
  std::size_t steps_ = 0;  // since the first
  std::optional<EnergySpan> span_;
  std::string why_none_;
};

}  // namespace gpubench
