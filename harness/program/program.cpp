#include "harness/program/program.hpp"

#include <benchmark/benchmark.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>

#include "harness/bench/run_row.hpp"
#include "harness/program/options.hpp"
#include "harness/program/results.hpp"
#include "harness/program/trace.hpp"
#include "harness/records/explanation.hpp"
#include "harness/system/child_process.hpp"
#include "harness/system/cuda_environment.hpp"
#include "harness/system/error.hpp"
#include "harness/system/interrupt.hpp"
#include "harness/system/process_group.hpp"
#include "harness/system/version.hpp"

namespace gpubench {
namespace {

using nlohmann::ordered_json;

constexpr int interrupted_exit = 130;  // as shells have it: 128 and SIGINT

// Draws "12 of 80  coalescing  0:31, about 2:40 left" over itself, on a terminal only.
class Progress {
 public:
  explicit Progress(std::size_t total)
      : total_(total), on_(isatty(STDERR_FILENO) != 0 && Processes::all().index() == 0) {}
  void starts(const Instance& row) {
    if (!on_) return;
    const double elapsed = seconds();
    std::ostringstream line;
    line << "\r\033[K" << done_ + 1 << " of " << total_ << "  " << row.topic << "  "
         << clock(elapsed);
    if (done_ > 0) {
      line << ", about "
           << clock(elapsed / static_cast<double>(done_) * static_cast<double>(total_ - done_))
           << " left";
    }
    std::cerr << line.str() << std::flush;
    ++done_;
  }
  void clear() const {
    if (on_) std::cerr << "\r\033[K" << std::flush;
  }
  // Since the first row was about to start.
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  static std::string clock(double seconds) {
    const auto whole = static_cast<long>(seconds);
    return std::to_string(whole / 60) + (whole % 60 < 10 ? ":0" : ":") + std::to_string(whole % 60);
  }
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::size_t done_ = 0, total_;
  bool on_;
};

// Google Benchmark runs, repeats and aggregates; what is printed and written is ours.
class Collector final : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.run_type == Run::RT_Aggregate) aggregates.push_back(run);
    }
  }
  Aggregates aggregates;
};

std::string now() {
  const std::time_t t = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&t, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S+00:00", &utc);
  return text;
}

#ifdef NDEBUG
constexpr bool optimised = true;
#else
constexpr bool optimised = false;
#endif

ordered_json context_json(const Options& options, Platform& platform, const char* executable) {
  const benchmark::CPUInfo& cpu = benchmark::CPUInfo::Get();
  const auto& device = platform.device();
  const auto [major, minor] = device.compute_capability();
  ordered_json json = {{"date", now()},
                       {"host_name", benchmark::SystemInfo::Get().name},
                       {"executable", executable},
                       {"num_cpus", cpu.num_cpus},
                       {"mhz_per_cpu", static_cast<int>(cpu.cycles_per_second / 1e6)},
                       {"cpu_scaling_enabled", cpu.scaling == benchmark::CPUInfo::ENABLED},
                       {"caches", ordered_json::array()},
                       {"load_avg", cpu.load_avg},
                       {"library_build_type", optimised ? "release" : "debug"},
                       {"schema_version", 1},
                       {"gpubench_version", version::number},
                       {"device_kind", platform.kind() == DeviceKind::model ? "model" : "cuda"},
                       {"device", device.name()},
                       {"device_title", device.title()},
                       {"compute_capability", std::to_string(major) + "." + std::to_string(minor)},
                       {"compiler", version::compiler},
                       {"compiler_flags", version::flags},
                       {"git_commit", version::commit},
                       {"git_dirty", version::dirty},
                       {"suite", options.suite_name},
                       {"mode", options.bench.mode == Mode::cold ? "cold" : "hot"},
                       {"seed", options.bench.seed}};
  if (const std::string cuda = platform.cuda_version(); !cuda.empty()) json["cuda_version"] = cuda;
  if (const std::string name = platform.conditions(); !name.empty()) json["conditions"] = name;
  if (platform.health() != nullptr) {
    if (const auto driver = platform.health()->driver_version()) json["driver_version"] = *driver;
  }
  // What not every run has, or has only at its end, is no less gpubench's own.
  const std::set<std::string, std::less<>> not_always{"conditions", "cuda_version",
                                                      "driver_version", "interrupted", "roofs"};
  for (const auto& [key, value] : options.context) {
    if (json.contains(key) || not_always.contains(key)) {
      throw UsageError("--benchmark_context: '" + key + "' is a key of gpubench's own");
    }
    json[key] = value;
  }
  return json;
}

