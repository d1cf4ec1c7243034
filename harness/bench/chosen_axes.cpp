#include "harness/bench/chosen_axes.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <system_error>

#include "harness/devices/spelling.hpp"
#include "harness/system/error.hpp"

namespace gpubench {
namespace {

constexpr std::size_t most_values = 1000;

[[noreturn]] void refuse(const std::string& text, const std::string& why) {
  throw UsageError("--axis='" + text + "': " + why);
}

std::string shown(const Argument& value) {
  return std::holds_alternative<std::string>(value) ? std::get<std::string>(value)
                                                    : std::to_string(std::get<std::int64_t>(value));
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

// "4096", "8M"; nullopt: something else.
std::optional<std::int64_t> number(std::string_view text) {
  constexpr std::string_view prefixes = "KMG";
  int shift = 0;
  if (!text.empty() && prefixes.find(text.back()) != std::string_view::npos) {
    shift = 10 * (static_cast<int>(prefixes.find(text.back())) + 1);
    text.remove_suffix(1);
  }
  std::int64_t value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool fits = value >= 0 && value <= (std::numeric_limits<std::int64_t>::max() >> shift);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size() || !fits) return std::nullopt;
  return value << shift;
}

// LOW:HIGH, LOW:HIGH:+STEP, LOW:HIGH:*FACTOR
void add_range(std::vector<Argument>& values, const std::string& item, const std::string& text) {
  const std::vector<std::string> parts = split(item, ':');
  const std::string step = parts.size() == 3 ? parts[2] : "+1";
  const auto low = number(parts[0]), high = number(parts.size() > 1 ? parts[1] : "");
  const auto by = number(std::string_view(step).substr(step.empty() ? 0 : 1));
  const bool multiplies = step.starts_with('*');
  const bool ends = by && (multiplies ? *by > 1 && low && *low > 0 : step[0] == '+' && *by > 0);
  if (parts.size() > 3 || item.ends_with(':') || !low || !high || *low > *high || !ends) {
    refuse(text, "'" + item + "' must be LOW:HIGH, LOW:HIGH:+STEP or LOW:HIGH:*FACTOR");
  }
  for (std::int64_t value = *low; value <= *high;) {
    if (values.size() == most_values) {
      refuse(text, "more than " + std::to_string(most_values) + " values");
    }
    values.emplace_back(value);
    const std::int64_t room = *high - value;  // no step beyond it, which could overflow
    if (multiplies ? room / value < *by - 1 : room < *by) break;
    value = multiplies ? value * *by : value + *by;
  }
}

const Argument* argument(const Instance& row, const std::string& axis) {
  const auto found = std::ranges::find(row.arguments, axis, &Arguments::value_type::first);
  return found == row.arguments.end() ? nullptr : &found->second;
}

std::vector<Instance> rows_of_kernel(const ChosenAxis& of, Suite suite) {
  std::vector<Instance> rows = instances(suite);
  std::erase_if(rows,
                [&](const Instance& i) { return i.topic != of.topic || i.kernel != of.kernel; });
  return rows;
}

// That rows of the kernel have, in their order.
std::vector<Argument> registered_values(const std::vector<Instance>& rows,
                                        const std::string& axis) {
  std::vector<Argument> values;
  for (const Instance& row : rows) {
    const Argument* const value = argument(row, axis);
    if (value != nullptr && std::ranges::find(values, *value) == values.end()) {
      values.push_back(*value);
    }
  }
  return values;
}

void check_is_there(const ChosenAxis& chosen, const std::vector<Instance>& rows) {
  if (rows.empty()) {
    std::set<std::string> kernels;
    for (const Instance& i : instances(Suite::full)) kernels.insert(i.topic + "/" + i.kernel);
    const std::string wanted = chosen.topic + "/" + chosen.kernel;
    const std::string meant = did_you_mean(wanted, {kernels.begin(), kernels.end()});
    refuse(chosen.text, "no kernel is called '" + wanted + "'" +
                            (meant.empty() ? "; --benchmark_list_tests lists them" : meant));
  }
  if (argument(rows.front(), chosen.axis) == nullptr) {
    std::string names;
    for (const auto& [name, value] : rows.front().arguments) {
      names += (names.empty() ? "" : ", ") + name;
    }
    refuse(chosen.text, "no axis of the kernel is called '" + chosen.axis + "'; " +
                            (names.empty() ? "it has none" : "it has " + names));
  }
}

// `range`: nullptr where only the values of its own rows are compiled.
void check_values(const ChosenAxis& chosen, const std::vector<Instance>& rows,
                  const AxisRange* range) {
  const std::vector<Argument> known = registered_values(rows, chosen.axis);
  for (const Argument& value : chosen.values) {
    if (std::ranges::find(known, value) != known.end()) continue;
    const std::int64_t* number = std::get_if<std::int64_t>(&value);
    if (range == nullptr || number == nullptr) {
      std::string names;
      for (const Argument& one : known) names += (names.empty() ? "" : ", ") + shown(one);
      refuse(chosen.text, "the kernel cannot take " + shown(value) + ": it has " + names);
    }
    if (*number < range->low || *number > range->high || *number % range->step != 0) {
      refuse(chosen.text,
             "the kernel cannot take " + shown(value) + ": it takes " +
                 (range->step > 1 ? "multiples of " + std::to_string(range->step) + " " : "") +
                 "from " + std::to_string(range->low) + " to " + std::to_string(range->high));
    }
  }
}

Instance with_value(Instance row, const std::string& axis, const Argument& value) {
  row.name = row.topic + "/" + row.kernel;
  row.is_roof = false;
  for (auto& [name, own] : row.arguments) {
    if (name == axis) own = value;
    row.name += "/" + name + ":" + shown(own);
  }
  return row;
}

// All of them in each value, one after the other, and no name twice.
std::vector<Instance> with_values(const std::vector<Instance>& rows, const ChosenAxis& chosen) {
  std::vector<Instance> result;
  std::set<std::string> names;
  for (const Argument& value : chosen.values) {
    for (const Instance& row : rows) {
      Instance made = with_value(row, chosen.axis, value);
      if (names.insert(made.name).second) result.push_back(std::move(made));
    }
  }
  return result;
}

bool is_chosen(const ChosenAxis& chosen, const Instance& row) {
  const Argument* const value = argument(row, chosen.axis);
  return value != nullptr && std::ranges::find(chosen.values, *value) != chosen.values.end();
}

// The rows of one kernel, of which all `chosen` are axes; empty where the suite has none such.
std::vector<Instance> rows_with(const std::vector<ChosenAxis>& chosen, Suite suite) {
  std::vector<Instance> rows = rows_of_kernel(chosen.front(), suite);
  std::vector<const ChosenAxis*> open;
  for (const ChosenAxis& one : chosen) {
    if (range_taken(one.topic, one.kernel, one.axis) != nullptr) {
      open.push_back(&one);
      continue;
    }
    std::erase_if(rows, [&](const Instance& row) { return !is_chosen(one, row); });
    if (!rows.empty() && registered_values(rows, one.axis).size() < one.values.size()) return {};
  }
  for (const ChosenAxis* one : open) rows = with_values(rows, *one);
  return rows;
}

// An axis that is there already gets the further values; none is there twice.
void add_values(std::vector<ChosenAxis>& axes, const ChosenAxis& one) {
  auto axis = std::ranges::find(axes, one.axis, &ChosenAxis::axis);
  if (axis == axes.end()) {
    axis = axes.insert(axes.end(), {one.text, one.topic, one.kernel, one.axis, {}});
  }
  for (const Argument& value : one.values) {
    if (std::ranges::find(axis->values, value) == axis->values.end()) axis->values.push_back(value);
  }
}

}  // namespace

ChosenAxis parse_axis(const std::string& text) {
  const auto equals = text.find('=');
  const std::vector<std::string> path = split(text.substr(0, equals), '/');
  if (equals == std::string::npos || path.size() != 3 || text.ends_with('=') ||
      text.ends_with(',')) {
    refuse(text,
           "must be CONCEPT/KERNEL/AXIS=VALUES, such as coalescing/strided_read/stride=3,5,7");
  }
  ChosenAxis chosen{text, path[0], path[1], path[2], {}};
  for (const std::string& item : split(text.substr(equals + 1), ',')) {
    if (item.empty()) refuse(text, "there is no value before one of its commas");
    if (item.find(':') != std::string::npos) {
      add_range(chosen.values, item, text);
    } else if (const auto value = number(item)) {
      chosen.values.emplace_back(*value);
    } else {
      chosen.values.emplace_back(item);
    }
  }
  return chosen;
}

std::vector<Instance> chosen_rows(const std::vector<ChosenAxis>& chosen, Suite suite) {
  std::vector<std::pair<std::string, std::vector<ChosenAxis>>> kernels;
  for (const ChosenAxis& one : chosen) {
    const std::vector<Instance> rows = rows_of_kernel(one, Suite::full);
    check_is_there(one, rows);
    check_values(one, rows, range_taken(one.topic, one.kernel, one.axis));
    const std::string kernel = one.topic + "/" + one.kernel;
    auto found = std::ranges::find(kernels, kernel, [](const auto& pair) { return pair.first; });
    if (found == kernels.end())
      found = kernels.emplace(kernels.end(), kernel, std::vector<ChosenAxis>{});
    add_values(found->second, one);
  }
  std::vector<Instance> all;
  for (const auto& [kernel, axes] : kernels) {
    std::vector<Instance> rows = rows_with(axes, suite);
    if (rows.empty()) rows = rows_with(axes, Suite::full);
    if (rows.empty()) refuse(axes.back().text, "no row of the kernel has all of these values");
    all.insert(all.end(), rows.begin(), rows.end());
  }
  return all;
}

}  // namespace gpubench
