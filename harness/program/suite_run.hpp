// The rows of one call of the program: run, shown and written.
#pragma once

#include <csignal>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "harness/bench/registry.hpp"
#include "harness/platform/platform.hpp"
#include "harness/program/journal.hpp"
#include "harness/program/options.hpp"
#include "harness/program/predictions.hpp"
#include "harness/program/progress.hpp"
#include "harness/program/results.hpp"
#include "harness/program/resume.hpp"
#include "harness/program/roofs.hpp"
#include "harness/program/row_table.hpp"
#include "harness/system/interrupt.hpp"
#include "harness/system/watchdog.hpp"

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
  static constexpr int signal_exit = 128;  // and the signal's number, as shells have it

  void announce();
  void open_journal();
  void register_rows();
  void run_once(const Instance& instance, int repetition, benchmark::State& state);
  const Row* take_row(const Instance& instance, int repetition);
  Row new_row(const Instance& instance, int repetition);
  void keep(const Row& row);
  void print(const Row& row);
  void run_all();
  int conclude();
  void await_predictions();
  void judge();
  void show();
  void write_files();
  void settle_journal();
  int summarise();
  void lose_device(const std::string& reason);
  [[noreturn]] void give_up();
  double row_limit_seconds() const;
  double elapsed_seconds() const { return kept_.elapsed_seconds + progress_.seconds(); }

  std::string text_in(Format format) const;
  bool modelled() const { return platform_.kind() == DeviceKind::model; }
  // Whether whoever read standard output has closed the pipe.
  static bool is_unread() { return interrupting_signal() == SIGPIPE; }
  bool to_console() const { return options_.format == Format::console; }

  const Options& options_;
  Platform& platform_;
  std::vector<Instance> rows_;
  bool is_first_;  // of several processes, the one that speaks and writes
  std::ostream& info_;
  std::optional<Predictions> predictions_;
  std::optional<RowTable> table_;
  std::map<std::string, Grade> said_grades_;  // on the console, by the roofs known by then
  Results results_;
  std::vector<StatedRoof> roofs_;
  std::vector<Explanation> explanations_;
  std::set<std::string> unfinished_;  // skipped or failed once: their other repetitions are not run
  Progress progress_;
  bool interrupted_ = false;
  std::optional<Journal> journal_;
  KeptRows kept_;            // of the run that is resumed
  std::string device_lost_;  // why no further row is run; empty: nothing is the matter
  const Instance* running_ = nullptr;
  int repetition_ = 0;  // of the row that is running
  Watchdog watchdog_{[this] { give_up(); }};
};

}  // namespace gpubench
