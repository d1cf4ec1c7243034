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

namespace gpubench {

using Argument = std::variant<std::int64_t, std::string>;
using Arguments = std::vector<std::pair<std::string, Argument>>;  // in the order of the name

// The device's ceilings by name: dram, l2, l1, shared [bytes/s], fp32, fp64, ... [FLOP/s].
using Roofs = std::map<std::string, double>;

// A concept's law for one row: its headline figure (FLOP/s, items/s or useful bytes/s) as the
// concept expects it under these roofs.
using Law = std::function<double(const Roofs&)>;

enum class Outcome { measured, skipped, failed };

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

struct Row {
  std::string name;
  std::string topic;  // the concept
  std::string kernel;
  Arguments arguments;
  int repetition = 0;

  Outcome outcome = Outcome::measured;
  std::string reason;  // of a skip or failure

  std::string bound;                                  // what binds the row; empty when not known
  std::string roof;                                   // of that; empty: called as the bound is
  std::string counts;                                 // what counters of accesses are worth
  std::string assuming;                               // what occupancy takes for granted
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
  std::string note;             // on how it was timed
  std::string moved_through = "dram";  // the memory that moved_bytes_per_second is about

  Law law;
  double law_tolerance = 0;
  std::string measures;                // the roof that this row is a measurement of, or empty
  std::vector<TracedOperation> trace;  // of one run, where that was asked for
  bool show_trace = false;             // what happens when is worth a picture

  std::string headline;  // the counter that the row is judged by, and that its law speaks of
};

}  // namespace gpubench
