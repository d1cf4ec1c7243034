#include "harness/program/grades.hpp"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <map>
#include <optional>
#include <sstream>
#include <tuple>

#include "harness/program/results.hpp"
#include "harness/records/grading_limits.hpp"
#include "harness/records/model_error.hpp"

namespace gpubench {
namespace {

constexpr double widest_law_tolerance = 0.95;

// What a row is compared with, and the shares of it that are as expected.
struct Yardstick {
  std::string words;
  double share, low, high;
  bool is_of_roofs;  // the run's roofs are part of it
};

// The factor by which a measured row may be off the prediction: two standard deviations of the
// model's error for its class.
double model_edge(const Row& row) { return std::exp(2 * model_sigma(row.topic, row.kernel)); }

// The first that is known: its law, the model's prediction, its roof.
std::optional<Yardstick> yardstick_of(const Row& row, bool measured) {
  const GradingLimits& limits = grading_limits();
  if (const double reached = share_of_law(row); reached > 0) {
    const double stated = row.counter("law_tolerance").value_or(0);
    const double tolerance = std::min(stated > 0 ? stated : limits.law, widest_law_tolerance);
    double low = 1 - tolerance, high = 1 + tolerance;
    if (measured && has_model_sigma(row.topic)) {
      // The model is held to a law closely, since both leave out the same; a device is not.
      const double edge = model_edge(row);
      low = std::min(low, 1 / edge), high = std::max(high, edge);
    }
    return Yardstick{"the predicted limit", reached, low, high, true};
  }
  if (const double model = row.counter("model_seconds").value_or(0); measured && model > 0) {
    const double edge = model_edge(row);
    return Yardstick{"the model's prediction", model / row.median_seconds, 1 / edge, edge, false};
  }
  if (const double share = row.counter("roof_fraction").value_or(0); share > 0) {
    return Yardstick{row.bound.empty() ? "its roof" : "its " + row.bound + " roof", share,
                     limits.roof_low, limits.roof_high, true};
  }
  return std::nullopt;
}

// Whether only a data sheet states the roof, or a measured run has to assume it: a data sheet
// promises more than any pattern gets, so that a row below is not known to be slow.
bool is_unproven(const std::string& name, const std::vector<StatedRoof>& roofs, bool measured) {
  bool is_stated = false;
  for (const StatedRoof& roof : roofs) {
    if (roof.name != name) continue;
    is_stated = true;
    const bool unproven =
        roof.provenance == "data_sheet" || (measured && roof.provenance == "assumed");
    if (!unproven) return false;
  }
  return is_stated;
}

// What gpubench-report names first: rows that measure a roof, since others lean on them, then by
// the time they lose.
bool is_worse(const Row* a, const Row* b) {
  const auto rank = [](const Row* row) {
    return std::tuple(row->measures.empty(), -row->graded.lost, -row->graded.severity);
  };
  return rank(a) < rank(b);
}

std::string in_percent(double share) {
  std::ostringstream text;
  text << std::setprecision(3) << share * 100 << " %";
  return text.str();
}

}  // namespace

double share_of_law(const Row& row) {
  const double ratio = row.counter("law_ratio").value_or(0);
  if (ratio <= 0) return 0;
  return row.headline.lower_is_better ? 1 / ratio : ratio;
}

Graded grade_of(const Row& row, const std::vector<StatedRoof>& roofs, DeviceKind kind) {
  const bool measured = kind == DeviceKind::cuda;
  const std::optional<Yardstick> by = yardstick_of(row, measured);
  if (!by) return {};
  Graded graded{Grade::expected, by->share, by->words};
  if (by->share > by->high) {
    graded.grade = Grade::high;
  } else if (by->share < by->low) {
    graded.grade = row.words.contains("demonstrates") ? Grade::on_purpose : Grade::low;
    if (by->is_of_roofs && is_unproven(row.bound, roofs, measured)) {
      graded.grade = Grade::ungraded;
      return graded;
    }
  }
  graded.lost = std::max(0.0, 1 - by->share / by->low);
  // The distance from 1 over the allowed one, as logarithms: half is as far as twice.
  const double edge = by->share < 1 ? by->low : by->high;
  graded.severity = edge == 1 ? 0 : std::abs(std::log(by->share) / std::log(edge));
  return graded;
}

std::string grades_text(const std::vector<Row>& rows, const std::string& report) {
  std::map<Grade, std::size_t> counts;
  const Row* worst = nullptr;
  for (const Row* row : one_of_each_name(rows)) {
    if (row->outcome != Outcome::measured) continue;
    ++counts[row->graded.grade];
    if (is_off(row->graded.grade) && (worst == nullptr || is_worse(row, worst))) worst = row;
  }
  if (counts.empty()) return "";
  std::ostringstream text;
  for (const auto& [grade, count] : counts) {
    text << (text.tellp() > 0 ? ", " : "") << count << ' ' << words_of(grade);
  }
  if (worst != nullptr) {
    text << "; worst: " << worst->name << ", " << in_percent(worst->graded.share) << " of "
         << worst->graded.yardstick;
  }
  if (!report.empty()) text << "; report: " << report;
  text << '\n';
  return text.str();
}

std::string regraded_text(const std::vector<Row>& rows,
                          const std::map<std::string, Grade>& said_before) {
  constexpr std::size_t most = 5;
  std::ostringstream text;
  std::size_t count = 0;
  for (const Row* row : one_of_each_name(rows)) {
    const auto before = said_before.find(row->name);
    if (before == said_before.end() || is_off(before->second) == is_off(row->graded.grade))
      continue;
    if (++count > most) continue;
    text << "  " << row->name << ": " << words_of(row->graded.grade) << ", not "
         << words_of(before->second) << '\n';
  }
  if (count == 0) return "";
  if (count > most) text << "  and " << count - most << " more\n";
  return "now that all roofs are known:\n" + text.str();
}

}  // namespace gpubench
