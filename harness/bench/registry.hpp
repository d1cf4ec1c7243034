// What bench files register: functions, and the axes they are run over.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "harness/records/row.hpp"

namespace gpubench {

class Bench;
using BenchFunction = void (*)(Bench&);

// quick: a taste, the rows at the ends of every axis. full: those that cost too much to be run
// every day as well.
enum class Suite { quick, standard, full };

// Values of an axis of numbers: multiples of `step` from `low` to `high`.
struct AxisRange {
  std::int64_t low, high, step = 1;
};

// Where a registration stands.
struct SourceLine {
  const char* file = "";
  int line = 0;

  // "bench/coalescing.cu:88"; "" if it is not known.
  std::string text() const;
};

// One row to run.
struct Instance {
  std::string name;  // concept/kernel/arg:value/...
  std::string topic;
  std::string kernel;
  Arguments arguments;
  std::map<std::string, std::string> axis_units{};  // by axis; absent: it has none
  std::string source{};                             // SourceLine::text() of its registration
  BenchFunction function = nullptr;
  Suite suite = Suite::standard;
  bool is_roof = false;  // what --roofs runs
};

// The axes of one registration, spelled as Google Benchmark's own. An axis is named with its unit:
// "stride [words]". Values of an axis that are not numbers (a dtype) are given by Axis() and come
// first in the row's name. std::logic_error when names and values do not match.
class Registration {
 public:
  Registration(std::string topic, std::string kernel, BenchFunction function,
               SourceLine where = {});

  Registration* ArgName(const std::string& name);
  Registration* ArgName(const std::string& name, AxisRange range);  // and Takes() of it
  Registration* ArgNames(const std::vector<std::string>& names);
  Registration* Arg(std::int64_t value);
  Registration* Args(const std::vector<std::int64_t>& values);
  Registration* Each(const std::vector<std::int64_t>& values);               // an Arg() of each
  Registration* Rows(const std::vector<std::vector<std::int64_t>>& values);  // Args() of each
  // `low`, and each value `factor` times the one before, up to `high`: Range(1, 32) has the powers
  // of two.
  Registration* Range(std::int64_t low, std::int64_t high, int factor = 2);
  Registration* DenseRange(std::int64_t low, std::int64_t high, int step = 1);
  Registration* ArgsProduct(const std::vector<std::vector<std::int64_t>>& lists);
  Registration* Axis(const std::string& name, const std::vector<std::string>& values);
  // What is alike in several registrations: `alike` is called with this one.
  template <class... Arguments>
  Registration* Apply(void (*alike)(Registration*, Arguments...),
                      std::type_identity_t<Arguments>... arguments) {
    alike(this, arguments...);
    return this;
  }
  Registration* In(Suite suite);
  // From here on rows are in `suite`: their axes as they were at the beginning until they are given
  // anew, their numbers as given from here, and without the rows that there are already.
  Registration* Rest(Suite suite);
  // The values of an axis of numbers that --axis may give the kernel. One of which nothing is said
  // takes those that its rows have.
  Registration* Takes(const std::string& axis, AxisRange range);
  // The rows that --roofs runs: those with these values, or all rows without any.
  Registration* ForRoofs(const std::vector<std::int64_t>& values = {});

  // For each value of the axis a bench function of its own.
  Registration* Functions(const std::string& axis,
                          const std::vector<std::pair<std::string, BenchFunction>>& functions);

  // The values of an axis of words, as they were at the beginning.
  std::vector<std::string> axis_values(const std::string& name) const;
  // Every combination.
  std::vector<Instance> instances() const;
  // What Takes() says of an axis; nullptr: nothing.
  const AxisRange* range_of(const std::string& topic, const std::string& kernel,
                            const std::string& axis) const;

 private:
  using Words = std::pair<std::string, std::vector<std::string>>;  // an axis and its values
  struct Part {
    Suite suite = Suite::standard;
    std::vector<Words> axes{};
    std::vector<std::vector<std::int64_t>> numbers{};
    bool for_roofs = false;
    std::vector<std::vector<std::int64_t>> roof_numbers{};  // none: all
  };

  std::string unit_taken(const std::string& axis);
  void add_instances(const Part& part, std::vector<Instance>& instances) const;
  Instance instance(const Part& part, const std::vector<std::string>& words,
                    const std::vector<std::int64_t>& numbers) const;
  BenchFunction function_of(const Arguments& arguments) const;

  std::string topic_, kernel_;
  BenchFunction function_;
  SourceLine where_;
  std::vector<std::string> names_;  // of the numbers
  std::map<std::string, std::string> units_;
  std::string function_axis_;
  std::map<std::string, BenchFunction> functions_;  // by value of that axis
  std::vector<Part> parts_{1};
  std::map<std::string, AxisRange> ranges_;  // by axis
};

// low, low + step, ..., high: for ArgsProduct().
std::vector<std::int64_t> dense_range(std::int64_t low, std::int64_t high, int step = 1);

// Records; `main` registers with Google Benchmark once it knows the device and the filter.
Registration* record(const char* topic, const char* kernel, SourceLine where,
                     BenchFunction function);

// All instances of a suite in the order of topic, then of registration.
std::vector<Instance> instances(Suite suite);
// What any registration of the kernel says that the axis takes; nullptr: none says anything.
const AxisRange* range_taken(const std::string& topic, const std::string& kernel,
                             const std::string& axis);

}  // namespace gpubench

#define GPUBENCH_JOIN_(a, b) a##b
#define GPUBENCH_JOIN(a, b) GPUBENCH_JOIN_(a, b)
#define GPUBENCH_HERE (::gpubench::SourceLine{__FILE__, __LINE__})
// GPU_BENCHMARK(coalescing, strided_read)->ArgName("stride [words]")->Range(1, 32);
#define GPU_BENCHMARK(topic, function) GPU_BENCHMARK_AS(topic, function, function)
// The same of a function by another name than the kernel's: GPU_BENCHMARK_AS(occupancy, fma,
// plane<Fma>).
#define GPU_BENCHMARK_AS(topic, kernel, ...)                                            \
  [[maybe_unused]] static ::gpubench::Registration* const GPUBENCH_JOIN(gpu_benchmark_, \
                                                                        __COUNTER__) =  \
      ::gpubench::record(#topic, #kernel, GPUBENCH_HERE, __VA_ARGS__)
// A kernel with a bench function for each value of an axis: GPU_BENCHMARK_BY(bank_conflicts,
// transpose)->Functions("layout", {{"none", through_tile<Plain>}, ...}).
#define GPU_BENCHMARK_BY(topic, kernel) GPU_BENCHMARK_AS(topic, kernel, nullptr)
