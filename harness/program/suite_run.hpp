// The rows of one call of the program: run, shown and written.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "harness/bench/registry.hpp"
#include "harness/platform/platform.hpp"
#include "harness/program/options.hpp"
#include "harness/program/progress.hpp"
#include "harness/program/results.hpp"
#include "harness/program/roofs.hpp"

namespace benchmark {
class State;
}

namespace gpubench {

class SuiteRun {
 public:
  SuiteRun(const Options& options, Platform& platform, std::vector<Instance> rows,
           const char* executable);

  // Returns the exit code that --help lists.
  int run();

 private:
  void announce();
  void register_rows();
  void run_once(const Instance& instance, int repetition, benchmark::State& state);
  Row new_row(const Instance& instance, int repetition);
  void run_all();
  void judge();
  void show();
  void write_files();
  int summarise();

  std::string text_in(Format format) const;
  bool modelled() const { return platform_.kind() == DeviceKind::model; }
  bool to_console() const { return options_.format == Format::console; }

  const Options& options_;
  Platform& platform_;
  std::vector<Instance> rows_;
  bool is_first_;  // of several processes, the one that speaks and writes
  std::ostream& info_;
  std::map<std::string, nlohmann::ordered_json> predicted_;
  std::size_t width_ = 0;  // of the name column
  Results results_;
  std::vector<StatedRoof> roofs_;
  std::vector<Explanation> explanations_;
  std::set<std::string> unfinished_;  // skipped or failed once: their other repetitions are not run
  Progress progress_;
  bool interrupted_ = false;
};

}  // namespace gpubench
