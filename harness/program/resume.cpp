#include "harness/program/resume.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include "harness/bench/run_row.hpp"
#include "harness/program/roofs.hpp"
#include "harness/records/row_json.hpp"
#include "harness/system/error.hpp"
#include "harness/system/exception_text.hpp"
#include "harness/system/shell_word.hpp"

namespace gpubench {
namespace {

using nlohmann::ordered_json;

// Keys of the context, in the order in which a difference is best named.
constexpr const char* of_context[] = {"device",       "device_title",
                                      "device_kind",  "conditions",
                                      "engine",       "gpubench_version",
                                      "git_commit",   "git_dirty",
                                      "compiler",     "compiler_flags",
                                      "cuda_version", "driver_version",
                                      "host_name",    "suite",
                                      "mode",         "seed"};

// A hash of the file's contents, by words: a program is large.
std::string hash_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::uint64_t hash = 0xcbf29ce484222325;
  std::string piece(1 << 20, '\0');
  while (file.read(piece.data(), static_cast<std::streamsize>(piece.size())), file.gcount() > 0) {
    const auto bytes = static_cast<std::size_t>(file.gcount());
    for (std::size_t i = 0; i < bytes; i += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, piece.data() + i, std::min(sizeof word, bytes - i));
      hash = (hash ^ word) * 0x9e3779b97f4a7c15;
      hash ^= hash >> 32;  // or changes of the highest bits would stay there, and cancel out
    }
    hash ^= bytes;
  }
  return std::to_string(hash);
}

const char* name_of(Grids grids) {
  switch (grids) {
    case Grids::sampled:
      return "off";
    case Grids::whole:
      return "on";
    case Grids::counted:
      break;
  }
  return "counted";
}

std::string shown(const ordered_json& run, const std::string& key) {
  return run.contains(key) ? run.at(key).dump() : "absent";
}

// What the result file will say of the run: theirs, of which nobody knows who has written it.
void check_context(const ordered_json& theirs, const ordered_json& ours, const std::string& who) {
  const ordered_json& there = theirs.at("context");
  for (const auto& [key, value] : ours.at("context").items()) {
    const bool is_settled = ours.at("same").contains(key);
    const bool is_absent = !there.contains(key);
    const bool is_wrong = !is_absent && (is_settled ? there.at(key) != value
                                                    : std::string_view(there.at(key).type_name()) !=
                                                          value.type_name());
    if (is_wrong || (is_absent && (is_settled || key == "date"))) {
      std::ostringstream text;
      text << who << ": its journal was changed: the context's " << key << " is "
           << shown(there, key);
      throw UsageError(text.str());
    }
  }
}

// The law's value where it does not depend on roofs, which a row's own parts may have settled.
std::optional<double> constant_law(const Row& row, const Platform& platform) {
  Roofs roofs;
  for (const StatedRoof& roof : state_roofs({}, platform)) roofs.emplace(roof.name, roof.value);
  std::optional<double> found;
  constexpr double scales[] = {1, 1e-6, 1e6};
  for (const double scale : scales) {
    Roofs other;
    double each = scale;
    for (const auto& [name, value] : roofs) other[name] = value * (each *= 1.1);
    try {
      const double law = row.law(other);
      if (found && law != *found) return std::nullopt;
      found = law;
    } catch (const std::out_of_range&) {
      return std::nullopt;
    }
  }
  return std::isfinite(*found) ? found : std::nullopt;
}

}  // namespace

const std::string& program_hash() {
  static const std::string hash = hash_of("/proc/self/exe");
  return hash;
}

