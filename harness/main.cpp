// The main program of gpubench-cuda and of gpubench-model: flags, rows, result file.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <sstream>

#include "harness/error.hpp"
#include "harness/options.hpp"
#include "harness/process.hpp"
#include "harness/results.hpp"
#include "harness/run_row.hpp"
#include "harness/trace.hpp"
#include "harness/version.hpp"

namespace gpubench {
namespace {

using nlohmann::ordered_json;

// Draws "12 of 80  coalescing  0:31, about 2:40 left" over itself, on a terminal only.
class Progress {
 public:
  explicit Progress(std::size_t total) : total_(total), on_(isatty(STDERR_FILENO) != 0) {}
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

 private:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }
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

ordered_json context_json(const Options& options, Platform& platform, const char* executable,
                          const std::vector<StatedRoof>& roofs) {
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
  if (platform.health() != nullptr) {
    if (const auto driver = platform.health()->driver_version()) json["driver_version"] = *driver;
  }
  json["roofs"] = ordered_json::array();
  for (const StatedRoof& roof : roofs) {
    json["roofs"].push_back({{"name", roof.name},
                             {"kind", roof.kind},
                             {"value", roof.value},
                             {"provenance", roof.provenance},
                             {"source", roof.source}});
  }
  return json;
}

// On a GPU: the model's answer for the same rows, by name. Empty when the GPU has no device file.
std::map<std::string, ordered_json> predictions(const Options& options, const Platform& platform) {
  std::map<std::string, ordered_json> by_name;
  if (!platform.has_device_file()) {
    std::cerr << "gpubench: no prediction: no device file describes this GPU\n";
    return by_name;
  }
  const std::string model = sibling_program("gpubench-model");
  const std::string output = output_of(
      {model, "--device=model:" + platform.device().name(), "--benchmark_filter=" + options.filter,
       "--suite=" + options.suite_name, "--seed=" + std::to_string(options.bench.seed),
       std::string("--mode=") + (options.bench.mode == Mode::cold ? "cold" : "hot"),
       "--benchmark_format=json"});
  for (auto& row : ordered_json::parse(output).at("benchmarks")) {
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
  if (prediction.contains("terms")) {
    for (const auto& [name, seconds] : prediction.at("terms").items()) {
      row.terms.emplace_back(name, seconds);
    }
  }
}

void list_devices() {
  const auto gpus = list_gpus();
  std::cout << "CUDA devices\n";
  for (const std::string& line : gpus) std::cout << "  " << line << '\n';
  if (gpus.empty()) std::cout << "  none that this program can use\n";
  std::cout << "Model devices\n";
  for (const std::string& name : known_devices()) {
    const DeviceSpec device = device_spec(name);
    std::cout << "  model:" << name << "  " << device.title();
    for (const Roof& roof : device.data_sheet_roofs()) {
      if (roof.name == "dram") std::cout << ", DRAM " << with_prefix(roof.value, "B/s");
      if (roof.name == "fp32") std::cout << ", fp32 " << with_prefix(roof.value, "FLOP/s");
      if (roof.name == "tensor_bf16") {
        std::cout << ", bf16 " << with_prefix(roof.value, "FLOP/s");
      }
    }
    std::cout << '\n';
  }
  std::cout << "A device file of yours: --device=model:path/to/it.json\n";
}

// "model:NAME" without its kind; this program measures or models, never the other.
std::string selector_of(const Options& options) {
  const bool model = program_kind() == DeviceKind::model;
  if (options.device == "auto") return model ? "h200-sxm" : "0";
  const std::string kind = model ? "model" : "cuda";
  if (!model && options.device == kind) return "0";
  if (!options.device.starts_with(kind + ":") || options.device.size() == kind.size() + 1) {
    throw UsageError("--device='" + options.device +
                     "': takes auto, cuda, cuda:N or model:NAME; --list_devices lists them");
  }
  return options.device.substr(kind.size() + 1);
}

int run(int argc, char** argv) {
  const Options options = parse_options(argc, argv);
  if (options.help) {
    std::cout << help_text();
    return 0;
  }
  if (options.list_devices) {
    list_devices();
    return 0;
  }
  const std::vector<Instance> rows_to_run = filtered(instances(options.suite), options.filter);
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
  if (!options.trace.empty() && program_kind() != DeviceKind::model) {
    throw UsageError(
        "--trace needs the model device (--device=model:NAME): on a GPU, timestamps "
        "around every operation would come between them");
  }
  for (const std::string& file : {options.out, options.trace}) {
    if (!file.empty()) check_writable(file);
  }
  const std::unique_ptr<Platform> platform = open_platform(selector_of(options));
  const auto predicted = options.predict && platform->kind() == DeviceKind::cuda
                             ? predictions(options, *platform)
                             : std::map<std::string, ordered_json>{};

  std::size_t width = 0;
  for (const Instance& i : rows_to_run) width = std::max(width, i.name.size() + 1);
  const bool to_console = options.format == Format::console;
  std::ostream& info = to_console ? std::cout : std::cerr;
  const bool modelled = platform->kind() == DeviceKind::model;
  info << "gpubench: " << platform->device().title()
       << (modelled ? ": MODELLED, nothing here was measured\n" : ": measured\n");
  if (to_console) std::cout << console_header(width) << std::flush;

  std::vector<Row> rows;
  std::set<std::string> spoiled;  // failed or skipped once: the other repetitions are not run
  Progress progress(rows_to_run.size());
  for (const Instance& instance : rows_to_run) {
    benchmark::RegisterBenchmark(
        instance.name.c_str(),
        [&, repetition = 0](benchmark::State& state) mutable {
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
            progress.clear();
            if (const auto found = predicted.find(row.name); found != predicted.end()) {
              take_prediction(row, found->second);
            }
            if (to_console) {
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

  Collector collector;
  std::ostringstream nowhere;
  collector.SetOutputStream(&nowhere);
  benchmark::RunSpecifiedBenchmarks(&collector, nullptr, "all");

  if (rows.empty()) throw UsageError("no row ran: --benchmark_repetitions must be at least 1");
  const auto roofs = state_roofs(rows, *platform);
  judge_rows(rows, best_roofs(roofs));
  const ordered_json context = context_json(options, *platform, argv[0], roofs);
  const auto text_of = [&](Format format) {
    if (format == Format::csv) return result_csv(rows);
    if (format == Format::json) {
      return result_json(rows, collector.aggregates, context).dump(1) + "\n";
    }
    std::string text = console_header(width);
    for (const Row& row : rows) text += console_line(row, width);
    return text;
  };
  if (!to_console) std::cout << text_of(options.format);
  if (!std::cout.flush()) throw std::runtime_error("cannot write to standard output");
  if (!options.out.empty()) {
    const std::filesystem::path samples =
        std::filesystem::path(options.out).replace_extension(".samples.jsonl");
    write_file(samples, samples_lines(rows, options.bench.mode));
    write_file(options.out, text_of(options.out_format));
    info << "wrote " << options.out << " and " << samples.string() << '\n';
  }
  if (!options.trace.empty()) {
    write_file(options.trace, trace_json(rows, context).dump() + "\n");
    info << "wrote " << options.trace << '\n';
  }
  std::size_t skipped = 0, failed = 0;
  for (const Row& row : rows) {
    skipped += row.outcome == Outcome::skipped;
    failed += row.outcome == Outcome::failed;
  }
  info << rows.size() - skipped - failed << " rows " << (modelled ? "modelled" : "measured") << ", "
       << skipped << " skipped, " << failed << " failed\n";
  return failed > 0 ? 1 : 0;
}

}  // namespace
}  // namespace gpubench

int main(int argc, char** argv) {
  try {
    return gpubench::run(argc, argv);
  } catch (const gpubench::UsageError& error) {
    std::cerr << "gpubench: " << error.what() << '\n';
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "gpubench: " << error.what() << '\n';
    return 1;
  }
}
