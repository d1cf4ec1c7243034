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
#include "harness/system/helper_processes.hpp"
#include "harness/system/interrupt.hpp"
#include "harness/system/watchdog.hpp"

namespace benchmark {
class State;
}

namespace gpubench {

class SuiteRun {
 public:
  // `journal`: nullptr where none is kept. `turn`: how many processes have run rows before this
  // one.
  SuiteRun(const Options& options, Platform& platform, std::vector<Instance> rows,
           const char* executable, Journal* journal, unsigned turn);

  // Returns the exit code that --help lists.
  int run();

 private:
  using RowKey = std::pair<std::string, int>;  // its name and repetition
  static constexpr int signal_exit = 128;      // and the signal's number, as shells have it

  void announce();
  void begin_or_go_on();
  void register_rows();
  void run_once(const Instance& instance, int repetition, benchmark::State& state);
  const Row* take_row(const Instance& instance, int repetition);
  Row new_row(const Instance& instance, int repetition);
  Row row_of_helper_or_own(const Instance& instance, int repetition);
  // By this process itself, within so much time and memory.
  Row watched_row(const Instance& instance, Watchdog::Seconds limit, double bytes);
  void start_helpers();
  std::optional<std::string> help_with(const RowKey& key);
  void keep(const Row& row);
  void print(const Row& row);
  void note_said(const Row& row);
  void predict();
  void run_or_hand_over(const Instance& instance);
  bool changes_process_often() const;
  void note_broken(const Row& row);
  std::string why_not_again(const Instance& instance) const;
  double row_memory_bytes(unsigned processes = 1) const;
  [[noreturn]] void hand_over_rest();
  void run_all();
  int conclude();
  void await_predictions();
  void judge();
  void show();
  void write_files();
  void settle_journal();
  int summarise();
  void lose_device(const std::string& reason);
  [[noreturn]] void give_up(Watchdog::Over over);
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
  Journal* journal_;
  unsigned turn_;
  KeptRows kept_;     // of processes before this one, and of helpers
  bool prints_kept_;  // whether no process before this one has come to these rows
  std::vector<RowKey> for_helpers_;
  std::optional<HelperProcesses> helpers_;
  unsigned helpers_beside_ = 0;         // in a helper: of how many it is one
  std::map<std::string, int> broken_;   // by concept and kernel: rows that broke their process
  const Instance* last_run_ = nullptr;  // by this process
  std::string device_lost_;             // why no further row is run; empty: nothing is the matter
  bool has_rest_ = false;               // some row was not run for that reason
  const Instance* running_ = nullptr;
  int repetition_ = 0;  // of the row that is running
  Watchdog watchdog_{[this](Watchdog::Over over) { give_up(over); }};
};

}  // namespace gpubench
