#include "harness/devices/device.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <stdexcept>

#include "harness/devices/embedded.hpp"

namespace gpubench {
namespace {

using nlohmann::json;

constexpr int schema_version = 1;
constexpr bool required = true;
constexpr bool optional = false;

// The one list of figures; schema.json repeats it for editors, and a test compares the two.
constexpr FigureRule rules[] = {
    {"sm_count", "1", required, Constraint::count},
    {"sm_clock_hz", "Hz", required, Constraint::positive},
    {"warp_schedulers_per_sm", "1", required, Constraint::count},
    {"max_threads_per_sm", "1", required, Constraint::count},
    {"max_blocks_per_sm", "1", required, Constraint::count},
    {"max_threads_per_block", "1", required, Constraint::count},
    {"registers_per_sm", "1", required, Constraint::count},
    {"max_registers_per_thread", "1", required, Constraint::count},
    {"register_allocation_unit", "1", required, Constraint::count},
    {"shared_bytes_per_sm", "B", required, Constraint::count},
    {"shared_bytes_per_block", "B", required, Constraint::count},
    {"shared_bytes_per_block_optin", "B", required, Constraint::count},
    {"shared_reserved_bytes_per_block", "B", required, Constraint::whole},
    {"shared_allocation_unit_bytes", "B", required, Constraint::count},
    {"l1_bytes_per_sm", "B", required, Constraint::count},
    {"l2_bytes", "B", required, Constraint::count},
    {"l2_partitions", "1", optional, Constraint::count},
    {"dram_bytes", "B", required, Constraint::count},
    {"dram_bytes_per_second", "B/s", required, Constraint::positive},
    {"dram_read_efficiency", "1", required, Constraint::fraction},
    {"dram_write_efficiency", "1", required, Constraint::fraction},
    {"dram_mixed_efficiency", "1", required, Constraint::fraction},
    {"dram_fetch_bytes", "B", required, Constraint::count},
    {"l2_bytes_per_second", "B/s", required, Constraint::positive},
    {"l1_bytes_per_clock_per_sm", "B", required, Constraint::positive},
    {"shared_bytes_per_clock_per_sm", "B", required, Constraint::positive},
    {"global_requests_per_clock_per_sm", "1", required, Constraint::positive},
    {"l1_tags_per_clock_per_sm", "1", required, Constraint::positive},
    {"l1_latency_cycles", "1", required, Constraint::positive},
    {"shared_latency_cycles", "1", required, Constraint::positive},
    {"l2_latency_cycles", "1", required, Constraint::positive},
    {"l2_far_latency_cycles", "1", optional, Constraint::positive},
    {"dram_latency_cycles", "1", required, Constraint::positive},
    {"fp32_latency_cycles", "1", optional, Constraint::positive},
    {"block_turnaround_cycles", "1", optional, Constraint::positive},
    {"dram_queue_cycles", "1", optional, Constraint::positive},
    {"fp32_flops_per_clock_per_sm", "FLOP", required, Constraint::positive},
    {"fp64_flops_per_clock_per_sm", "FLOP", required, Constraint::positive},
    {"fp16x2_flops_per_clock_per_sm", "FLOP", required, Constraint::positive},
    {"bf16x2_flops_per_clock_per_sm", "FLOP", optional, Constraint::positive},
    {"int32_ops_per_clock_per_sm", "OP", required, Constraint::positive},
    {"sfu_ops_per_clock_per_sm", "OP", required, Constraint::positive},
    {"tensor_fp16_flops_per_clock_per_sm", "FLOP", required, Constraint::positive},
    {"tensor_bf16_flops_per_clock_per_sm", "FLOP", optional, Constraint::positive},
    {"tensor_tf32_flops_per_clock_per_sm", "FLOP", optional, Constraint::positive},
    {"tensor_fp8_flops_per_clock_per_sm", "FLOP", optional, Constraint::positive},
    {"tensor_int8_flops_per_clock_per_sm", "OP", optional, Constraint::positive},
    {"tensor_fp64_flops_per_clock_per_sm", "FLOP", optional, Constraint::positive},
    {"mma_sync_efficiency", "1", required, Constraint::fraction},
    {"gemm_efficiency", "1", required, Constraint::fraction},
    {"gemm_unaligned_efficiency", "1", required, Constraint::fraction},
    {"fp64_flops_per_second", "FLOP/s", optional, Constraint::positive},
    {"fp32_flops_per_second", "FLOP/s", optional, Constraint::positive},
    {"fp16x2_flops_per_second", "FLOP/s", optional, Constraint::positive},
    {"tensor_fp64_flops_per_second", "FLOP/s", optional, Constraint::positive},
    {"tensor_tf32_flops_per_second", "FLOP/s", optional, Constraint::positive},
    {"tensor_fp16_flops_per_second", "FLOP/s", optional, Constraint::positive},
    {"tensor_bf16_flops_per_second", "FLOP/s", optional, Constraint::positive},
    {"tensor_fp8_flops_per_second", "FLOP/s", optional, Constraint::positive},
    {"tensor_int8_flops_per_second", "OP/s", optional, Constraint::positive},
    {"launch_stream_seconds", "s", required, Constraint::positive},
    {"launch_graph_seconds", "s", required, Constraint::positive},
    {"launch_programmatic_seconds", "s", optional, Constraint::positive},
    {"launch_host_seconds", "s", required, Constraint::positive},
    {"launch_latency_seconds", "s", required, Constraint::positive},
    {"kernel_floor_seconds", "s", required, Constraint::positive},
    {"event_resolution_seconds", "s", required, Constraint::positive},
    {"sync_host_seconds", "s", required, Constraint::positive},
    {"copy_engines", "1", required, Constraint::count},
    {"pcie_h2d_bytes_per_second", "B/s", required, Constraint::positive},
    {"pcie_d2h_bytes_per_second", "B/s", required, Constraint::positive},
    {"pcie_latency_seconds", "s", required, Constraint::positive},
    {"pageable_bytes_per_second", "B/s", required, Constraint::positive},
    {"nvlink_bytes_per_second", "B/s", optional, Constraint::positive},
    {"nvlink_ring_bytes_per_second", "B/s", optional, Constraint::positive},
    {"nvlink_sharp_bytes_per_second", "B/s", optional, Constraint::positive},
    {"node_gpus", "1", optional, Constraint::count},
    {"network_bytes_per_second", "B/s", optional, Constraint::positive},
    {"link_bytes_per_second", "B/s", optional, Constraint::positive},
    {"power_limit_w", "W", required, Constraint::positive},
    {"tlb_reach_bytes", "B", optional, Constraint::count},
};

const FigureRule* find_rule(std::string_view name) {
  const auto rule = std::ranges::find(rules, name, &FigureRule::name);
  return rule == std::end(rules) ? nullptr : &*rule;
}

std::string in_quotes(std::string_view text) { return '"' + std::string(text) + '"'; }

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const auto& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

// Insertions, deletions and replacements that turn one word into the other (Levenshtein).
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

std::vector<std::string> closest_first(std::vector<std::string> names, std::string_view wanted) {
  // A name that begins as wanted is closer than any typing error.
  std::ranges::stable_sort(names, {}, [&](const auto& name) {
    return std::pair(!name.starts_with(wanted), edit_distance(name, wanted));
  });
  return names;
}

std::string closest_figure(std::string_view wanted) {
  return std::string(std::ranges::min(rules, {}, [&](const FigureRule& rule) {
                       return edit_distance(rule.name, wanted);
                     }).name);
}

// Throws what is wrong with `origin` as one line, whatever the file holds.
[[noreturn]] void fail(const std::string& origin, const std::string& problem) {
  std::string line = origin + ": " + problem;
  std::ranges::replace_if(
      line, [](unsigned char c) { return c < ' '; }, ' ');
  throw UsageError(line);
}

std::string position(std::string_view text, std::size_t byte) {
  const auto before = text.substr(0, std::min(byte, text.size()));
  const auto line = std::ranges::count(before, '\n') + 1;
  const auto line_start = before.rfind('\n');  // npos + 1 is 0, the first line's start
  return "line " + std::to_string(line) + ", column " +
         std::to_string(before.size() - (line_start + 1) + 1);
}

json parse_json(std::string_view text, const std::string& origin) {
  // A key given twice would silently lose its first value.
  std::vector<std::set<std::string>> keys;
  const auto watch_keys = [&](int, json::parse_event_t event, json& value) {
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

// The places that a figure may come from, the most trustworthy first.
constexpr std::string_view provenances[] = {"data_sheet", "published", "calibrated", "derived",
                                            "assumed"};

auto distrust(std::string_view from) {
  return std::ranges::find(provenances, from) - std::begin(provenances);
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
    const auto value = member(key, json::value_t::string, "a string").get<std::string>();
    if (value.empty()) fail(origin_, in_quotes(key) + " is empty");
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
      names.push_back(name.get<std::string>());
    }
    return names;
  }

  std::pair<int, int> compute_capability() const {
    const auto& pair = member("compute_capability", json::value_t::array, "[major, minor]");
    if (pair.size() != 2 || !pair[0].is_number_unsigned() || !pair[1].is_number_unsigned()) {
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
      const FigureRule clock_rule{"clock_hz", "Hz", required, Constraint::positive};
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
    for (const auto& rule : rules) {
      if (is_gpu && rule.required && !members.contains(rule.name)) {
        fail(origin_, "figure " + in_quotes(rule.name) + " is missing");
      }
    }
    return figures;
  }

 private:
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
    return value;
  }

  std::string provenance(const json& entry, const std::string& what) const {
    static const std::vector<std::string> known(std::begin(provenances), std::end(provenances));
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
    const auto key = entry.get<std::string>();
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

std::span<const FigureRule> figure_rules() { return rules; }

DeviceSpec DeviceSpec::load(const std::string& origin) {
  const std::filesystem::path path = origin;
  if (!std::filesystem::is_regular_file(path)) {
    fail(origin, std::filesystem::exists(path) ? "not a file" : "no such file");
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
  spec.peak_clocks_ = reader.peak_clocks(spec.figures_);
  if (spec.data_sheet_roofs().empty()) fail(origin, "no roof follows from its figures");
  return spec;
}

double DeviceSpec::operator[](std::string_view figure) const {
  if (const auto value = find(figure)) return *value;
  throw UsageError("device " + name_ + " has no figure " + in_quotes(figure));
}

std::optional<double> DeviceSpec::find(std::string_view figure) const {
  const auto it = figures_.find(std::string(figure));
  if (it == figures_.end()) {
    if (find_rule(figure) != nullptr) return std::nullopt;
    throw std::logic_error("no device file has a figure " + in_quotes(figure) + ": did you mean " +
                           in_quotes(closest_figure(figure)) + "?");
  }
  return it->second.value;
}

// A product of figures, the first of which says what the roof counts; its provenance is that of the
// one to be trusted least.
std::optional<Roof> DeviceSpec::product(const std::string& name,
                                        std::initializer_list<std::string_view> factors) const {
  double value = 1;
  const Figure* weakest = nullptr;
  for (const std::string_view factor : factors) {
    const auto it = figures_.find(std::string(factor));
    if (it == figures_.end()) return std::nullopt;
    value *= it->second.value;
    if (weakest == nullptr || distrust(it->second.from) > distrust(weakest->from)) {
      weakest = &it->second;
    }
  }
  std::string unit(find_rule(*factors.begin())->unit);
  if (!unit.ends_with("/s")) unit += "/s";  // of a clock and an SM
  return Roof{name, unit, value, weakest->from, weakest->from + ": " + weakest->source};
}

std::optional<Roof> DeviceSpec::reachable_dram() const {
  std::optional<Roof> best;
  for (const std::string_view efficiency :
       {"dram_read_efficiency", "dram_write_efficiency", "dram_mixed_efficiency"}) {
    const auto roof = product("dram", {"dram_bytes_per_second", efficiency});
    if (roof && (!best || best->value < roof->value)) best = roof;
  }
  return best;
}

std::vector<Roof> DeviceSpec::data_sheet_roofs() const {
  std::vector<Roof> roofs;
  const auto add = [&](const std::string& name, std::initializer_list<std::string_view> factors) {
    const auto roof = product(name, factors);
    if (roof) roofs.push_back(*roof);
    return roof.has_value();
  };
  add("dram", {"dram_bytes_per_second"});
  add("l2", {"l2_bytes_per_second"});
  for (const std::string level : {"l1", "shared"}) {
    add(level, {level + "_bytes_per_clock_per_sm", "sm_count", "sm_clock_hz"});
  }
  for (const std::string unit :
       {"fp64", "fp32", "fp16x2", "bf16x2", "int32", "tensor_fp64", "tensor_tf32", "tensor_fp16",
        "tensor_bf16", "tensor_fp8", "tensor_int8"}) {
    const std::string of_sm = unit == "int32" ? "_ops_per_clock_per_sm" : "_flops_per_clock_per_sm";
    const bool computed = kind_ == "gpu" && add(unit, {unit + of_sm, "sm_count", "sm_clock_hz"});
    if (!computed) add(unit, {unit + "_flops_per_second"});
  }
  return roofs;
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

std::vector<std::string> known_devices() {
  std::vector<std::string> names;
  for (const auto& file : embedded_device_files()) names.emplace_back(file.stem);
  return names;
}

DeviceSpec device_spec(const std::string& name_or_path) {
  for (const auto& file : embedded_device_files()) {
    if (file.stem == name_or_path) {
      return DeviceSpec::parse(file.text, std::string(file.stem) + ".json");
    }
  }
  if (name_or_path.find('/') != std::string::npos || name_or_path.ends_with(".json")) {
    return DeviceSpec::load(name_or_path);
  }
  fail("unknown device " + in_quotes(name_or_path),
       "known are " + joined(closest_first(known_devices(), name_or_path)) +
           ", or give the path of a .json file");
}

std::optional<DeviceSpec> device_spec_for_gpu(const std::string& cuda_name) {
  std::string best_device;
  std::size_t best_length = 0;  // an equal name is the longest start there can be
  for (const auto& name : known_devices()) {
    for (const auto& match : device_spec(name).matches()) {
      const bool is_start = cuda_name.starts_with(match) &&
                            (cuda_name.size() == match.size() || cuda_name[match.size()] == ' ' ||
                             cuda_name[match.size()] == '-');
      if (is_start && match.size() > best_length) {
        best_device = name;
        best_length = match.size();
      }
    }
  }
  if (best_device.empty()) return std::nullopt;
  return device_spec(best_device);
}

}  // namespace gpubench
