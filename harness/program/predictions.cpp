#include "harness/program/predictions.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

#include "harness/program/journal.hpp"
#include "harness/program/output_file.hpp"
#include "harness/records/row_json.hpp"
#include "harness/system/cores.hpp"
#include "harness/system/exception_text.hpp"
#include "harness/system/interrupt.hpp"
#include "harness/system/plain_text.hpp"
#include "harness/system/process_group.hpp"

namespace gpubench {
namespace {

using nlohmann::ordered_json;

constexpr auto pause = std::chrono::milliseconds(20);

void no_prediction(const std::string& why) {
  std::cerr << "gpubench: no prediction: " << plain_text(why) << '\n';
}

std::filesystem::path new_folder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "gpubench-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) {
    throw std::runtime_error("cannot make a directory like " + pattern);
  }
  return pattern;
}

std::string last_line(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string line, last;
  while (std::getline(stream, line)) last = line;
  return last;
}

std::vector<std::string> command_of(const std::filesystem::path& model, const Options& options,
                                    const std::string& device,
                                    const std::filesystem::path& result) {
  std::vector<std::string> words{
      model.string(),
      "--device=model:" + device,
      "--benchmark_filter=" + options.filter,
      "--suite=" + options.suite_name,
      "--seed=" + std::to_string(options.bench.seed),
      std::string("--mode=") + (options.bench.mode == Mode::cold ? "cold" : "hot"),
      std::string("--profile=") + (options.bench.profile ? "true" : "false"),
      std::string("--roofs=") + (options.roofs ? "true" : "false"),
      "--benchmark_out=" + result.string()};
  for (const ChosenAxis& axis : options.axes) words.push_back("--axis=" + axis.text);
  return words;
}

}  // namespace

Predictions::Predictions(const Options& options, const Platform& platform,
                         std::filesystem::path model)
    : program_(std::move(model)) {
  if (platform.device().kind() != "gpu") {
    no_prediction(
        "no device file describes this GPU, and its attributes are not enough to derive one");
  } else if (!std::filesystem::exists(program_)) {
    no_prediction(program_.filename().string() + " was not built");
  } else {
    try {
      prepare(options, platform);
    } catch (const std::exception& error) {  // no reason not to measure
      command_.clear();
      no_prediction(text_of(error));
    }
  }
}

void Predictions::prepare(const Options& options, const Platform& platform) {
  const DeviceSpec& device = platform.device();
  folder_ = new_folder();
  std::string name = device.name();
  if (!platform.has_device_file()) {
    std::cerr << "gpubench: no device file describes this GPU: predictions and roofs are derived "
                 "from its attributes and architecture\n";
    name = (folder_ / (name + ".json")).string();
    write_file(name, device_file_text(device));
  }
  const std::filesystem::path result = folder_ / "predicted.json";
  const std::string journal = Journal::path_of(result).string();
  write_file(journal, "");  // before the model does, which removes it when it is done
  journal_.open(journal);
  command_ = command_of(program_, options, name, result);
  const auto cpus = share(allowed_cpus(), core_of);
  if (!cpus || ProcessGroup::all().count() > 1) return;
  stay_on(cpus->own);
  start(cpus->other);
}

Predictions::~Predictions() {
  model_.reset();
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

void Predictions::start(const std::vector<int>& cpus) {
  model_.emplace(command_, folder_ / "errors", cpus);
}

// The rows that have come since the last time.
void Predictions::read() {
  journal_.clear();
  cut_off_.append(std::istreambuf_iterator<char>(journal_), std::istreambuf_iterator<char>());
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = cut_off_.find('\n', begin)) != std::string::npos;
       begin = end + 1) {
    const ordered_json line = ordered_json::parse(cut_off_.substr(begin, end - begin), nullptr,
                                                  /*allow_exceptions=*/false);
    if (!line.is_object() || !line.contains("row")) continue;
    Row row = row_of_json(line.at("row"));
    rows_.insert_or_assign(row.name, std::move(row));
  }
  cut_off_.erase(0, begin);
}

void Predictions::complete(Row& row) {
  if (command_.empty() || row.outcome != Outcome::measured ||
      row.counters.contains("model_seconds")) {
    return;
  }
  read();
  const auto found = rows_.find(row.name);
  if (found != rows_.end() && found->second.counters.contains("model_seconds")) {
    take_prediction(row, found->second);
  }
}

void Predictions::finish() {
  if (command_.empty()) return;
  if (!model_) start({});
  bool said = false;
  while (!model_->exit_code() && !interrupted()) {
    if (!said && isatty(STDERR_FILENO) != 0) {
      std::cerr << "gpubench: waiting for the model's predictions (Ctrl-C skips them)\n";
    }
    said = true;
    std::this_thread::sleep_for(pause);
  }
  read();
  // 1: some rows failed on the model; the others are predicted. A measurement needs none of them.
  const int code = model_->exit_code().value_or(0);
  if (code > 1) {
    const std::string why = last_line(folder_ / "errors");
    no_prediction(program_.filename().string() + " ended with exit code " + std::to_string(code) +
                  (why.empty() ? "" : ": " + why));
  }
}

void take_prediction(Row& row, const Row& predicted) {
  for (const char* name :
       {"model_seconds", "model_low_seconds", "model_high_seconds", "sectors_per_request",
        "wavefronts_per_request", "active_lanes", "occupancy"}) {
    if (const auto value = predicted.counter(name)) row.counters.try_emplace(name, *value);
  }
  // What the row's own figures say binds it is known better.
  if (row.bound.empty()) {
    row.bound = predicted.bound;
    row.roof = predicted.roof;
  }
  row.counts = predicted.counts;
  row.assuming = predicted.assuming;
  row.terms = predicted.terms;
  row.instructions = predicted.instructions;
  const auto take = [](std::optional<double>& moved, const std::optional<double>& of_model) {
    if (!moved) moved = of_model;
  };
  take(row.moved.dram, predicted.moved.dram);
  take(row.moved.l2, predicted.moved.l2);
  take(row.moved.l1, predicted.moved.l1);
  take(row.moved.shared, predicted.moved.shared);
  row.launches = predicted.launches;
}

}  // namespace gpubench
