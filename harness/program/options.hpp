// gpubench's own flags, and those of Google Benchmark's that it answers itself.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/bench/chosen_axes.hpp"
#include "harness/bench/run_row.hpp"
#include "harness/program/terminal.hpp"

namespace gpubench {

// Which rows share a process. `fault`: all of them, until one breaks it; those after it have a new
// one.
enum class Isolation { none, fault, by_concept, row };

enum class Format { console, json, csv };

// The unit of the times that Google Benchmark's own keys hold.
struct TimeUnit {
  std::string name = "us";
  double in_a_second = 1e6;
};

struct Options {
  std::string device = "auto";
  std::string engine;      // of the model: "source" or "ptx[:CONDUCT]"; "" for the default
  std::string conditions;  // the file of that name; "" for none
  Suite suite = Suite::standard;
  std::string suite_name = "default";
  BenchSettings bench;
  bool predict = true;  // on a GPU, where the model knows it
  bool terms = false;
  bool roofs = false;   // only what measures a roof, and a table of them
  std::string explain;  // the one row to run and to explain; "" for none
  bool list_devices = false;
  bool list_tests = false;
  bool help = false;
  bool version = false;
  std::vector<ChosenAxis> axes;  // whose kernels are run, with these values
  std::string filter;            // a regular expression; a leading '-' excludes what matches
  std::string out;               // "" for none
  std::string resumed;  // `out`, to go on with the run that has left its journal; "" for a new run
  // That a row may take [s]; 0: as long as it likes. Absent: by the kind of device.
  std::optional<double> row_limit;
  // Host memory that the process may take while a row runs [bytes]; 0: as much as there
  // is. Absent: most of what is free.
  std::optional<double> row_memory;
  std::optional<Isolation> isolation;  // absent: as fits the run
  std::string trace;                   // "" for none
  Format format = Format::console;
  Format out_format = Format::json;
  Colour colour = Colour::automatic;  // of the console's table
  TimeUnit time_unit;
  int repetitions = 1;
  bool report_aggregates_only = false;   // of repeated rows: in files and on the console
  bool display_aggregates_only = false;  // on the console alone
  std::vector<std::pair<std::string, std::string>> context;  // the user's own keys
  std::vector<std::string> rest;                             // for Google Benchmark itself
  std::vector<std::string> command;                          // all words, without --resume
};

// UsageError names the flag and what it takes.
Options parse_options(int argc, char** argv);
// Each file that the run reads, and the flag that names it.
std::vector<std::pair<std::string, std::filesystem::path>> files_read(const Options& options);
// What is said of a flag that nobody knows, with the one that was meant.
std::string unknown_flag(const std::string& word);
const char* help_text();

}  // namespace gpubench
