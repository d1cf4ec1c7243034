#include "harness/bench/registry.hpp"

#include <algorithm>
#include <deque>
#include <stdexcept>

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

Registration::Registration(std::string topic, std::string kernel, BenchFunction function)
    : topic_(std::move(topic)), kernel_(std::move(kernel)), function_(function) {}

Registration* Registration::ArgName(const std::string& name) { return ArgNames({name}); }

Registration* Registration::Arg(std::int64_t value) { return Args({value}); }

Registration* Registration::ArgNames(const std::vector<std::string>& names) {
  names_ = names;
  return this;
}

Registration* Registration::Args(const std::vector<std::int64_t>& values) {
  values_.push_back(values);
  return this;
}

Registration* Registration::RangeMultiplier(int multiplier) {
  multiplier_ = multiplier;
  return this;
}

Registration* Registration::Range(std::int64_t low, std::int64_t high) {
  Arg(low);
  for (std::int64_t value = 1; value < high; value *= multiplier_) {
    if (value > low) Arg(value);
  }
  if (high != low) Arg(high);
  return this;
}

Registration* Registration::DenseRange(std::int64_t low, std::int64_t high, int step) {
  for (std::int64_t value = low; value <= high; value += step) Arg(value);
  return this;
}

Registration* Registration::ArgsProduct(const std::vector<std::vector<std::int64_t>>& lists) {
  for (auto& values : product(lists)) values_.push_back(std::move(values));
  return this;
}

Registration* Registration::Axis(const std::string& name, const std::vector<std::string>& values) {
  axes_.emplace_back(name, values);
  return this;
}

Registration* Registration::In(Suite suite) {
  suite_ = suite;
  return this;
}

Registration* Registration::ForRoofs(const std::vector<std::int64_t>& values) {
  for_roofs_ = true;
  if (!values.empty()) roof_values_.push_back(values);
  return this;
}

std::vector<Instance> Registration::instances() const {
  std::vector<std::vector<std::string>> words;
  for (const auto& [name, values] : axes_) words.push_back(values);
  const std::vector<std::vector<std::int64_t>> numbers =
      values_.empty() ? std::vector<std::vector<std::int64_t>>{{}} : values_;

  const auto at_an_end = [](const auto& value, const auto& all) {
    return value == all.front() || value == all.back();
  };
  std::vector<Instance> result;
  for (const auto& combination : product(words)) {
    for (const auto& values : numbers) {
      if (values.size() != names_.size()) {
        throw std::logic_error(topic_ + "/" + kernel_ + ": " + std::to_string(values.size()) +
                               " values for " + std::to_string(names_.size()) + " named arguments");
      }
      const bool is_roof =
          for_roofs_ &&
          (roof_values_.empty() || std::ranges::find(roof_values_, values) != roof_values_.end());
      Instance i{topic_ + "/" + kernel_, topic_, kernel_, {}, function_, suite_, is_roof};
      bool taste = suite_ != Suite::full;
      for (std::size_t a = 0; a < combination.size(); ++a) {
        i.arguments.emplace_back(axes_[a].first, combination[a]);
        i.name += "/" + axes_[a].first + ":" + combination[a];
        taste = taste && at_an_end(combination[a], words[a]);
      }
      for (std::size_t a = 0; a < values.size(); ++a) {
        i.arguments.emplace_back(names_[a], values[a]);
        i.name += "/" + names_[a] + ":" + std::to_string(values[a]);
        taste = taste && (values[a] == numbers.front()[a] || values[a] == numbers.back()[a]);
      }
      if (taste) i.suite = Suite::quick;
      result.push_back(std::move(i));
    }
  }
  return result;
}

Registration* record(const char* topic, const char* kernel, BenchFunction function) {
  return &registrations().emplace_back(topic, kernel, function);
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
