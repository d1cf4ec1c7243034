#include "harness/evidence/watch.hpp"

#include <cstddef>
#include <iomanip>
#include <sstream>
#include <vector>

#include "harness/statistics/statistics.hpp"

namespace gpubench {
namespace {

constexpr std::size_t fewest_moments = 9;  // two in each quarter, and the first
constexpr double pace_tolerance = 0.02;
constexpr double clock_tolerance = 0.01;

// What one end of the watch was like.
struct End {
  double rate = 0;
  Health health;
};

End end_of(std::span<const Moment> moments) {
  std::vector<double> rates;
  std::vector<HealthSample> health;
  for (const Moment& moment : moments) {
    rates.push_back(moment.rate);
    health.push_back(moment.health);
  }
  return {median(rates), judge(health)};
}

std::string percent(double fraction) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(1) << 100 * fraction << " %";
  return text.str();
}

}  // namespace

Judgement judge_watch(std::span<const Moment> moments) {
  if (moments.size() < fewest_moments) {
    return {Cause::unknown, "too short to tell: " + std::to_string(moments.size()) + " samples"};
  }
  const std::size_t quarter = (moments.size() - 1) / 4;
  const End first = end_of(moments.subspan(1, quarter));
  const End last = end_of(moments.last(quarter));
  const double lost = 1 - last.rate / first.rate;
  const std::string& reasons = last.health.words;
  const std::string because = reasons.empty() ? "" : ": " + reasons;
  if (lost < -pace_tolerance) {
    return {Cause::none, "throughput rose " + percent(-lost) + ": it had not settled" + because};
  }
  const bool slower = lost > pace_tolerance;
  if (!first.health.sm_clock_hz || !last.health.sm_clock_hz) {
    if (!slower) return {Cause::none, "steady; nobody tells the clock"};
    return {Cause::unknown, "throughput fell " + percent(lost) + ", and nobody tells the clock"};
  }
  const double clock_lost = 1 - *last.health.sm_clock_hz / *first.health.sm_clock_hz;
  const bool clock_fell = clock_lost > clock_tolerance;
  if (!slower && !clock_fell) {
    return {Cause::none, reasons.empty() ? "steady" : "steady, but held back" + because};
  }
  if (!slower) {
    return {Cause::none,
            "the clock fell " + percent(clock_lost) + " and throughput did not follow" + because};
  }
  if (!clock_fell) {
    return {Cause::code, "the code, or who shares the machine with it: throughput fell " +
                             percent(lost) + " at the same clock" + because};
  }
  const std::string with_clock = "throughput fell " + percent(lost) + ", the clock " +
                                 percent(clock_lost) +
                                 (reasons.empty() ? ", and the driver gives no reason" : because);
  if (lost > 1.5 * clock_lost + pace_tolerance) {
    return {Cause::both, "the silicon, and something else too: " + with_clock};
  }
  return {Cause::silicon, "the silicon: " + with_clock};
}

}  // namespace gpubench
