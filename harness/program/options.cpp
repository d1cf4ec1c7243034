#include "harness/program/options.hpp"

#include <regex.h>

#include <charconv>
#include <cmath>
#include <functional>
#include <map>
#include <sstream>

#include "harness/system/error.hpp"

namespace gpubench {
namespace {

template <class T>
T one_of(const std::string& flag, const std::string& value, const std::map<std::string, T>& known) {
  if (const auto found = known.find(value); found != known.end()) return found->second;
  std::string names;
  for (const auto& [name, unused] : known) names += (names.empty() ? "" : ", ") + name;
  throw UsageError("--" + flag + "='" + value + "': takes one of " + names);
}

bool boolean(const std::string& flag, const std::string& value) {
  return one_of<bool>(flag, value,
                      {{"", true},
                       {"true", true},
                       {"1", true},
                       {"yes", true},
                       {"false", false},
                       {"0", false},
                       {"no", false}});
}

template <class T>
T number(const std::string& flag, const std::string& value) {
  T result{};
  const char* end = value.data() + value.size();
  const auto parsed = std::from_chars(value.data(), end, result);
  bool good = parsed.ec == std::errc() && parsed.ptr == end && !value.empty();
  if constexpr (std::is_floating_point_v<T>) good = good && std::isfinite(result) && result >= 0;
  if (!good) {
    throw UsageError("--" + flag + "='" + value + "': takes a number that is not negative");
  }
  return result;
}

// KEY=VALUE,KEY=VALUE
std::vector<std::pair<std::string, std::string>> pairs(const std::string& flag,
                                                       const std::string& value) {
  std::vector<std::pair<std::string, std::string>> result;
  std::istringstream items(value);
  for (std::string item; std::getline(items, item, ',');) {
    const auto equals = item.find('=');
    if (equals == 0 || equals == std::string::npos) {
      throw UsageError("--" + flag + "='" + value +
                       "': takes KEY=VALUE, more of them after commas");
    }
    result.emplace_back(item.substr(0, equals), item.substr(equals + 1));
  }
  return result;
}

// For flags of Google Benchmark's that shape an output which has one shape here.
void only(const std::string& flag, const std::string& value, bool possible, const char* why) {
  if (value != "auto" && boolean(flag, value) != possible) {
    throw UsageError("--" + flag + "='" + value + "': " + why);
  }
}

}  // namespace

Options parse_options(int argc, char** argv) {
  Options o;
  const std::map<std::string, Format> formats = {
      {"console", Format::console}, {"json", Format::json}, {"csv", Format::csv}};
  using Take = std::function<void(const std::string& flag, const std::string& value)>;
  const std::map<std::string, Take> ours = {
      {"device", [&](auto&, auto& v) { o.device = v; }},
      {"conditions",
       [&](auto& f, auto& v) {
         if (v.empty()) throw UsageError("--" + f + "=FILE: takes the name of a file");
         o.conditions = v;
       }},
      {"suite",
       [&](auto& f, auto& v) {
         o.suite_name = v;
         o.suite = one_of<Suite>(
             f, v, {{"quick", Suite::quick}, {"default", Suite::standard}, {"full", Suite::full}});
       }},
      {"mode",
       [&](auto& f, auto& v) {
         o.bench.mode = one_of<Mode>(f, v, {{"cold", Mode::cold}, {"hot", Mode::hot}});
       }},
      {"seed", [&](auto& f, auto& v) { o.bench.seed = number<std::uint64_t>(f, v); }},
      {"watch_seconds", [&](auto& f, auto& v) { o.bench.watch_seconds = number<double>(f, v); }},
      {"profile", [&](auto& f, auto& v) { o.bench.profile = boolean(f, v); }},
      {"whole_grids", [&](auto& f, auto& v) { o.bench.whole_grids = boolean(f, v); }},
      {"predict", [&](auto& f, auto& v) { o.predict = boolean(f, v); }},
      {"roofs", [&](auto& f, auto& v) { o.roofs = boolean(f, v); }},
      {"terms", [&](auto& f, auto& v) { o.terms = boolean(f, v); }},
      {"explain",
       [&](auto& f, auto& v) {
         if (v.empty()) throw UsageError("--" + f + "=NAME: takes the name of a row");
         o.explain = v;
       }},
      {"list_devices", [&](auto& f, auto& v) { o.list_devices = boolean(f, v); }},
      {"help", [&](auto& f, auto& v) { o.help = boolean(f, v); }},
      {"version", [&](auto& f, auto& v) { o.version = boolean(f, v); }},
      {"benchmark_list_tests", [&](auto& f, auto& v) { o.list_tests = boolean(f, v); }},
      {"benchmark_filter", [&](auto&, auto& v) { o.filter = v; }},
      {"trace",
       [&](auto& f, auto& v) {
         if (v.empty()) throw UsageError("--" + f + "=FILE: takes the name of a file to write");
         o.trace = v;
         o.bench.trace = true;
       }},
      {"benchmark_out", [&](auto&, auto& v) { o.out = v; }},
      {"benchmark_format", [&](auto& f, auto& v) { o.format = one_of(f, v, formats); }},
      {"benchmark_out_format", [&](auto& f, auto& v) { o.out_format = one_of(f, v, formats); }},
      {"benchmark_min_time",
       [&](auto& f, auto& v) {
         o.bench.budget_seconds =
             number<double>(f, v.ends_with('s') ? v.substr(0, v.size() - 1) : v);
       }},
      {"benchmark_min_warmup_time",
       [&](auto& f, auto& v) { o.bench.warmup_seconds = number<double>(f, v); }},
      {"benchmark_time_unit",
       [&](auto& f, auto& v) {
         o.time_unit = one_of<TimeUnit>(
             f, v,
             {{"ns", {"ns", 1e9}}, {"us", {"us", 1e6}}, {"ms", {"ms", 1e3}}, {"s", {"s", 1}}});
       }},
      {"benchmark_repetitions",
       [&](auto& f, auto& v) {
         o.repetitions = number<int>(f, v);
         if (o.repetitions < 1) throw UsageError("--" + f + "='" + v + "': takes at least 1");
         o.rest.push_back("--" + f + "=" + v);
       }},
      {"benchmark_report_aggregates_only",
       [&](auto& f, auto& v) { o.report_aggregates_only = boolean(f, v); }},
      {"benchmark_display_aggregates_only",
       [&](auto& f, auto& v) { o.display_aggregates_only = boolean(f, v); }},
      {"benchmark_context", [&](auto& f, auto& v) { o.context = pairs(f, v); }},
      {"benchmark_color", [&](auto& f, auto& v) { only(f, v, false, "the table has no colours"); }},
      {"benchmark_counters_tabular",
       [&](auto& f, auto& v) { only(f, v, true, "counters are always columns of the table"); }},
      {"benchmark_perf_counters",
       [&](auto& f, auto& v) {
         throw UsageError("--" + f + "='" + v + "': counts events of the CPU; for a GPU's: ncu");
       }},
  };
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto equals = word.find('=');
    const std::string flag = word.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
    if (word == "-h") {
      o.help = true;
    } else if (const auto take = ours.find(flag.starts_with("--") ? flag.substr(2) : "");
               take != ours.end()) {
      take->second(take->first, value);
    } else if (flag.starts_with("--benchmark_") || flag == "--v") {
      o.rest.push_back(word);
    } else {
      throw UsageError("unknown flag '" + word + "'; --help lists them all");
    }
  }
  return o;
}

