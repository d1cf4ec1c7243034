// Devices as text: reading and writing device files.
#include "harness/devices/device_file.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "harness/devices/device.hpp"
#include "harness/devices/figure_rules.hpp"
#include "harness/devices/spelling.hpp"
#include "harness/system/plain_text.hpp"

namespace gpubench {
namespace {

using nlohmann::json;

constexpr int schema_version = 1;

std::string position(std::string_view text, std::size_t byte) {
  const auto before = text.substr(0, std::min(byte, text.size()));
  const auto line = std::ranges::count(before, '\n') + 1;
  const auto line_start = before.rfind('\n');  // npos + 1 is 0, the first line's start
  return "line " + std::to_string(line) + ", column " +
         std::to_string(before.size() - (line_start + 1) + 1);
}

// A device file needs four; to print a value of very many could take more stack than there is.
constexpr int most_nested = 20;

json parse_json(std::string_view text, const std::string& origin) {
  // A key given twice would silently lose its first value.
  std::vector<std::set<std::string>> keys;
  const auto watch_keys = [&](int depth, json::parse_event_t event, json& value) {
    if (depth > most_nested) fail(origin, "is nested too deeply");
    if (event == json::parse_event_t::object_start) keys.emplace_back();
    if (event == json::parse_event_t::object_end) keys.pop_back();
    if (event == json::parse_event_t::key) {
      const auto key = value.get<std::string>();
      if (!keys.back().insert(key).second) fail(origin, in_quotes(key) + " is given twice");
    }
    return true;
  };
  try {
    return json::parse(text, watch_keys);
  } catch (const json::parse_error& error) {
    // The library counts the bytes read, the last of which is the wrong one.
    const auto where = position(text, error.byte == 0 ? 0 : error.byte - 1);
    std::string what = error.what();
    if (const auto detail = what.find(": "); detail != std::string::npos) what.erase(0, detail + 2);
    fail(origin, "not valid JSON at " + where + ": " + what);
  } catch (const json::exception& error) {
    std::string what = error.what();
    if (const auto detail = what.find("] "); detail != std::string::npos) what.erase(0, detail + 2);
    fail(origin, "not valid JSON: " + what);
  }
}

// Reads one file; `origin` begins every error line.
class Reader {
 public:
  Reader(const json& root, const std::string& origin) : root_(root), origin_(origin) {}

  void check_keys(const json& object, const std::string& what,
                  std::initializer_list<const char*> known) const {
    const std::vector<std::string> names(known.begin(), known.end());
    for (const auto& [key, value] : object.items()) {
      if (std::ranges::find(names, key) == names.end()) {
        fail(origin_, what + "unknown key " + in_quotes(key) + ", did you mean " +
                          in_quotes(closest_first(names, key).front()) + "?");
      }
    }
  }

  const json& member(const char* key, json::value_t type, const char* type_name) const {
    const auto it = root_.find(key);
    if (it == root_.end()) fail(origin_, in_quotes(key) + " is missing");
    if (it->type() != type) fail(origin_, in_quotes(key) + " must be " + type_name);
    return *it;
  }

  std::string text(const char* key) const {
    auto value = member(key, json::value_t::string, "a string").get<std::string>();
    if (value.empty()) fail(origin_, in_quotes(key) + " is empty");
    check_plain(value, in_quotes(key));
    return value;
  }

  void check_schema() const {
    const auto it = root_.find("schema");
    if (it == root_.end()) fail(origin_, "\"schema\" is missing");
    if (*it != schema_version) {
      fail(origin_, "\"schema\" is " + it->dump() + ", this program reads " +
                        std::to_string(schema_version));
    }
  }

  std::vector<std::string> matches() const {
    std::vector<std::string> names;
    for (const auto& name : member("matches", json::value_t::array, "a list of strings")) {
      if (!name.is_string() || name.get<std::string>().empty()) {
        fail(origin_, "\"matches\" must be a list of non-empty strings");
      }
      check_plain(name.get<std::string>(), "\"matches\"");
      names.push_back(name.get<std::string>());
    }
    return names;
  }

  std::pair<int, int> compute_capability() const {
    const auto& pair = member("compute_capability", json::value_t::array, "[major, minor]");
    const auto is_number = [](const json& one) {
      return one.is_number_unsigned() && one.get<std::uint64_t>() <= 999;
    };
    if (pair.size() != 2 || !is_number(pair[0]) || !is_number(pair[1])) {
      fail(origin_, "\"compute_capability\" must be [major, minor], two whole numbers");
    }
    return {pair[0].get<int>(), pair[1].get<int>()};
  }

  void check_sources() const {
    const auto& sources = member("sources", json::value_t::object, "an object");
    for (const auto& [key, source] : sources.items()) {
      if (!source.is_string() || source.get<std::string>().empty()) {
        fail(origin_, "source " + in_quotes(key) + " must be a non-empty string");
      }
      check_plain(source.get<std::string>(), "source " + in_quotes(key));
    }
  }

