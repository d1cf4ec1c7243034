#include "harness/program/program.hpp"

#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "harness/program/choose_rows.hpp"
#include "harness/program/device_list.hpp"
#include "harness/program/isolation.hpp"
#include "harness/program/journal.hpp"
#include "harness/program/options.hpp"
#include "harness/program/output_file.hpp"
#include "harness/program/resume.hpp"
#include "harness/program/suite_run.hpp"
#include "harness/system/error.hpp"
#include "harness/system/exception_text.hpp"
#include "harness/system/exit_code.hpp"
#include "harness/system/host_memory.hpp"
#include "harness/system/interrupt.hpp"
#include "harness/system/own_files.hpp"
#include "harness/system/plain_text.hpp"
#include "harness/system/process_group.hpp"
#include "harness/system/version.hpp"

namespace gpubench {
namespace {

// "model:NAME" without its kind; this program measures or models, never the other.
std::string selector_of(const Options& options) {
  const bool model = program_kind() == DeviceKind::model;
  // Processes on one machine take a GPU each.
  std::string own = std::to_string(ProcessGroup::all().index_on_host());
  if (options.device == "auto") return model ? "h200-sxm" : own;
  const std::string kind = model ? "model" : "cuda";
  if (!model && options.device == kind) return own;
  if (!options.device.starts_with(kind + ":") || options.device.size() == kind.size() + 1) {
    throw UsageError("--device='" + options.device +
                     "': takes auto, cuda, cuda:N or model:NAME; --list_devices lists them");
  }
  return options.device.substr(kind.size() + 1);
}

// What was built, by whom, and where the files are that came with it.
std::string version_text() {
  std::string text = std::string("gpubench ") + version::number + ", commit " + version::commit +
                     (version::dirty ? " (modified)" : "") + ", " + version::compiler + '\n';
  text += std::string("from:    ") + version::origin + '\n';
  text += "program: " + std::filesystem::read_symlink("/proc/self/exe").string() + '\n';
  if (const auto files = own_files()) {
    text += "kernels: " + files->kernels.string() + '\n';
    text += "devices: " + files->devices.string() + '\n';
    text += "labs:    " + files->labs.string() + '\n';
  }
  return text;
}

// Answers what needs no device; false where there is more to do.
bool answer_at_once(const Options& options) {
  if (options.help) {
    std::cout << help_text();
  } else if (options.version) {
    std::cout << version_text();
  } else if (options.list_devices) {
    list_devices();
  } else {
    return false;
  }
  return true;
}

// The exit code of an answer: half a list of rows must not pass for one.
int said() {
  if (!std::cout.flush()) throw std::runtime_error("cannot write to standard output");
  return 0;
}

// Google Benchmark reads its own flags; none may be left.
void start_benchmark(const Options& options, const char* executable) {
  std::vector<std::string> words = options.rest;
  words.insert(words.begin(), executable);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  int count = static_cast<int>(arguments.size());
  benchmark::Initialize(&count, arguments.data());
  if (count > 1) {
    throw UsageError(unknown_flag(arguments[1]));
  }
}

constexpr std::array beside_result{samples_file, series_file, explain_file};

// A flag that names a file to write, and all files that are written for it; none where it names
// what is written in place.
struct WrittenFiles {
  std::string flag, name;
  std::vector<std::filesystem::path> files;
};

std::string flag_of(const WrittenFiles& output) { return output.flag + "='" + output.name + "'"; }

WrittenFiles result_files(const Options& options) {
  WrittenFiles output{options.resumed.empty() ? "--benchmark_out" : "--resume", options.out, {}};
  if (options.out.empty() || is_written_in_place(options.out)) return output;
  const std::filesystem::path journal = Journal::path_of(options.out);
  output.files = {options.out, journal, Journal::set_aside(journal)};
  for (const char* what : beside_result) output.files.push_back(companion_of(options.out, what));
  return output;
}

WrittenFiles trace_files(const Options& options) {
  WrittenFiles output{"--trace", options.trace, {}};
  if (!options.trace.empty() && !is_written_in_place(options.trace)) output.files = {options.trace};
  return output;
}

void check_replaces_no_input(const WrittenFiles& output, const Options& options) {
  for (const auto& [flag, input] : files_read(options)) {
    std::error_code error;
    if (!std::filesystem::exists(input, error)) continue;
    for (const std::filesystem::path& file : output.files) {
      if (!are_same_file(file, input)) continue;
      throw UsageError("'" + input.string() + "' is read here, by " + flag + ": " +
                       flag_of(output) + " would replace it");
    }
  }
}

// The folders hold one file per row, named like the row; the files of a run have no place there.
void check_is_outside_results(const WrittenFiles& output, const BenchSettings& bench) {
  for (const auto& [flag, folder] : {std::pair("--keep_results", &bench.kept_results),
                                     std::pair("--judge_results", &bench.judged_results)}) {
    if (folder->empty()) continue;
    for (const std::filesystem::path& file : output.files) {
      const auto whole = std::filesystem::absolute(behind_links(file));
      if (!are_same_file(whole.parent_path(), *folder)) continue;
      throw UsageError(flag_of(output) + ": '" + *folder + "' is for the results of rows, by " +
                       flag + ": name another folder");
    }
  }
}

// `others`: of what may lie beside another result file, besides what its run writes.
void check_is_no_companion(const WrittenFiles& output, const std::vector<const char*>& others) {
  if (output.files.empty()) return;
  std::vector<std::string> endings{".journal", ".journal.old"};
  const auto add = [&](const char* what) {
    endings.push_back(std::string(".") + what);
    endings.push_back(std::string("-") + what);
  };
  std::ranges::for_each(beside_result, add);
  std::ranges::for_each(others, add);
  const std::string file = behind_links(output.name).string();
  const auto taken = std::ranges::find_if(
      endings, [&](const std::string& ending) { return file.ends_with(ending); });
  if (taken == endings.end()) return;
  throw UsageError(flag_of(output) + ": a name that ends in '" + *taken +
                   "' is for what lies beside another result file");
}

// A run that is under way, or that was broken off, has its journal beside its result file. An empty
// one is another trace's, which lock_of_trace() tells from one that was left behind.
void check_is_no_result(const WrittenFiles& trace) {
  if (trace.files.empty()) return;
  const std::filesystem::path journal = Journal::path_of(trace.name);
  std::error_code error;
  const auto status = std::filesystem::symlink_status(journal, error);
  if (!std::filesystem::exists(status)) return;
  if (std::filesystem::is_regular_file(status) && std::filesystem::is_empty(journal, error)) return;
  throw UsageError(flag_of(trace) + ": it is the result file of a run whose rows are in '" +
                   journal.string() + "'");
}

// A file of this run must not take the place of one that it reads, of another of its own, or of one
// of another run's.
void check_output_names(const Options& options) {
  const WrittenFiles result = result_files(options), trace = trace_files(options);
  for (const WrittenFiles* output : {&result, &trace}) {
    check_replaces_no_input(*output, options);
    check_is_outside_results(*output, options.bench);
  }
  check_is_no_companion(result, {trace_file});
  for (const std::filesystem::path& file : result.files) {
    if (trace.files.empty() || !are_same_file(file, options.trace)) continue;
    throw UsageError(flag_of(trace) + " is a file that " + result.flag + " writes");
  }
  check_is_no_companion(trace, {});
  check_is_no_result(trace);
}

// The first of several processes speaks and writes.
void prepare_output(const Options& options) {
  if (ProcessGroup::all().index() != 0) {
    if (std::freopen("/dev/null", "w", stdout) == nullptr) {
      throw std::runtime_error("cannot open /dev/null");
    }
  } else {
    for (const std::string& file : {options.out, options.trace}) {
      if (!file.empty()) check_writable(file);
    }
    // What lies beside the result may have too long a name, or a folder in its place.
    if (!options.out.empty() && !is_written_in_place(options.out)) {
      for (const char* what : beside_result) check_writable(companion_of(options.out, what));
    }
  }
  check_output_names(options);
}

// The journal that a result file of this name would have, empty: until the run ends, no other may
// write a result or a trace there.
std::optional<Journal> lock_of_trace(const Options& options) {
  if (ProcessGroup::all().index() != 0 || trace_files(options).files.empty()) return std::nullopt;
  return Journal::open(options.trace);
}

// Absent: of a run in one process that writes no file, or is not the first of several.
std::optional<Journal> journal_of(const Options& options, bool is_isolated) {
  const bool resumes = !options.resumed.empty();
  if (resumes && ProcessGroup::all().count() > 1) {
    throw UsageError("--resume: a run of several processes cannot be resumed");
  }
  const bool is_file = !options.out.empty() && !is_written_in_place(options.out);
  if (resumes && !is_file) {
    throw UsageError("--resume='" + options.out + "': not a regular file, of which none is kept");
  }
  if (resumes) return Journal::open_left(options.out);
  if (is_file && ProcessGroup::all().index() == 0) return Journal::open(options.out);
  if (is_isolated) return Journal::in_memory();
  return std::nullopt;
}

void check_energy(const Options& options, const Platform& platform) {
  if (platform.kind() == DeviceKind::model) {
    throw UsageError("--energy needs a GPU: the model knows no energy");
  }
  if (options.bench.profile) {
    throw UsageError("--energy and --profile: a row that is profiled is not measured");
  }
}

// A budget that no row could keep.
void check_row_memory(double bytes) {
  const std::size_t occupied = resident_bytes();
  if (bytes <= 0 || bytes > static_cast<double>(occupied)) return;
  std::ostringstream text;
  text << "--row_memory=" << bytes << ": the program alone takes " << occupied << " bytes";
  throw UsageError(text.str());
}

int run_rows(const Options& options, const std::vector<Instance>& rows, const char* executable,
             Journal* journal, unsigned turn) {
  if (turn > 0) catch_interrupts();
  std::unique_ptr<Platform> platform;
  try {
    platform = open_platform(selector_of(options), options.conditions);
  } catch (const std::exception& error) {
    if (turn == 0) throw;
    std::cerr << "gpubench: no further row can be run: " << plain_text(text_of(error)) << '\n';
    journal->read();
    std::cout << journal->otherwise();
    // What the last process could say of the run, if it could, ends with that command.
    if (journal->otherwise().empty() && journal->is_file()) {
      std::cerr << "gpubench: " << where_rows_are_kept(*journal, options.out) << '\n';
    }
    return 1;
  }
  if (!options.engine.empty()) platform->use_engine(options.engine);
  if (options.bench.energy) check_energy(options, *platform);
  if (options.row_memory && turn == 0) check_row_memory(*options.row_memory);
  return SuiteRun(options, *platform, rows, executable, journal, turn).run();
}

// Too little stack would end the run by a signal, in whatever row needs the most. (The default
// suite runs with as much as is asked for here.)
void check_stack() {
  constexpr rlim_t kibibyte = 1024, needed = 256 * kibibyte;
  struct rlimit limit {};
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= needed) return;
  const char* const mend = limit.rlim_max < needed ? "start it where the hard limit is higher"
                                                   : "ulimit -s 8192 raises the limit";
  throw UsageError("the stack may take only " + std::to_string(limit.rlim_cur / kibibyte) +
                   " KiB, and " + std::to_string(needed / kibibyte) + " are needed: " + mend);
}

}  // namespace

int run_program(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a write beyond the limit fails, and is told of
  ProcessGroup::start();
  const Options options = parse_options(argc, argv);
  if (answer_at_once(options)) return said();
  const std::vector<Instance> rows = choose_rows(options);
  if (options.list_tests) {
    for (const Instance& i : rows) std::cout << i.name << '\n';
    return said();
  }
  check_stack();
  start_benchmark(options, argv[0]);
  prepare_output(options);
  const std::optional<Journal> trace_lock = lock_of_trace(options);
  const bool is_isolated = gpubench::is_isolated(options);
  std::optional<Journal> journal = journal_of(options, is_isolated);
  if (!is_isolated) return run_rows(options, rows, argv[0], journal ? &*journal : nullptr, 0);
  if (journal->is_file()) program_hash();
  return run_isolated(options, rows, *journal, [&](unsigned turn) {
    return exit_code_of([&] { return run_rows(options, rows, argv[0], &*journal, turn); });
  });
}

}  // namespace gpubench
