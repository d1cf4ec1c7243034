// What bench files register: functions, and the axes they are run over.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/records/row.hpp"

namespace gpubench {

class Bench;
using BenchFunction = void (*)(Bench&);

// quick: a taste, the rows at the ends of every axis. full: those that cost too much to be run
// every day as well.
enum class Suite { quick, standard, full };

// One row to run.
struct Instance {
  std::string name;  // concept/kernel/arg:value/...
  std::string topic;
  std::string kernel;
  Arguments arguments;
  BenchFunction function = nullptr;
  Suite suite = Suite::standard;
  bool is_roof = false;  // what --roofs runs
};

// The axes of one registration, spelled as Google Benchmark's own. Values of a named axis that are
// not numbers (a dtype) are given by Axis() and come first in the name.
class Registration {
 public:
  Registration(std::string topic, std::string kernel, BenchFunction function);

  Registration* ArgName(const std::string& name);
  Registration* ArgNames(const std::vector<std::string>& names);
  Registration* Arg(std::int64_t value);
  Registration* Args(const std::vector<std::int64_t>& values);
  Registration* RangeMultiplier(int multiplier);
  // `low`, the powers of the multiplier between, `high`.
  Registration* Range(std::int64_t low, std::int64_t high);
  Registration* DenseRange(std::int64_t low, std::int64_t high, int step = 1);
  Registration* ArgsProduct(const std::vector<std::vector<std::int64_t>>& lists);
  Registration* Axis(const std::string& name, const std::vector<std::string>& values);
  Registration* In(Suite suite);
  // Of the rows, --roofs runs those with these values; all of them where none are given.
  Registration* ForRoofs(const std::vector<std::int64_t>& values = {});

  // Every combination. std::logic_error when names and values do not match in number.
  std::vector<Instance> instances() const;

 private:
  std::string topic_, kernel_;
  BenchFunction function_;
  int multiplier_ = 2;
  Suite suite_ = Suite::standard;
  bool for_roofs_ = false;
  std::vector<std::vector<std::int64_t>> roof_values_;  // none: all
  std::vector<std::string> names_;
  std::vector<std::vector<std::int64_t>> values_;
  std::vector<std::pair<std::string, std::vector<std::string>>> axes_;
};

// Records; `main` registers with Google Benchmark once it knows the device and the filter.
Registration* record(const char* topic, const char* kernel, BenchFunction function);

// All instances of a suite in the order of topic, then of registration.
std::vector<Instance> instances(Suite suite);

}  // namespace gpubench

#define GPUBENCH_JOIN_(a, b) a##b
#define GPUBENCH_JOIN(a, b) GPUBENCH_JOIN_(a, b)
// GPU_BENCHMARK(coalescing, strided_read)->ArgName("stride")->Range(1, 32);
#define GPU_BENCHMARK(topic, function)                                   \
  [[maybe_unused]] static ::gpubench::Registration* const GPUBENCH_JOIN( \
      gpu_benchmark_, __COUNTER__) = ::gpubench::record(#topic, #function, function)