  // By figure. Only a figure that the file has can have a clock of its own.
  std::map<std::string, PeakClock> peak_clocks(const std::map<std::string, Figure>& figures) const {
    std::map<std::string, PeakClock> clocks;
    if (!root_.contains("peak_clocks")) return clocks;
    for (const auto& entry : member("peak_clocks", json::value_t::array, "a list of objects")) {
      const std::string what = "\"peak_clocks\": ";
      if (!entry.is_object()) fail(origin_, what + "must be a list of objects");
      check_keys(entry, what, {"figures", "clock_hz", "why"});
      for (const char* key : {"figures", "clock_hz", "why"}) {
        if (!entry.contains(key)) fail(origin_, what + in_quotes(key) + " is missing");
      }
      const auto& why = entry["why"];
      if (!why.is_string() || why.get<std::string>().empty()) {
        fail(origin_, what + "\"why\" must be a non-empty string");
      }
      check_plain(why.get<std::string>(), what + "\"why\"");
      const FigureRule clock_rule{"clock_hz", "Hz", true, Constraint::positive};
      const double hertz = number(clock_rule, entry["clock_hz"], what);
      for (const auto& name : entry["figures"]) {
        if (!name.is_string() || !figures.contains(name.get<std::string>()) ||
            !name.get<std::string>().ends_with("_flops_per_second")) {
          fail(origin_, what + name.dump() + " is no peak of this file");
        }
        clocks[name.get<std::string>()] = {hertz, why.get<std::string>()};
      }
    }
    return clocks;
  }

  // What single figures cannot show.
  void check_together(const std::map<std::string, Figure>& figures) const {
    constexpr double sector_bytes = 32;
    const auto value = [&](const char* name) { return figures.at(name).value; };
    const auto words = [&](const char* name) {
      return std::to_string(static_cast<std::uint64_t>(value(name)));
    };
    const auto reject = [&](const char* name, const std::string& wanted) {
      fail(origin_, "figure " + in_quotes(name) + ": value " + words(name) + " must be " + wanted);
    };
    if (std::fmod(value("dram_fetch_bytes"), sector_bytes) != 0) {
      reject("dram_fetch_bytes", "a multiple of 32, the bytes of a sector");
    }
    constexpr std::pair<const char*, const char*> at_most[] = {
        {"max_threads_per_block", "max_threads_per_sm"},
        {"shared_bytes_per_block", "shared_bytes_per_block_optin"},
        {"shared_bytes_per_block_optin", "shared_bytes_per_sm"}};
    for (const auto& [less, more] : at_most) {
      if (value(less) <= value(more)) continue;
      reject(less, "at most " + in_quotes(more) + ", which is " + words(more));
    }
  }

  std::map<std::string, Figure> figures(bool is_gpu) const {
    const auto& members = member("figures", json::value_t::object, "an object");
    std::map<std::string, Figure> figures;
    for (const auto& [name, entry] : members.items()) {
      const FigureRule* rule = find_rule(name);
      if (rule == nullptr) {
        fail(origin_, "unknown figure " + in_quotes(name) + ", did you mean " +
                          in_quotes(closest_figure(name)) + "?");
      }
      figures.emplace(name, figure(*rule, entry));
    }
    for (const auto& rule : figure_rules()) {
      if (is_gpu && rule.required && !members.contains(rule.name)) {
        fail(origin_, "figure " + in_quotes(rule.name) + " is missing");
      }
    }
    return figures;
  }

 private:
  // What a file says is printed, and a terminal obeys what is not plain.
  void check_plain(const std::string& text, const std::string& what) const {
    if (plain_text(text) != text) fail(origin_, what + " has control characters");
  }

  Figure figure(const FigureRule& rule, const json& entry) const {
    const std::string what = "figure " + in_quotes(rule.name) + ": ";
    if (!entry.is_object()) {
      fail(origin_, what + "must be an object with \"value\", \"from\" and \"source\"");
    }
    check_keys(entry, what, {"value", "from", "source"});
    for (const char* key : {"value", "from", "source"}) {
      if (!entry.contains(key)) fail(origin_, what + in_quotes(key) + " is missing");
    }
    const auto from = provenance(entry["from"], what);
    return {number(rule, entry["value"], what), from, source(entry["source"], from, what)};
  }

  double number(const FigureRule& rule, const json& entry, const std::string& what) const {
    if (!entry.is_number()) fail(origin_, what + "value " + entry.dump() + " is not a number");
    const double value = entry.get<double>();
    const auto reject = [&](const char* wanted) {
      fail(origin_, what + "value " + entry.dump() + " must be " + wanted);
    };
    const bool is_whole = value == std::floor(value);
    switch (rule.constraint) {
      case Constraint::count:
        if (value < 1 || !is_whole) reject("a whole number, at least 1");
        break;
      case Constraint::whole:
        if (value < 0 || !is_whole) reject("a whole number, at least 0");
        break;
      case Constraint::positive:
        if (value <= 0) reject("above 0");
        break;
      case Constraint::fraction:
        if (value <= 0 || value > 1) reject("above 0 and at most 1");
        break;
    }
    const FigureRange range = range_of(rule);
    if (value > range.most || (value != 0 && value < range.least)) {
      std::ostringstream limits;
      limits << "from " << range.least << " to " << range.most;
      reject(limits.str().c_str());
    }
    return value;
  }

