#include "harness/bench/registry.hpp"

#include <algorithm>
#include <deque>
#include <stdexcept>

#include "harness/system/source_path.hpp"

namespace gpubench {
namespace {

std::deque<Registration>& registrations() {  // a deque: recorded pointers stay valid
  static std::deque<Registration> all;
  return all;
}

// Appends every combination of one value from each list, the last varying fastest.
template <class T>
std::vector<std::vector<T>> product(const std::vector<std::vector<T>>& lists) {
  std::vector<std::vector<T>> result{{}};
  for (const auto& list : lists) {
    std::vector<std::vector<T>> longer;
    for (const auto& begun : result) {
      for (const T& value : list) {
        longer.push_back(begun);
        longer.back().push_back(value);
      }
    }
    result = std::move(longer);
  }
  return result;
}

}  // namespace

std::vector<std::int64_t> dense_range(std::int64_t low, std::int64_t high, int step) {
  std::vector<std::int64_t> values;
  for (std::int64_t value = low; value <= high; value += step) values.push_back(value);
  return values;
}

std::string SourceLine::text() const {
  return line == 0 ? "" : source_path(file) + ':' + std::to_string(line);
}

Registration::Registration(std::string topic, std::string kernel, BenchFunction function,
                           SourceLine where)
    : topic_(std::move(topic)), kernel_(std::move(kernel)), function_(function), where_(where) {}

// "stride [words]" -> "stride", whose unit is noted.
std::string Registration::unit_taken(const std::string& axis) {
  const auto bracket = axis.find(" [");
  if (bracket == std::string::npos) return axis;
  if (axis.back() != ']') throw std::logic_error("axis '" + axis + "' has a '[' and no ']'");
  std::string name = axis.substr(0, bracket);
  units_[name] = axis.substr(bracket + 2, axis.size() - bracket - 3);
  return name;
}

Registration* Registration::ArgName(const std::string& name) { return ArgNames({name}); }

Registration* Registration::ArgName(const std::string& name, AxisRange range) {
  return ArgName(name)->Takes(names_.back(), range);
}

Registration* Registration::Arg(std::int64_t value) { return Args({value}); }

Registration* Registration::ArgNames(const std::vector<std::string>& names) {
  names_.clear();
  for (const std::string& name : names) names_.push_back(unit_taken(name));
  return this;
}

Registration* Registration::Args(const std::vector<std::int64_t>& values) {
  parts_.back().numbers.push_back(values);
  return this;
}

Registration* Registration::Each(const std::vector<std::int64_t>& values) {
  for (const std::int64_t value : values) Arg(value);
  return this;
}

Registration* Registration::Rows(const std::vector<std::vector<std::int64_t>>& values) {
  for (const auto& row : values) Args(row);
  return this;
}

Registration* Registration::Range(std::int64_t low, std::int64_t high, int factor) {
  if (low < 1 || factor < 2) {
    throw std::logic_error(topic_ + ": no range of steps by " + std::to_string(factor) + " from " +
                           std::to_string(low));
  }
  for (std::int64_t value = low; value <= high; value *= factor) Arg(value);
  return this;
}

Registration* Registration::DenseRange(std::int64_t low, std::int64_t high, int step) {
  return Each(dense_range(low, high, step));
}

Registration* Registration::ArgsProduct(const std::vector<std::vector<std::int64_t>>& lists) {
  return Rows(product(lists));
}

Registration* Registration::Axis(const std::string& name, const std::vector<std::string>& values) {
  const std::string plain = unit_taken(name);
  auto& axes = parts_.back().axes;
  const auto found = std::ranges::find(axes, plain, &Words::first);
  if (found == axes.end()) {
    axes.emplace_back(plain, values);
  } else {
    found->second = values;
  }
  return this;
}

Registration* Registration::In(Suite suite) {
  parts_.back().suite = suite;
  return this;
}

Registration* Registration::Rest(Suite suite) {
  // Where no number has been given, this is the beginning.
  if (names_.empty() || !parts_.back().numbers.empty()) {
    parts_.push_back({.axes = parts_.front().axes});
  }
  return In(suite);
}

Registration* Registration::Takes(const std::string& axis, AxisRange range) {
  if (std::ranges::find(names_, axis) == names_.end() || range.low > range.high || range.step < 1) {
    throw std::logic_error(topic_ + "/" + kernel_ + ": no range for its axis '" + axis + "'");
  }
  ranges_[axis] = range;
  return this;
}

const AxisRange* Registration::range_of(const std::string& topic, const std::string& kernel,
                                        const std::string& axis) const {
  if (topic != topic_ || kernel != kernel_) return nullptr;
  const auto found = ranges_.find(axis);
  return found == ranges_.end() ? nullptr : &found->second;
}

Registration* Registration::ForRoofs(const std::vector<std::int64_t>& values) {
  Part& part = parts_.back();
  part.for_roofs = true;
  if (!values.empty()) part.roof_numbers.push_back(values);
  return this;
}

Registration* Registration::Functions(
    const std::string& axis, const std::vector<std::pair<std::string, BenchFunction>>& functions) {
  std::vector<std::string> values;
  for (const auto& [value, function] : functions) {
    values.push_back(value);
    functions_[value] = function;
  }
  function_axis_ = unit_taken(axis);
  return Axis(function_axis_, values);
}

std::vector<std::string> Registration::axis_values(const std::string& name) const {
  const auto& axes = parts_.front().axes;
  const auto found = std::ranges::find(axes, name, &Words::first);
  if (found == axes.end()) throw std::logic_error(topic_ + ": no axis '" + name + "'");
  return found->second;
}

BenchFunction Registration::function_of(const Arguments& arguments) const {
  if (function_axis_.empty()) return function_;
  const auto argument = std::ranges::find(arguments, function_axis_, &Arguments::value_type::first);
  const auto found = functions_.find(std::get<std::string>(argument->second));
  if (found == functions_.end()) {
    throw std::logic_error(topic_ + "/" + kernel_ + ": its axis '" + function_axis_ +
                           "' has no value '" + std::get<std::string>(argument->second) + "'");
  }
  return found->second;
}

Instance Registration::instance(const Part& part, const std::vector<std::string>& words,
                                const std::vector<std::int64_t>& numbers) const {
  if (numbers.size() != names_.size()) {
    throw std::logic_error(topic_ + "/" + kernel_ + ": " + std::to_string(numbers.size()) +
                           " values for " + std::to_string(names_.size()) + " named arguments");
  }
  Instance i{.name = topic_ + "/" + kernel_,
             .topic = topic_,
             .kernel = kernel_,
             .arguments = {},
             .axis_units = units_,
             .source = where_.text(),
             .suite = part.suite};
  i.is_roof =
      part.for_roofs && (part.roof_numbers.empty() ||
                         std::ranges::find(part.roof_numbers, numbers) != part.roof_numbers.end());
  bool taste = part.suite != Suite::full;
  for (std::size_t a = 0; a < words.size(); ++a) {
    const auto& [axis, all] = part.axes[a];
    i.arguments.emplace_back(axis, words[a]);
    i.name += "/" + axis + ":" + words[a];
    taste = taste && (words[a] == all.front() || words[a] == all.back());
  }
  for (std::size_t a = 0; a < numbers.size(); ++a) {
    i.arguments.emplace_back(names_[a], numbers[a]);
    i.name += "/" + names_[a] + ":" + std::to_string(numbers[a]);
    taste =
        taste && (numbers[a] == part.numbers.front()[a] || numbers[a] == part.numbers.back()[a]);
  }
  if (taste) i.suite = Suite::quick;
  i.function = function_of(i.arguments);
  return i;
}

void Registration::add_instances(const Part& part, std::vector<Instance>& instances) const {
  std::vector<std::vector<std::string>> words;
  for (const auto& [axis, values] : part.axes) words.push_back(values);
  const auto numbers = part.numbers.empty() ? decltype(part.numbers){{}} : part.numbers;
  const auto before = static_cast<std::ptrdiff_t>(instances.size());
  for (const auto& combination : product(words)) {
    for (const auto& values : numbers) {
      Instance added = instance(part, combination, values);
      const auto end = instances.begin() + before;
      if (std::find_if(instances.begin(), end,
                       [&](const Instance& i) { return i.name == added.name; }) == end) {
        instances.push_back(std::move(added));
      }
    }
  }
}

std::vector<Instance> Registration::instances() const {
  std::vector<Instance> result;
  for (const Part& part : parts_) add_instances(part, result);
  return result;
}

Registration* record(const char* topic, const char* kernel, SourceLine where,
                     BenchFunction function) {
  return &registrations().emplace_back(topic, kernel, function, where);
}

const AxisRange* range_taken(const std::string& topic, const std::string& kernel,
                             const std::string& axis) {
  for (const Registration& r : registrations()) {
    if (const AxisRange* range = r.range_of(topic, kernel, axis)) return range;
  }
  return nullptr;
}

std::vector<Instance> instances(Suite suite) {
  std::vector<Instance> all;
  for (const Registration& r : registrations()) {
    for (Instance& i : r.instances()) {
      if (i.suite <= suite) all.push_back(std::move(i));
    }
  }
  // Bench files are linked in any order; their rows are listed in one.
  std::stable_sort(all.begin(), all.end(),
                   [](const Instance& a, const Instance& b) { return a.topic < b.topic; });
  return all;
}

}  // namespace gpubench
