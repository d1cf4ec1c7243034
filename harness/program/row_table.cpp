#include "harness/program/row_table.hpp"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <optional>
#include <sstream>

#include "harness/program/grades.hpp"
#include "harness/system/plain_text.hpp"

namespace gpubench {
namespace {

std::string share(const Row& row, const char* name) {
  const auto value = row.counter(name);
  return value ? percent(*value, 1) : "";
}

std::string time(const Row& row) { return with_prefix(row.median_seconds, "s"); }

// Half of the 95 % interval over the time; empty where nobody knows, or a model has none.
std::string interval(const Row& row) {
  const auto low = row.counter("ci_low_seconds"), high = row.counter("ci_high_seconds");
  if (!low || !high || *high <= *low) return "";
  return "\u00b1" + percent((*high - *low) / 2 / row.median_seconds, 1);
}

std::string figure(const Row& row) {
  const bool is_time = row.headline.name == "seconds" || row.headline_value() == 0;
  return is_time ? "" : with_prefix(row.headline_value(), row.headline.unit);
}

// By what the row is judged by, where that is FLOP or bytes; else of a run.
std::string energy(const Row& row) {
  const auto shown = [&](const char* name, const std::string& unit) {
    const auto joules = row.counter(name);
    return joules ? with_prefix(*joules, unit) : "";
  };
  const Headline& headline = row.headline;
  const std::string amount = headline.unit.substr(0, headline.unit.find('/'));
  if (headline.name == "flops_per_second") return shown("joules_per_flop", "J/" + amount);
  if (headline.name == "useful_bytes_per_second") return shown("joules_per_byte", "J/" + amount);
  return shown("joules", "J");
}

std::string of_roof(const Row& row) { return share(row, "roof_fraction"); }
std::string of_law(const Row& row) {
  const double reached = share_of_law(row);
  return reached > 0 ? percent(reached, 1) : "";
}
std::string grade(const Row& row) { return words_of(row.graded.grade); }
std::string bound(const Row& row) { return row.bound; }

// What the row's dtype loses, where that is its other figure; empty for most rows.
std::string loss(const Row& row) {
  std::string text;
  if (const auto error = row.counter("relative_error")) {
    std::ostringstream number;
    number << std::scientific << std::setprecision(1) << *error;
    text = number.str();
    // Exponents without their leading zero.
    if (const auto zero = text.find_last_of("+-") + 1; text[zero] == '0') text.erase(zero, 1);
    text = "  error " + text;
  }
  if (const auto flushed = row.counter("flushed_fraction")) {
    text += "  flushed " + percent(*flushed, 0);
  }
  return text;
}

struct Column {
  const char* title;
  std::size_t width;  // with the spaces before it
  bool to_the_left;   // words; numbers end at the same place
  std::string (*text)(const Row&);
  int dropped;  // as the how many-th where there is too little room; 0: never
};

// docs/command-line.md says in which order they go.
constexpr Column all_columns[] = {
    {"time", 11, false, time, 7},       {"", 9, false, interval, 1},
    {"figure", 16, false, figure, 6},   {"energy", 14, false, energy, 5},
    {"of roof", 10, false, of_roof, 4}, {"of law", 10, false, of_law, 2},
    {"grade", 19, true, grade, 0},      {"bound by", 14, true, bound, 3}};
constexpr std::size_t margin = 2;

constexpr const char* green = "32";
constexpr const char* red = "31";
constexpr const char* yellow = "33";
constexpr const char* faint = "2";

const char* colour_of(Grade grade) {
  switch (grade) {
    case Grade::expected:
      return green;
    case Grade::low:
      return red;
    case Grade::high:
      return yellow;
    case Grade::on_purpose:
    case Grade::ungraded:
      break;
  }
  return faint;
}

// Counts characters of UTF-8: setw counts bytes.
std::string padding(const std::string& text, std::size_t width) {
  const auto shown = static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
  return std::string(shown < width ? width - shown : 0, ' ');
}

std::string cell(const Column& column, const std::string& text) {
  if (!column.to_the_left) return padding(text, column.width) + text;
  return std::string(margin, ' ') + text + padding(text, column.width - margin);
}

std::string without_spaces_at_the_end(std::string text) {
  return text.erase(text.find_last_not_of(' ') + 1);
}

}  // namespace

std::string percent(double ratio, int digits) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(digits) << ratio * 100 << " %";
  return text.str();
}

std::string with_prefix(double value, const std::string& unit) {
  constexpr const char* prefixes[] = {"p", "n", "u", "m", "", "k", "M", "G", "T", "P"};
  int step = 4;
  while (value != 0 && std::abs(value) < 0.9995 && step > 0) value *= 1000, --step;
  while (std::abs(value) >= 999.5 && step < 9) value /= 1000, ++step;
  std::ostringstream text;
  text << std::setprecision(3) << value << ' ' << prefixes[step] << unit;
  return text.str();
}

RowTable::RowTable(std::size_t name, std::size_t line, bool colours, bool energies)
    : name_(name), colours_(colours) {
  std::size_t width = name;
  std::vector<std::size_t> droppable;
  for (std::size_t i = 0; i < std::size(all_columns); ++i) {
    if (all_columns[i].text == energy && !energies) continue;
    width += all_columns[i].width;
    columns_.push_back(i);
    if (all_columns[i].dropped > 0) droppable.push_back(i);
  }
  std::ranges::sort(droppable, {}, [](std::size_t i) { return all_columns[i].dropped; });
  for (const std::size_t i : droppable) {
    if (line == 0 || width <= line) break;
    width -= all_columns[i].width;
    std::erase(columns_, i);
  }
}

std::string RowTable::header() const {
  std::string text = "row" + padding("row", name_);
  std::size_t width = name_;
  for (const std::size_t i : columns_) {
    text += cell(all_columns[i], all_columns[i].title);
    width += all_columns[i].width;
  }
  return without_spaces_at_the_end(text) + '\n' + std::string(width, '-') + '\n';
}

std::string RowTable::line(const Row& row) const {
  std::string text = row.name + padding(row.name, name_);
  const std::string reason = plain_text(row.reason);  // an own concept may have thrown it
  if (row.outcome == Outcome::skipped) return text + "  skipped: " + reason + '\n';
  if (row.outcome == Outcome::failed) {
    return text + "  " + painted("FAILED", red) + ": " + reason + '\n';
  }
  for (const std::size_t i : columns_) {
    const Column& column = all_columns[i];
    const std::string filled = cell(column, column.text(row));
    text += column.text == grade ? painted(filled, colour_of(row.graded.grade)) : filled;
  }
  text += loss(row);
  if (row.counter("converged") == 0.0) text += "  not converged";
  return without_spaces_at_the_end(text) + '\n';
}

std::string RowTable::painted(const std::string& text, const char* colour) const {
  return colours_ ? std::string("\033[") + colour + 'm' + text + "\033[0m" : text;
}

}  // namespace gpubench