  std::string provenance(const json& entry, const std::string& what) const {
    static const std::vector<std::string> known(provenances().begin(), provenances().end());
    if (!entry.is_string() || std::ranges::find(known, entry.get<std::string>()) == known.end()) {
      fail(origin_, what + "\"from\" is " + entry.dump() + ", must be one of " + joined(known));
    }
    return entry.get<std::string>();
  }

  // The text behind a key of "sources"; the maker's and measured figures must cite, the others may
  // reason.
  std::string source(const json& entry, const std::string& from, const std::string& what) const {
    if (!entry.is_string() || entry.get<std::string>().empty()) {
      fail(origin_, what + "\"source\" must be a non-empty string");
    }
    auto key = entry.get<std::string>();
    check_plain(key, what + "\"source\"");
    const auto& sources = root_["sources"];
    if (const auto it = sources.find(key); it != sources.end()) return it->get<std::string>();
    if (from != "derived" && from != "assumed") {
      fail(origin_, what + "source " + in_quotes(key) + " is not a key of \"sources\"");
    }
    return key;
  }

  const json& root_;
  const std::string& origin_;
};

}  // namespace

void fail(const std::string& origin, const std::string& problem) {
  throw UsageError(plain_text(origin + ": " + problem));
}

DeviceSpec DeviceSpec::load(const std::string& origin) {
  const std::filesystem::path path = origin;
  std::error_code ignored;  // a path may be too long to look at
  if (!std::filesystem::is_regular_file(path, ignored)) {
    fail(origin, std::filesystem::exists(path, ignored) ? "not a file" : "no such file");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) fail(origin, "cannot be read");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  DeviceSpec spec = parse(text, origin);
  if (spec.name() != path.stem().string()) {
    fail(origin, "\"name\" is " + in_quotes(spec.name()) + ", must be the file's own name, " +
                     in_quotes(path.stem().string()));
  }
  return spec;
}

DeviceSpec DeviceSpec::parse(std::string_view text, const std::string& origin) {
  const json root = parse_json(text, origin);
  if (!root.is_object()) fail(origin, "a device file is one JSON object");
  const Reader reader(root, origin);
  reader.check_keys(root, "",
                    {"$schema", "schema", "name", "title", "kind", "matches", "compute_capability",
                     "figures", "peak_clocks", "sources"});
  reader.check_schema();

  DeviceSpec spec;
  spec.name_ = reader.text("name");
  spec.title_ = reader.text("title");
  spec.kind_ = reader.text("kind");
  const bool is_gpu = spec.kind_ == "gpu";
  if (!is_gpu && spec.kind_ != "roof") {
    fail(origin, "\"kind\" is " + in_quotes(spec.kind_) + ", must be gpu or roof");
  }
  spec.matches_ = reader.matches();
  if (is_gpu || root.contains("compute_capability")) {
    spec.compute_capability_ = reader.compute_capability();
  }
  reader.check_sources();
  spec.figures_ = reader.figures(is_gpu);
  if (is_gpu) reader.check_together(spec.figures_);
  spec.peak_clocks_ = reader.peak_clocks(spec.figures_);
  if (spec.data_sheet_roofs().empty()) fail(origin, "no roof follows from its figures");
  return spec;
}

std::string device_file_text(const DeviceSpec& device) {
  nlohmann::ordered_json file = {{"schema", schema_version},
                                 {"name", device.name()},
                                 {"title", device.title()},
                                 {"kind", device.kind()},
                                 {"matches", device.matches()}};
  if (const auto [major, minor] = device.compute_capability(); major > 0) {
    file["compute_capability"] = {major, minor};
  }
  // A source's text serves as its own key.
  auto figures = nlohmann::ordered_json::object(), sources = figures;
  for (const auto& [name, figure] : device.figures()) {
    figures[name] = {{"value", figure.value}, {"from", figure.from}, {"source", figure.source}};
    sources[figure.source] = figure.source;
  }
  file["figures"] = std::move(figures);
  auto clocks = nlohmann::ordered_json::array();
  for (const auto& [name, clock] : device.peak_clocks()) {
    clocks.push_back({{"figures", {name}}, {"clock_hz", clock.hertz}, {"why", clock.why}});
  }
  if (!clocks.empty()) file["peak_clocks"] = std::move(clocks);
  file["sources"] = std::move(sources);
  return file.dump(2) + "\n";
}

}  // namespace gpubench
