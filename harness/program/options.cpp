#include "harness/program/options.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "harness/devices/device.hpp"
#include "harness/devices/spelling.hpp"
#include "harness/system/error.hpp"

namespace gpubench {
namespace {

template <class T>
T one_of(const std::string& flag, const std::string& value, const std::map<std::string, T>& known) {
  if (const auto found = known.find(value); found != known.end()) return found->second;
  std::string names;
  for (const auto& [name, unused] : known) names += (names.empty() ? "" : ", ") + name;
  throw UsageError("--" + flag + "='" + value + "': must be one of " + names);
}

bool boolean(const std::string& flag, const std::string& value) {
  return one_of<bool>(flag, value,
                      {{"", true},
                       {"true", true},
                       {"1", true},
                       {"yes", true},
                       {"on", true},
                       {"false", false},
                       {"0", false},
                       {"no", false},
                       {"off", false}});
}

template <class T>
T number(const std::string& flag, const std::string& value, const std::string& unit = "") {
  T result{};
  const char* end = value.data() + value.size() - (value.ends_with(unit) ? unit.size() : 0);
  const auto parsed = std::from_chars(value.data(), end, result);
  if (parsed.ec == std::errc::result_out_of_range && parsed.ptr == end) {
    throw UsageError("--" + flag + "='" + value + "': is out of range");
  }
  bool good = parsed.ec == std::errc() && parsed.ptr == end && !value.empty();
  if constexpr (std::is_floating_point_v<T>) good = good && std::isfinite(result) && result >= 0;
  if (!good) {
    throw UsageError("--" + flag + "='" + value + "': must be a number >= 0");
  }
  return result;
}

// KEY=VALUE,KEY=VALUE, each key once
std::vector<std::pair<std::string, std::string>> pairs(const std::string& flag,
                                                       const std::string& value) {
  std::vector<std::pair<std::string, std::string>> result;
  std::istringstream items(value);
  for (std::string item; std::getline(items, item, ',');) {
    const auto equals = item.find('=');
    if (equals == 0 || equals == std::string::npos) {
      throw UsageError(std::string("--").append(flag).append("='").append(value).append(
          "': must be KEY=VALUE, or several separated by commas"));
    }
    const std::string key = item.substr(0, equals);
    if (std::ranges::any_of(result, [&](const auto& pair) { return pair.first == key; })) {
      throw UsageError("--" + flag + "='" + value + "': '" + key + "' is given twice");
    }
    result.emplace_back(key, item.substr(equals + 1));
  }
  return result;
}

// By whom it would be refused at the end of the run.
bool is_utf8(const std::string& text) {
  try {
    static_cast<void>(nlohmann::json(text).dump());
    return true;
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
}

// "0.5" and "0.5s" are seconds, "100x" is a number of samples.
void set_min_time(BenchSettings& bench, const std::string& flag, const std::string& value) {
  bench.exact_samples.reset();
  if (!value.ends_with('x')) {
    bench.budget_seconds = number<double>(flag, value, "s");
    return;
  }
  const auto samples = number<std::size_t>(flag, value, "x");
  if (samples == 0) throw UsageError("--" + flag + "='" + value + "': must be >= 1x");
  bench.exact_samples = samples;
}

// For a flag of Google Benchmark's that shapes an output which has one shape here.
void only_on(const std::string& flag, const std::string& value, const char* why) {
  if (value != "auto" && !boolean(flag, value)) {
    throw UsageError("--" + flag + "='" + value + "': " + why);
  }
}

using Take = std::function<void(const std::string& flag, const std::string& value)>;
using Flags = std::map<std::string, Take>;

// A flag that is there or not.
Take sets(bool& option) {
  return [&option](const std::string& f, const std::string& v) { option = boolean(f, v); };
}
template <class T>
Take sets_number(T& option) {
  return [&option](const std::string& f, const std::string& v) { option = number<T>(f, v); };
}
Take sets_text(std::string& option) {
  return [&option](const std::string&, const std::string& v) { option = v; };
}
// What a result file repeats, which JSON could not hold otherwise.
void check_utf8(const std::string& flag, const std::string& value) {
  if (is_utf8(value)) return;
  std::string shown;
  for (const char c : value) shown += c >= ' ' && c <= '~' ? c : '?';
  throw UsageError("--" + flag + "='" + shown + "': must be UTF-8 text");
}
Take sets_utf8(std::string& option) {
  return [&option](const std::string& f, const std::string& v) {
    check_utf8(f, v);
    option = v;
  };
}
// `what` must be given: "FILE: needs the name of a file".
Take sets_given(std::string& option, const std::string& what) {
  return [&option, what](const std::string& f, const std::string& v) {
    if (v.empty()) throw UsageError("--" + f + "=" + what);
    option = v;
  };
}
template <class T>
Take sets_one_of(T& option, const std::map<std::string, T>& known) {
  return [&option, known](const std::string& f, const std::string& v) {
    option = one_of<T>(f, v, known);
  };
}

Flags own_flags(Options& o) {
  return {
      {"device", sets_text(o.device)},
      {"engine", sets_text(o.engine)},
      {"suite",
       [&o](auto& f, auto& v) {
         o.suite_name = v;
         o.suite = one_of<Suite>(
             f, v, {{"quick", Suite::quick}, {"default", Suite::standard}, {"full", Suite::full}});
       }},
      {"axis", [&o](auto&, auto& v) { o.axes.push_back(parse_axis(v)); }},
      {"mode", sets_one_of<Mode>(o.bench.mode, {{"cold", Mode::cold}, {"hot", Mode::hot}})},
      {"seed", sets_number(o.bench.seed)},
      {"watch_seconds", sets_number(o.bench.watch_seconds)},
      {"row_limit", [&o](auto& f, auto& v) { o.row_limit = number<double>(f, v); }},
      {"row_memory", [&o](auto& f, auto& v) { o.row_memory = number<double>(f, v); }},
      {"isolate",
       [&o](auto& f, auto& v) {
         o.isolation = one_of<Isolation>(f, v,
                                         {{"none", Isolation::none},
                                          {"fault", Isolation::fault},
                                          {"concept", Isolation::by_concept},
                                          {"row", Isolation::row}});
       }},
      {"energy", sets(o.bench.energy)},
      {"profile", sets(o.bench.profile)},
      {"whole_grids",
       [&o](auto& f, auto& v) {
         o.bench.grids = v == "counted"  ? Grids::counted
                         : boolean(f, v) ? Grids::whole
                                         : Grids::sampled;
       }},
      {"keep_results", sets_given(o.bench.kept_results, "DIR: needs the name of a folder")},
      {"judge_results", sets_given(o.bench.judged_results, "DIR: needs the name of a folder")},
      {"conditions", sets_given(o.conditions, "FILE: needs the name of a file")},
      {"predict", sets(o.predict)},
      {"roofs", sets(o.roofs)},
      {"terms", sets(o.terms)},
      {"explain", sets_given(o.explain, "NAME: needs the name of a row")},
      {"resume", sets_given(o.resumed, "FILE: needs the name of a result file")},
      {"list_devices", sets(o.list_devices)},
      {"help", sets(o.help)},
      {"version", sets(o.version)},
      {"trace",
       [&o, take = sets_given(o.trace, "FILE: needs the name of a file to write")](auto& f,
                                                                                   auto& v) {
         take(f, v);
         o.bench.trace = true;
       }},
  };
}

// Those of Google Benchmark's that are answered here.
Flags benchmark_flags(Options& o) {
  const std::map<std::string, Format> formats = {
      {"console", Format::console}, {"json", Format::json}, {"csv", Format::csv}};
  return {
      {"benchmark_list_tests", sets(o.list_tests)},
      {"benchmark_filter", sets_utf8(o.filter)},
      {"benchmark_out", sets_given(o.out, "FILE: needs the name of a file to write")},
      {"benchmark_format", sets_one_of(o.format, formats)},
      {"benchmark_out_format", sets_one_of(o.out_format, formats)},
      {"benchmark_min_time", [&o](auto& f, auto& v) { set_min_time(o.bench, f, v); }},
      {"benchmark_min_warmup_time", sets_number(o.bench.warmup_seconds)},
      {"benchmark_time_unit",
       sets_one_of<TimeUnit>(
           o.time_unit,
           {{"ns", {"ns", 1e9}}, {"us", {"us", 1e6}}, {"ms", {"ms", 1e3}}, {"s", {"s", 1}}})},
      {"benchmark_repetitions",
       [&o](auto& f, auto& v) {
         constexpr int most_repetitions = 1000;  // each row is kept in memory as often
         o.repetitions = number<int>(f, v);
         if (o.repetitions < 1 || o.repetitions > most_repetitions) {
           throw UsageError("--" + f + "='" + v + "': must be from 1 to " +
                            std::to_string(most_repetitions));
         }
         o.rest.push_back("--" + f + "=" + v);
       }},
      {"benchmark_report_aggregates_only", sets(o.report_aggregates_only)},
      {"benchmark_display_aggregates_only", sets(o.display_aggregates_only)},
      {"benchmark_context",
       [&o](auto& f, auto& v) {
         check_utf8(f, v);
         o.context = pairs(f, v);
       }},
      {"benchmark_color",
       [&o](auto& f, auto& v) {
         o.colour = v == "auto"     ? Colour::automatic
                    : boolean(f, v) ? Colour::always
                                    : Colour::never;
       }},
      {"benchmark_counters_tabular",
       [](auto& f, auto& v) { only_on(f, v, "counters are always columns of the table"); }},
      {"benchmark_perf_counters",
       [](auto& f, auto& v) {
         throw UsageError("--" + f + "='" + v +
                          "': these are counters of the CPU; for a GPU's, use ncu");
       }},
  };
}

}  // namespace

std::string unknown_flag(const std::string& word) {
  Options unused;
  Flags flags = own_flags(unused);
  flags.merge(benchmark_flags(unused));
  std::vector<std::string> names;
  for (const auto& [name, take] : flags) names.push_back("--" + name);
  const std::string meant = did_you_mean(word.substr(0, word.find('=')), names);
  return "unknown flag '" + word + "'" + (meant.empty() ? ";" : meant) + " --help lists them all";
}

Options parse_options(int argc, char** argv) {
  Options o;
  Flags flags = own_flags(o);
  flags.merge(benchmark_flags(o));
  o.command.emplace_back(argv[0]);
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (!word.starts_with("--resume")) o.command.push_back(word);
    const auto equals = word.find('=');
    const std::string flag = word.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
    if (word == "-h") {
      o.help = true;
    } else if (const auto take = flags.find(flag.starts_with("--") ? flag.substr(2) : "");
               take != flags.end()) {
      take->second(take->first, value);
    } else if (flag.starts_with("--benchmark_") || flag == "--v") {
      o.rest.push_back(word);
    } else {
      throw UsageError(unknown_flag(word));
    }
  }
  if (!o.resumed.empty()) {
    if (!o.out.empty() && o.out != o.resumed) {
      throw UsageError("--resume='" + o.resumed + "' writes that file: remove --benchmark_out='" +
                       o.out + "'");
    }
    o.out = o.resumed;
  }
  return o;
}

std::vector<std::pair<std::string, std::filesystem::path>> files_read(const Options& options) {
  std::vector<std::pair<std::string, std::filesystem::path>> inputs;
  if (!options.conditions.empty()) inputs.emplace_back("--conditions", options.conditions);
  constexpr std::string_view model = "model:";
  if (options.device.starts_with(model)) {
    const std::string device = options.device.substr(model.size());
    if (std::ranges::count(known_devices(), device) == 0) inputs.emplace_back("--device", device);
  }
  return inputs;
}

}  // namespace gpubench