const char* help_text() {
  return R"(gpubench: what a GPU really does, concept by concept, beside what theory predicts.

  ./gpubench --benchmark_filter='^coalescing/'            one concept, on the GPU or the model
  ./gpubench --device=model:h100-sxm --terms              what an H100 would do, and why
  ./gpubench --benchmark_out=run.json                     a result file; scripts/bench adds charts

Where it runs
  --device=auto|cuda[:N]|model:NAME   auto takes the GPU if there is one, else model:h200-sxm.
                                      model:FILE.json takes a device file of yours.
  --conditions=FILE                   a model device that is less kind, as the JSON file says:
                                      what comes late, out of order, slowly or never
  --list_devices                      every GPU here and every device the model knows
What it runs
  --benchmark_filter=REGEX            rows whose name matches; a leading '-' takes the others
  --benchmark_list_tests              the names, and nothing else
  --suite=quick|default|full          quick: the ends of every axis
  --roofs                             only the rows that measure a roof (memory, caches, arithmetic),
                                      and a table of the roofs beside the data sheet's
How it measures
  --mode=cold|hot                     cold: buffers the caches have forgotten. hot: batches
  --benchmark_min_time=SECONDS        time budget of a row (0.5)
  --benchmark_min_warmup_time=SECONDS warm-up of a row, thrown away (0.1)
  --benchmark_repetitions=N           whole rows again, with mean, median, stddev and cv
  --benchmark_report_aggregates_only, --benchmark_display_aggregates_only
                                      only those four; display: in files all the same
  --profile                           one ungated run a row, for ncu and compute-sanitizer
  --watch_seconds=SECONDS             how long `throttle` watches a GPU (30)
  --seed=N                            of the input data (42)
What it says
  --benchmark_out=FILE                the result file: JSON, or --benchmark_out_format=csv|console;
                                      raw samples go beside it, as NAME.samples.jsonl. Ctrl-C
                                      ends a run early, with what it has in these files
  --benchmark_format=console|json|csv on standard output
  --benchmark_time_unit=ns|us|ms|s    of real_time and cpu_time in files (us)
  --benchmark_context=KEY=VALUE,...   keys of your own in the file's context
  --predict                           on a GPU: the model's prediction for each row beside it
  --terms                             the prediction's terms, a line each
  --explain=ROW                       on the model: runs that row alone and shows, line by line of
                                      its kernels, which lane of a warp asks for which sector or
                                      bank; --benchmark_out adds it as NAME.explain.json
  --trace=FILE                        what happened when in one more run of each row, for
                                      ui.perfetto.dev or chrome://tracing; on a GPU, by events
                                      around every operation
  --whole_grids                       on the model: run every block of a kernel, not a sample
  --version                           the program's number, commit and compiler
Every flag that begins with --benchmark_ is Google Benchmark's and keeps its meaning.
Exit code: 0 all rows ran or were skipped with a reason, 1 a row or the run failed, 2 bad usage,
130 interrupted.
)";
}

std::vector<Instance> filtered(std::vector<Instance> all, const std::string& filter) {
  if (filter.empty() || filter == "all") return all;
  const bool inverted = filter.starts_with('-');
  regex_t expression;  // what Google Benchmark itself reads filters with
  if (regcomp(&expression, filter.c_str() + inverted, REG_EXTENDED | REG_NOSUB) != 0) {
    throw UsageError("--benchmark_filter='" + filter + "': not a regular expression");
  }
  std::erase_if(all, [&](const Instance& i) {
    return (regexec(&expression, i.name.c_str(), 0, nullptr, 0) == 0) == inverted;
  });
  regfree(&expression);
  return all;
}

}  // namespace gpubench
