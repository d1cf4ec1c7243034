#include "harness/devices/spelling.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace gpubench {

std::string in_quotes(std::string_view text) { return '"' + std::string(text) + '"'; }

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const auto& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

std::string did_you_mean(std::string_view wanted, const std::vector<std::string>& names) {
  if (names.empty()) return "";
  const std::string closest = closest_first(names, wanted).front();
  const std::size_t allowed = std::max<std::size_t>(2, wanted.size() / 4);
  const bool close = closest.starts_with(wanted) || edit_distance(closest, wanted) <= allowed;
  return close ? "; did you mean " + closest + "?" : "";
}

std::vector<std::string> closest_first(std::vector<std::string> names, std::string_view wanted) {
  // A name that begins as wanted is closer than any typing error.
  std::ranges::stable_sort(names, {}, [&](const auto& name) {
    return std::pair(!name.starts_with(wanted), edit_distance(name, wanted));
  });
  return names;
}

}  // namespace gpubench
