#include "harness/records/row_json.hpp"

#include <concepts>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace gpubench {
namespace {

using nlohmann::ordered_json;

// Each of the functions named `each` shows a record's members, by name, to one of these.
class Writer {
 public:
  explicit Writer(ordered_json& json) : json_(json) {}
  template <class T>
  void operator()(const char* name, const T& value);

 private:
  ordered_json& json_;
};

class Reader {
 public:
  explicit Reader(const ordered_json& json) : json_(json) {}
  template <class T>
  void operator()(const char* name, T& value);

 private:
  const ordered_json& json_;
};

template <class Visit, class R>
requires std::is_same_v<std::remove_const_t<R>, TracedOperation>
void each(Visit& visit, R& o) {
  visit("track", o.track);
  visit("name", o.name);
  visit("stream", o.stream);
  visit("bytes", o.bytes);
  visit("begin", o.begin);
  visit("end", o.end);
}

template <class Visit, class R>
requires std::is_same_v<std::remove_const_t<R>, Launched>
void each(Visit& visit, R& launched) {
  visit("kernel", launched.kernel);
  visit("times", launched.times);
  visit("figures", launched.figures);
  visit("departures", launched.departures);
}

template <class Visit, class R>
requires std::is_same_v<std::remove_const_t<R>, Moment>
void each(Visit& visit, R& moment) {
  visit("seconds", moment.seconds);
  visit("rate", moment.rate);
  visit("sm_clock_hz", moment.health.sm_clock_hz);
  visit("power_w", moment.health.power_w);
  visit("temperature_c", moment.health.temperature_c);
  visit("reasons", moment.health.reasons);
}

template <class Visit, class R>
requires std::is_same_v<std::remove_const_t<R>, Headline>
void each(Visit& visit, R& headline) {
  visit("name", headline.name);
  visit("unit", headline.unit);
  visit("lower_is_better", headline.lower_is_better);
}

template <class Visit, class R>
requires std::is_same_v<std::remove_const_t<R>, MovedBytes>
void each(Visit& visit, R& moved) {
  visit("dram", moved.dram);
  visit("l2", moved.l2);
  visit("l1", moved.l1);
  visit("shared", moved.shared);
}

template <class Visit, class R>
requires std::is_same_v<std::remove_const_t<R>, Row>
void each(Visit& visit, R& row) {
  visit("name", row.name);
  visit("topic", row.topic);
  visit("kernel", row.kernel);
  visit("arguments", row.arguments);
  visit("axis_units", row.axis_units);
  visit("source", row.source);
  visit("repetition", row.repetition);
  visit("outcome", row.outcome);
  visit("reason", row.reason);
  visit("error_kind", row.error_kind);
  visit("diagnosis", row.diagnosis);
  visit("bound", row.bound);
  visit("roof", row.roof);
  visit("counts", row.counts);
  visit("assuming", row.assuming);
  visit("verified", row.verified);
  visit("counters", row.counters);
  visit("words", row.words);
  visit("terms", row.terms);
  visit("instructions", row.instructions);
  visit("launches", row.launches);
  visit("median_seconds", row.median_seconds);
  visit("samples", row.samples);
  visit("discarded", row.discarded);
  visit("moments", row.moments);
  visit("notes", row.notes);
  visit("moved_through", row.moved_through);
  visit("moved", row.moved);
  visit("law_tolerance", row.law_tolerance);
  visit("measures", row.measures);
  visit("trace", row.trace);
  visit("show_trace", row.show_trace);
  visit("headline", row.headline);
  visit("arithmetic_unit", row.arithmetic_unit);
  visit("grade_roof", row.grade_roof);
}

template <class T>
concept Record = requires(Writer& writer, const T& value) {
  each(writer, value);
};

// --- to JSON ---

template <class T>
ordered_json json_of(const T& value);

template <class T>
ordered_json json_of(const std::optional<T>& value) {
  return value ? ordered_json(*value) : ordered_json();
}
ordered_json json_of(const Argument& argument) {
  return std::visit([](const auto& value) { return ordered_json(value); }, argument);
}
template <class First, class Second>
ordered_json json_of(const std::pair<First, Second>& pair) {
  return ordered_json::array({json_of(pair.first), json_of(pair.second)});
}
template <class T>
ordered_json json_of(const std::vector<T>& list) {
  ordered_json json = ordered_json::array();
  for (const T& one : list) json.push_back(json_of(one));
  return json;
}
template <class T>
ordered_json json_of(const T& value) {
  if constexpr (Record<T>) {
    ordered_json json;
    Writer writer(json);
    each(writer, value);
    return json;
  } else {
    return ordered_json(value);
  }
}

template <class T>
void Writer::operator()(const char* name, const T& value) {
  json_[name] = json_of(value);
}

// --- from JSON ---

template <class T>
void take(const ordered_json& json, T& value);

void take(const ordered_json& json, double& value) {  // JSON has no number for one not finite
  value = json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
}
// A journal can have been damaged: a number that does not fit is no number of ours.
template <std::integral T>
void take(const ordered_json& json, T& value) {
  if constexpr (!std::is_same_v<T, bool>) {
    const bool fits = json.is_number_unsigned()
                          ? std::in_range<T>(json.get<std::uint64_t>())
                          : json.is_number_integer() && std::in_range<T>(json.get<std::int64_t>());
    if (!fits) throw std::out_of_range("not a whole number that fits");
  }
  json.get_to(value);
}
void take(const ordered_json& json, Outcome& outcome) {
  int number = 0;
  take(json, number);
  if (number < 0 || number > static_cast<int>(Outcome::failed)) {
    throw std::out_of_range("no outcome has this number");
  }
  outcome = static_cast<Outcome>(number);
}
template <class T>
void take(const ordered_json& json, std::optional<T>& value) {
  if (json.is_null()) return;
  take(json, value.emplace());
}
void take(const ordered_json& json, Argument& argument) {
  if (json.is_string()) {
    argument = json.get<std::string>();
  } else {
    take(json, argument.emplace<std::int64_t>());
  }
}
template <class First, class Second>
void take(const ordered_json& json, std::pair<First, Second>& pair) {
  take(json.at(0), pair.first);
  take(json.at(1), pair.second);
}
template <class T>
void take(const ordered_json& json, std::vector<T>& list) {
  if (!json.is_array()) throw std::invalid_argument("not a list");
  for (const ordered_json& one : json) take(one, list.emplace_back());
}
template <class T>
void take(const ordered_json& json, std::map<std::string, T>& map) {
  for (const auto& [key, value] : json.items()) take(value, map[key]);
}
template <class T>
void take(const ordered_json& json, T& value) {
  if constexpr (Record<T>) {
    Reader reader(json);
    each(reader, value);
  } else {
    json.get_to(value);
  }
}

template <class T>
void Reader::operator()(const char* name, T& value) {
  take(json_.at(name), value);
}

}  // namespace

ordered_json whole_row_json(const Row& row) { return json_of(row); }

Row row_of_json(const ordered_json& json) {
  Row row;
  take(json, row);
  return row;
}

}  // namespace gpubench