ordered_json run_json(const Options& options, const ordered_json& context,
                      const std::vector<Instance>& rows) {
  ordered_json same;
  same["filter"] = options.filter;
  for (const char* key : of_context) {
    if (context.contains(key)) same[key] = context.at(key);
  }
  const BenchSettings& bench = options.bench;
  same["benchmark_repetitions"] = options.repetitions;
  same["benchmark_min_time"] = bench.budget_seconds;
  same["exact_samples"] = bench.exact_samples.value_or(0);
  same["keep_results"] = bench.kept_results;
  same["judge_results"] = bench.judged_results;
  same["benchmark_min_warmup_time"] = bench.warmup_seconds;
  same["watch_seconds"] = bench.watch_seconds;
  same["energy"] = bench.energy;
  same["profile"] = bench.profile;
  same["whole_grids"] = name_of(bench.grids);
  same["predict"] = options.predict;
  same["benchmark_context"] = options.context;
  same["trace"] = bench.trace;
  same["explain"] = options.explain;
  same["roofs"] = options.roofs;
  // A changed file may keep its name.
  for (const auto& [flag, file] : files_read(options)) {
    if (is_regular_file(file)) same["the file of " + flag] = hash_of(file);
  }
  for (const Instance& row : rows) same["rows"].push_back(row.name);
  return {{"command", options.command}, {"same", std::move(same)}, {"context", context}};
}

void check_same_run(const ordered_json& theirs, const ordered_json& ours, const std::string& who) {
  const ordered_json& there = theirs.at("same");
  const ordered_json& here = ours.at("same");
  for (const ordered_json* side : {&here, &there}) {
    for (const auto& [key, value] : side->items()) {
      if (there.contains(key) && here.contains(key) && there.at(key) == here.at(key)) continue;
      const bool is_short = key != "rows" && key != "program" && !key.starts_with("the file of ");
      std::ostringstream text;
      text << who << ": " << key << " differs";
      if (is_short) {
        text << ": " << shown(there, key) << " in the interrupted run, " << shown(here, key)
             << " here";
      } else {
        text << " from the interrupted run";
      }
      throw UsageError(text.str());
    }
  }
  check_context(theirs, ours, who);
}

std::string resume_command(const ordered_json& run, const std::string& result_file) {
  std::string line;
  for (const auto& word : run.at("command")) {
    line += shell_word(word.get<std::string>()) + " ";
  }
  return line + shell_word("--resume=" + result_file);
}

std::string where_rows_are_kept(const Journal& journal, const std::string& result_file) {
  if (!journal.is_there()) return "the finished rows are lost: their journal was removed";
  const char* const which = journal.is_whole() ? "the" : "some of the";
  return std::string(which) +
         " finished rows are kept: " + resume_command(journal.run(), result_file);
}

ordered_json kept_row_json(const Row& row, const Platform& platform, double elapsed_seconds) {
  ordered_json json = {{"elapsed_seconds", elapsed_seconds}};
  if (row.law) {
    const std::optional<double> constant = constant_law(row, platform);
    json["law"] = constant ? ordered_json(*constant) : ordered_json("of roofs");
  }
  json["row"] = whole_row_json(row);
  return json;
}

ordered_json lost_row_json(const Row& row, double elapsed_seconds) {
  return {{"elapsed_seconds", elapsed_seconds}, {"lost", true}, {"row", whole_row_json(row)}};
}

bool is_lost_row(const ordered_json& line) { return line.contains("lost"); }

Row kept_row(const ordered_json& line, const std::vector<Instance>& instances, Platform& platform,
             const BenchSettings& settings) {
  Row row = row_of_json(line.at("row"));
  const auto law = line.find("law");
  if (law != line.end() && law->is_number()) {
    row.law = [value = law->get<double>()](const Roofs&) { return value; };
  } else if (law != line.end()) {
    const auto instance = std::ranges::find(instances, row.name, &Instance::name);
    if (instance != instances.end()) row.law = law_of_row(*instance, platform, settings);
  }
  return row;
}

KeptRows kept_rows(const Journal& journal, const std::vector<Instance>& instances,
                   Platform& platform, const BenchSettings& settings) {
  KeptRows kept;
  for (const ordered_json& line : journal.rows()) {
    try {
      Row row = kept_row(line, instances, platform, settings);
      kept.elapsed_seconds = line.at("elapsed_seconds").get<double>();
      const std::pair key(row.name, row.repetition);
      kept.ended_in.reset();
      if (is_lost_row(line)) kept.ended_in = key;
      kept.rows.insert_or_assign(key, std::move(row));
    } catch (const std::exception& error) {
      throw UsageError("cannot resume: a row of the journal cannot be read: " + text_of(error));
    }
  }
  if (const auto& row = journal.in_flight()) kept.ended_in = {row->name, row->repetition};
  return kept;
}

}  // namespace gpubench