ordered_json roofs_json(const std::vector<StatedRoof>& roofs) {
  ordered_json json = ordered_json::array();
  for (const StatedRoof& roof : roofs) {
    json.push_back({{"name", roof.name},
                    {"kind", roof.kind},
                    {"value", roof.value},
                    {"provenance", roof.provenance},
                    {"source", roof.source}});
  }
  return json;
}

// A device file that lives as long as this object.
class TemporaryDeviceFile {
 public:
  explicit TemporaryDeviceFile(const DeviceSpec& device) {
    std::string pattern = (std::filesystem::temp_directory_path() / "gpubench-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) {
      throw std::runtime_error("cannot make a directory like " + pattern);
    }
    directory_ = pattern;
    write_file(path_ = directory_ / (device.name() + ".json"), device_file_text(device));
  }
  TemporaryDeviceFile(const TemporaryDeviceFile&) = delete;
  ~TemporaryDeviceFile() {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path directory_, path_;
};

// On a GPU: the model's answer for the same rows, by name. Empty when the model cannot run it.
std::map<std::string, ordered_json> predictions(const Options& options, const Platform& platform) {
  std::map<std::string, ordered_json> by_name;
  if (platform.device().kind() != "gpu") {
    std::cerr << "gpubench: no prediction: no device file describes this GPU, and too little "
                 "follows from its attributes\n";
    return by_name;
  }
  std::optional<TemporaryDeviceFile> derived;
  if (!platform.has_device_file()) {
    std::cerr << "gpubench: no device file describes this GPU: predictions and roofs are derived "
                 "from its attributes and architecture\n";
    derived.emplace(platform.device());
  }
  const std::string model = sibling_program("gpubench-model");
  const Ended ended = run_program(
      {model, "--device=model:" + (derived ? derived->path() : platform.device().name()),
       "--benchmark_filter=" + options.filter, "--suite=" + options.suite_name,
       "--seed=" + std::to_string(options.bench.seed),
       std::string("--mode=") + (options.bench.mode == Mode::cold ? "cold" : "hot"),
       std::string("--profile=") + (options.bench.profile ? "true" : "false"),
       "--benchmark_format=json"});
  // 1: some rows failed on the model; the others are predicted. A measurement needs none of them.
  const ordered_json file =
      ended.exit_code <= 1 ? ordered_json::parse(ended.output, nullptr, false) : ordered_json();
  if (!file.is_object() || !file.contains("benchmarks")) {
    std::cerr << "gpubench: no prediction: gpubench-model ended with exit code " << ended.exit_code
              << '\n';
    return by_name;
  }
  for (auto& row : file.at("benchmarks")) {
    if (row.contains("model_seconds")) by_name[row.at("name")] = row;
  }
  return by_name;
}

void take_prediction(Row& row, const ordered_json& prediction) {
  for (const char* name : {"model_seconds", "sectors_per_request", "wavefronts_per_request",
                           "active_lanes", "occupancy"}) {
    if (prediction.contains(name)) row.counters.try_emplace(name, prediction.at(name));
  }
  row.bound = prediction.value("label", "");
  row.counts = prediction.value("counts", "");
  row.assuming = prediction.value("assuming", "");
  if (prediction.contains("terms")) {
    for (const auto& [name, seconds] : prediction.at("terms").items()) {
      row.terms.emplace_back(name, seconds);
    }
  }
  if (prediction.contains("instructions")) {
    for (const auto& [name, count] : prediction.at("instructions").items()) {
      row.instructions.emplace_back(name, count);
    }
  }
  for (const auto& one : prediction.value("launches", ordered_json::array())) {
    row.launches.push_back({one.at("kernel"), one.at("times"), one.at("figures"),
                            one.value("departures", std::map<std::string, std::string>())});
  }
}

// A line of the table: what the device file knows, "-" where it has nothing.
void list_device(const DeviceSpec& device, const std::string& prefix) {
  const auto roofs = device.data_sheet_roofs();
  const auto peak = [&](std::string_view name, const char* unit) {
    const auto found = std::ranges::find(roofs, name, &Roof::name);
    return found == roofs.end() ? std::string("-") : with_prefix(found->value, unit);
  };
  const auto bytes = device.find("dram_bytes");
  // BF16, or FP16 where a device has only that.
  std::string half = peak("tensor_bf16", "FLOP/s");
  if (half == "-") half = peak("tensor_fp16", "FLOP/s");
  std::cout << "  " << std::left << std::setw(18) << prefix + device.name() << std::setw(30)
            << device.title() << std::right << std::setw(8)
            << (bytes ? with_prefix(*bytes, "B") : "-") << std::setw(11) << peak("dram", "B/s")
            << std::setw(14) << peak("fp32", "FLOP/s") << std::setw(15) << half << '\n';
}

void list_devices() {
  const auto gpus = list_gpus();
  std::cout << "CUDA devices\n";
  for (const std::string& line : gpus) std::cout << "  " << line << '\n';
  if (gpus.empty()) std::cout << "  none that this program can use\n";
  const auto table = [](const char* title, const std::string& kind, const std::string& prefix) {
    std::cout << std::left << std::setw(50) << title << std::right << std::setw(8) << "memory"
              << std::setw(11) << "bandwidth" << std::setw(14) << "fp32" << std::setw(15)
              << "16-bit tensor" << '\n';
    for (const std::string& name : known_devices()) {
      const DeviceSpec device = device_spec(name);
      if (device.kind() == kind) list_device(device, prefix);
    }
  };
  table("Model devices, at their maximum clock", "gpu", "model:");
  table("Data sheets only, which the model cannot run", "roof", "");
  std::cout << "A device file of yours: --device=model:path/to/it.json\n";
}

// "model:NAME" without its kind; this program measures or models, never the other.
std::string selector_of(const Options& options) {
  const bool model = program_kind() == DeviceKind::model;
  // Processes on one machine take a GPU each.
  const std::string own = std::to_string(Processes::all().index_on_host());
  if (options.device == "auto") return model ? "h200-sxm" : own;
  const std::string kind = model ? "model" : "cuda";
  if (!model && options.device == kind) return own;
  if (!options.device.starts_with(kind + ":") || options.device.size() == kind.size() + 1) {
    throw UsageError("--device='" + options.device +
                     "': takes auto, cuda, cuda:N or model:NAME; --list_devices lists them");
  }
  return options.device.substr(kind.size() + 1);
}

// The row that --explain names, of any suite. UsageError: there is none such, or no model to ask.
std::vector<Instance> row_to_explain(const Options& options) {
  if (program_kind() != DeviceKind::model) {
    throw UsageError(
        "--explain needs the model device, which sees every lane: add"
        " --device=model:NAME; --list_devices lists them");
  }
  if (!options.filter.empty() || options.repetitions > 1) {
    throw UsageError("--explain runs the one row that it names, once: leave --benchmark_" +
                     std::string(options.filter.empty() ? "repetitions" : "filter") + " away");
  }
  std::vector<Instance> rows = instances(Suite::full);
  std::erase_if(rows, [&](const Instance& i) { return i.name != options.explain; });
  if (rows.empty()) {
    throw UsageError("--explain: no row is called '" + options.explain +
                     "'; --benchmark_list_tests lists them");
  }
  return rows;
}

// NAME.explain.json: what the charts of a warp are drawn from.
ordered_json explanations_json(const std::string& row, const std::vector<Explanation>& explanations,
                               const ordered_json& context) {
  ordered_json json = {{"context", context}, {"explanations", ordered_json::array()}};
  for (const Explanation& explanation : explanations) {
    ordered_json one = {{"name", row}};
    one.update(explanation_json(explanation));
    json["explanations"].push_back(std::move(one));
  }
  return json;
}

// The rows that show a roof at its best, of any suite.
std::vector<Instance> roof_rows() {
  std::vector<Instance> rows = instances(Suite::full);
  std::erase_if(rows, [](const Instance& i) { return !i.is_roof; });
  return rows;
}

}  // namespace

