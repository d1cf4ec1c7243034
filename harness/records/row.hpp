// What is known of one benchmark row, on either kind of device, before it is written anywhere.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "harness/evidence/watch.hpp"
#include "harness/records/grade.hpp"

namespace gpubench {

using Argument = std::variant<std::int64_t, std::string>;
using Arguments = std::vector<std::pair<std::string, Argument>>;  // in the order of the name

// The device's ceilings by name: dram, l2, l1, shared [bytes/s], fp32, fp64, ... [FLOP/s].
using Roofs = std::map<std::string, double>;

// A concept's law for one row: its headline figure (FLOP/s, items/s or useful bytes/s) as the
// concept expects it under these roofs.
using Law = std::function<double(const Roofs&)>;

enum class Outcome { measured, skipped, failed };

// What kind of failure a row has met, as result files call it.
namespace error_kind {
inline constexpr const char* wrong_result = "wrong_result";
inline constexpr const char* exception = "exception";    // thrown by a bench file or a library
inline constexpr const char* cuda_error = "cuda_error";  // of a call; the device goes on working
inline constexpr const char* out_of_memory = "out_of_memory";
inline constexpr const char* illegal_access = "illegal_access";
inline constexpr const char* trap = "trap";
inline constexpr const char* launch_failure = "launch_failure";
inline constexpr const char* timeout = "timeout";
inline constexpr const char* ecc_error = "ecc_error";
inline constexpr const char* device_lost = "device_lost";
inline constexpr const char* crash = "crash";  // the process that ran it has ended
}  // namespace error_kind

// One thing that happened while a program ran once. Times in seconds since the run began.
struct TracedOperation {
  std::string track;  // the host, a stream, or an engine of the device
  std::string name;
  std::string stream;  // on an engine's track: whose it is
  double bytes = 0;    // that it copies or sets
  double begin = 0;
  double end = 0;  // == begin: a point, such as an event
};

// Launches of one kernel in a row, all alike, and what a profiler would count in each of them.
struct Launched {
  std::string kernel;
  std::size_t times = 1;
  std::map<std::string, double> figures;  // absent when not known
  // By kind of access ("shared load"), how the compiled kernel departs from what was counted.
  std::map<std::string, std::string> departures;

  bool operator==(const Launched&) const = default;
};

// The figure that a row is judged by, and that its law speaks of: a counter of the row, or its
// time.
struct Headline {
  std::string name;  // "seconds": the row's time
  std::string unit;  // SI; empty for a count
  bool lower_is_better = false;
};

// What the units of rates are called, in result files and in tables.
inline constexpr const char* bytes_unit = "B/s";
inline constexpr const char* flops_unit = "FLOP/s";
inline constexpr const char* integer_unit = "OP/s";  // arithmetic on integers

// Bytes that one run moved at each level of memory; absent where nobody knows.
struct MovedBytes {
  std::optional<double> dram, l2, l1, shared;
};

struct Row {
  std::string name;
  std::string topic;  // the concept
  std::string kernel;
  Arguments arguments;
  std::map<std::string, std::string> axis_units;  // by axis; absent: it has none
  std::string source;                             // where it is registered: bench/NAME.cu:LINE
  int repetition = 0;

  Outcome outcome = Outcome::measured;
  std::string reason;      // of a skip or failure
  std::string error_kind;  // of a failure: a name of error_kind
  std::string diagnosis;   // of a failure: who did what where, as far as the device can tell

  std::string bound;                                  // what binds the row; empty when not known
  std::string roof;                                   // of that; empty: called as the bound is
  std::string counts;                                 // what counters of accesses are worth
  std::string assuming;                               // what the prediction takes for granted
  std::string verified;                               // full, sampled or operation
  std::map<std::string, double> counters;             // SI units; absent when not known
  std::map<std::string, std::string> words;           // further keys of this row
  std::vector<std::pair<std::string, double>> terms;  // the prediction's, in seconds
  std::vector<std::pair<std::string, double>> instructions;  // that warps execute, by class
  std::vector<Launched> launches;                            // where a profiler is to be compared
  double median_seconds = 0;
  std::vector<double> samples;  // seconds
  std::size_t discarded = 0;
  std::vector<Moment> moments;  // of a row that was watched for a while; rates as of its headline
  std::vector<std::string> notes;      // what to know before trusting the row
  std::string moved_through = "dram";  // what moved_bytes_per_second went through
  MovedBytes moved;

  Law law;
  double law_tolerance = 0;
  std::string measures;                // the roof that this row is a measurement of, or empty
  std::vector<TracedOperation> trace;  // of one run, where that was asked for
  bool show_trace = false;             // what happens when is worth a picture

  Headline headline;
  std::string arithmetic_unit = flops_unit;  // of flops_per_second
  std::string grade_roof;  // the roof of the run that the row is graded by; empty: none is known

  Graded graded;  // by the roofs that are known so far

  std::optional<double> counter(const std::string& of) const {
    const auto found = counters.find(of);
    return found == counters.end() ? std::nullopt : std::optional(found->second);
  }
  // 0 where the row does not have it.
  double headline_value() const {
    return headline.name == "seconds" ? median_seconds : counter(headline.name).value_or(0);
  }
};

}  // namespace gpubench