int run_program(int argc, char** argv) {
  Processes::start();
  const Options options = parse_options(argc, argv);
  if (options.help) {
    std::cout << help_text();
    return 0;
  }
  if (options.version) {
    std::cout << "gpubench " << version::number << ", commit " << version::commit
              << (version::dirty ? " (modified)" : "") << ", " << version::compiler << '\n';
    return 0;
  }
  if (options.list_devices) {
    list_devices();
    return 0;
  }
  const std::vector<Instance> rows_to_run =
      !options.explain.empty()
          ? row_to_explain(options)
          : filtered(options.roofs ? roof_rows() : instances(options.suite), options.filter);
  if (rows_to_run.empty()) {
    throw UsageError("no row of the " + options.suite_name + " suite matches --benchmark_filter='" +
                     options.filter + "'; --benchmark_list_tests lists them");
  }
  if (options.list_tests) {
    for (const Instance& i : rows_to_run) std::cout << i.name << '\n';
    return 0;
  }
  std::vector<std::string> words = options.rest;
  words.insert(words.begin(), argv[0]);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  int count = static_cast<int>(arguments.size());
  benchmark::Initialize(&count, arguments.data());
  if (count > 1) {
    throw UsageError(std::string("unknown flag '") + arguments[1] + "'; --help lists them all");
  }
  const bool speaks = Processes::all().index() == 0;  // of several processes, the first
  if (!speaks && std::freopen("/dev/null", "w", stdout) == nullptr) {
    throw std::runtime_error("cannot open /dev/null");
  }
  for (const std::string& file : {options.out, options.trace}) {
    if (!file.empty() && speaks) check_writable(file);
  }
  for (const char* ending : {"", ".samples.jsonl", ".series.jsonl", ".explain.json"}) {
    std::filesystem::path beside = options.out;
    if (*ending != '\0') beside.replace_extension(ending);
    if (!options.out.empty() && beside == options.trace) {
      throw UsageError("--trace='" + options.trace + "' is a file that --benchmark_out writes");
    }
  }
  const std::unique_ptr<Platform> platform =
      open_platform(selector_of(options), options.conditions);
  platform->set_explaining(!options.explain.empty());
  const auto predicted = options.predict && speaks && platform->kind() == DeviceKind::cuda
                             ? predictions(options, *platform)
                             : std::map<std::string, ordered_json>{};

  std::size_t width = 0;
  for (const Instance& i : rows_to_run) width = std::max(width, i.name.size() + 1);
  if (options.repetitions > 1) width += std::string_view("_median").size();
  const bool to_console = options.format == Format::console;
  std::ostream& info = to_console || !speaks ? std::cout : std::cerr;
  const bool modelled = platform->kind() == DeviceKind::model;
  Results results;
  results.context = context_json(options, *platform, argv[0]);
  std::vector<Row>& rows = results.rows;
  if (const char* why = std::getenv(modelled_because); why != nullptr && modelled && speaks) {
    std::cerr << "gpubench: " << why << ": every figure below is MODELLED for "
              << platform->device().name() << ", not measured\n";
  }
  info << headline_text(results.context);
  if (to_console) std::cout << console_header(width) << std::flush;
  // With only one repetition there are no aggregates to show instead.
  const bool row_by_row =
      to_console && (options.repetitions == 1 ||
                     !(options.report_aggregates_only || options.display_aggregates_only));

  std::vector<Explanation> explanations;
  std::set<std::string> spoiled;  // failed or skipped once: the other repetitions are not run
  Progress progress(rows_to_run.size());
  for (const Instance& instance : rows_to_run) {
    benchmark::RegisterBenchmark(
        instance.name.c_str(),
        [&, repetition = 0](benchmark::State& state) mutable {
          if (interrupted()) {  // the rows that are left are not run
            for (auto _ : state) state.SetIterationTime(1);
            return;
          }
          Row row;
          if (spoiled.contains(instance.name)) {
            row =
                rows[static_cast<std::size_t>(std::find_if(rows.begin(), rows.end(),
                                                           [&](const Row& r) {
                                                             return r.name == instance.name &&
                                                                    r.outcome != Outcome::measured;
                                                           }) -
                                              rows.begin())];
          } else {
            if (repetition == 0) progress.starts(instance);
            row = run_row(instance, *platform, options.bench);
            if (repetition == 0) explanations = platform->explanations();
            progress.clear();
            if (const auto found = predicted.find(row.name); found != predicted.end()) {
              take_prediction(row, found->second);
            }
            if (row_by_row || (to_console && row.outcome != Outcome::measured)) {
              std::cout << console_line(row, width) << (options.terms ? terms_line(row) : "")
                        << std::flush;
            }
          }
          row.repetition = repetition++;
          if (row.outcome != Outcome::measured) spoiled.insert(row.name);
          // Google Benchmark is told of no error: 1.7.1 crashes on one among good repetitions. The
          // row says it.
          for (auto _ : state) state.SetIterationTime(row.median_seconds);
          for (const auto& [name, value] : row.counters) state.counters[name] = value;
          rows.push_back(std::move(row));
        })
        ->Iterations(1)
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond);
  }

  catch_interrupts();
  Collector collector;
  std::ostringstream nowhere;
  collector.SetOutputStream(&nowhere);
  benchmark::RunSpecifiedBenchmarks(&collector, nullptr, "all");
  results.aggregates = std::move(collector.aggregates);

  const bool cut_short = interrupted();
  if (cut_short) {
    results.context["interrupted"] = true;
    results.aggregates.clear();  // of rows that were not all run
    if (rows.empty()) {
      info << "interrupted before the first row was done: nothing written\n";
      return interrupted_exit;
    }
  }
  results.context["run_seconds"] = progress.seconds();
  if (!options.filter.empty()) results.context["filter"] = options.filter;
  const auto roofs = state_roofs(rows, *platform);
  judge_rows(rows, best_roofs(roofs));
  results.context["roofs"] = roofs_json(roofs);
  const auto text_of = [&](Format format) {
    if (format == Format::csv) return result_csv(results, options);
    if (format == Format::json) return result_json(results, options).dump(1) + "\n";
    return console_text(results, options, width);
  };
  std::cout << (to_console ? console_aggregates(results, width) : text_of(options.format));
  if (options.roofs) info << '\n' << roofs_text(roofs) << '\n';
  for (const Explanation& explanation : explanations) info << '\n' << explanation_text(explanation);
  if (!options.explain.empty() && explanations.empty() &&
      rows.front().outcome == Outcome::measured) {
    info << "nothing to explain: this row runs no kernel that the model executes\n";
  }
  if (!std::cout.flush()) throw std::runtime_error("cannot write to standard output");
  if (!options.out.empty() && speaks) {
    const std::filesystem::path samples =
        std::filesystem::path(options.out).replace_extension(".samples.jsonl");
    write_file(samples, samples_lines(results));
    write_file(options.out, text_of(options.out_format));
    info << "wrote " << options.out << " and " << samples.string() << '\n';
    if (const std::string series = series_lines(results); !series.empty()) {
      const auto path = std::filesystem::path(options.out).replace_extension(".series.jsonl");
      write_file(path, series);
      info << "wrote " << path.string() << '\n';
    }
    if (!explanations.empty()) {
      const auto path = std::filesystem::path(options.out).replace_extension(".explain.json");
      write_file(path,
                 explanations_json(options.explain, explanations, results.context).dump(1) + "\n");
      info << "wrote " << path.string() << '\n';
    }
  }
  if (!options.trace.empty() && speaks) {
    write_file(options.trace, trace_json(rows, results.context).dump() + "\n");
    info << "wrote " << options.trace << '\n';
  }
  std::size_t skipped = 0, failed = 0;
  for (const Row& row : rows) {
    skipped += row.outcome == Outcome::skipped;
    failed += row.outcome == Outcome::failed;
  }
  if (cut_short) {
    info << "interrupted: " << rows.size() << " of " << rows_to_run.size() << " rows\n";
  }
  const std::size_t done = rows.size() - skipped - failed;
  info << done << (done == 1 ? " row " : " rows ") << (modelled ? "modelled" : "measured") << ", "
       << skipped << " skipped, " << failed << " failed\n";
  return cut_short ? interrupted_exit : failed > 0 ? 1 : 0;
}

}  // namespace gpubench
