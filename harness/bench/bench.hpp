// The one header a bench file includes: how a concept says what it runs, checks and expects.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "device_check.hpp"
#include "device_fill.hpp"
#include "harness/bench/registry.hpp"
#include "harness/bench/run_row.hpp"
#include "harness/bench/typed_axis.hpp"
#include "harness/contents/random.hpp"
#include "harness/cuda/buffer.hpp"
#include "harness/cuda/launch.hpp"
#include "harness/cuda/ranks.hpp"
#include "harness/cuda/residency.hpp"
#include "harness/platform/platform.hpp"
#include "harness/records/row.hpp"
#include "harness/timing/timer.hpp"

namespace gpubench {

// What one run of the body amounts to.
struct Work {
  double useful_bytes = 0;  // that the computation needs, whatever the device moves for them
  double moved_bytes = 0;   // through `moved_through`; 0: what the device tells
  const char* moved_through = "dram";
  double flops = 0;       // an FMA is two
  bool integers = false;  // `flops` are operations on integers, and called OP
  double items = 0;       // steps, launches, ...: what a program of several operations gets done
  RowAccess access = RowAccess::global_load;  // whose sectors or wavefronts per request are given
  Law law{};                                  // none: the concept makes no claim for this row
  double law_tolerance = 0.1;                 // on the model, in the tests
  double law_per_request = 0;  // sectors or wavefronts per request of `access`; 0: no claim
  // A counter of the row's own [counter()] by which it is judged instead.
  std::optional<Headline> headline{};
  std::string measures{};  // this row is a measurement of the roof of this name
  // What binds a program of several operations; empty: what binds its longest kernel.
  std::string bound{};
  // What happens when is worth a picture: the reports draw it from the file of --trace.
  bool show_trace = false;
};

// How far from the expected a result may be: |difference| <= absolute + relative * |expected|.
struct Tolerance {
  double relative = 0, absolute = 0;
};

// Laws of one figure: a roof, or a share of it; and what does not depend on roofs.
inline Law law_of_roof(const std::string& roof, double share = 1) {
  return [=](const Roofs& roofs) { return share * roofs.at(roof); };
}
// The lowest of several roofs, each times its share.
inline Law law_of_lowest(const std::vector<std::pair<std::string, double>>& shares) {
  return [=](const Roofs& roofs) {
    double lowest = std::numeric_limits<double>::infinity();
    for (const auto& [roof, share] : shares) lowest = std::min(lowest, share * roofs.at(roof));
    return lowest;
  };
}
inline Law law_at(double value) {
  return [=](const Roofs&) { return value; };
}
// The same where the device has the figure; no law where it has not.
inline Law law_at(const std::optional<double>& value) { return value ? law_at(*value) : Law(); }

// The law of `work` in a kernel so short that its start shows: `law` is what it reaches meanwhile.
inline Law law_after_start(const Law& law, double work, double floor_seconds) {
  if (!law) return {};
  return [=](const Roofs& roofs) { return work / (work / law(roofs) + floor_seconds); };
}

// Calls `what` with the one of `values` that equals `value`, as a constant of the compiler:
// with_constant<1, 2, 4>(bench.arg("edge"), [&](auto edge) { row<edge>(bench); });
template <auto... values, class What>
void with_constant(std::int64_t value, const What& what) {
  const bool found = ((value == static_cast<std::int64_t>(values) &&
                       (what(std::integral_constant<decltype(values), values>{}), true)) ||
                      ...);
  if (!found) throw std::logic_error("no kernel is compiled for " + std::to_string(value));
}

// The same with float, float2 or float4 as the type, by its bytes.
template <class What>
void with_float_vector(std::int64_t bytes, const What& what) {
  with_constant<4, 8, 16>(bytes, [&](auto size) {
    if constexpr (size == sizeof(float)) what(float{});
    if constexpr (size == sizeof(float2)) what(float2{});
    if constexpr (size == sizeof(float4)) what(float4{});
  });
}

class Bench;

// Untyped: what a row does to its buffers is the same for all types, and compiled once.
struct OperandMemory {
  std::shared_ptr<std::vector<DeviceBuffer<std::byte>>> sets;
  const std::size_t* turn = nullptr;

  void* of(std::size_t set) const { return (*sets)[set].data(); }
  void* data() const { return of(*turn % sets->size()); }
};

// `size()` elements on the device. In cold mode there are several sets of all buffers, and data()
// is the one whose turn it is: take it anew in the body, every time.
template <class T>
class Operand {
 public:
  T* data() const { return static_cast<T*>(memory_.data()); }
  operator T*() const { return data(); }
  std::size_t size() const { return size_; }

 protected:
  friend class Bench;
  T* of(std::size_t set) const { return static_cast<T*>(memory_.of(set)); }
  OperandMemory memory_;
  std::size_t size_ = 0;
};

// Seeded random contents, equal in all sets; a value can be asked for without the memory.
template <class T>
class Input : public Operand<T> {
 public:
  Generator<T> values() const { return {seed_}; }

 private:
  friend class Bench;
  std::uint64_t seed_ = 0;
};

// What is not an Operand, once for every set of buffers: in the body, the one whose turn it is.
template <class T>
class PerSet {
 public:
  const T& operator*() const { return sets_->at(*turn_ % sets_->size()); }
  const T* operator->() const { return &**this; }

 private:
  friend class Bench;
  std::shared_ptr<std::deque<T>> sets_ = std::make_shared<std::deque<T>>();
  const std::size_t* turn_ = nullptr;
};

// Poisoned: what the kernel does not write is NaN (integers: -1). Where the model runs only a
// sample of the blocks, elements that still hold the poison pass for another block's; --whole_grids
// checks all.
template <class T>
class Output : public Operand<T> {};

// One row while it runs: a bench function asks it for arguments and buffers and hands it work.
class Bench {
 public:
  Bench(const Instance& instance, Platform& platform, const BenchSettings& settings);

  template <class T = std::int64_t>
  T arg(std::string_view name) const {  // an integer axis
    return static_cast<T>(integer(name));
  }
  const std::string& axis(std::string_view name) const;  // an axis of words
  const DeviceSpec& device() const { return platform_.device(); }
  bool modelled() const { return platform_.kind() == DeviceKind::model; }
  // A profiler looks on: nothing is launched that is not the row's own.
  bool profiled() const { return settings_.profile; }
  bool hot() const { return settings_.mode == Mode::hot; }
  // Where blocks need what others did: all run on the model, and are counted. That takes long.
  void run_every_block() { grids_ = Grids::counted; }
  // run() runs nothing and ends the bench function: row() is what it has said of itself.
  void only_describe() { only_describes_ = true; }

  template <class T>
  Input<T> input(std::size_t elements) {
    Input<T> in = operand<Input<T>, T>(elements);
    in.seed_ = settings_.seed + ++inputs_;
    prepare([in](std::size_t set) {
      if (in.size() > 0) fill_random(in.of(set), in.size(), in.values());
    });
    return in;
  }

  // Contents of the concept's own: element i is values(i), a function object that runs on host and
  // device.
  template <class T, class Values>
  Operand<T> input(std::size_t elements, Values values) {
    Operand<T> in = operand<Operand<T>, T>(elements);
    prepare([in, values](std::size_t set) {
      if (in.size() > 0) fill_random(in.of(set), in.size(), values);
    });
    return in;
  }

  template <class T>
  Output<T> output(std::size_t elements) {
    Output<T> out = operand<Output<T>, T>(elements);
    poison(out.memory_);
    return out;
  }

  // What `make()` returns, buffers on several GPUs for example, which takes `bytes` of this one's
  // memory: further sets of it are made where the caches would remember one.
  template <class Make>
  auto per_set(std::size_t bytes, Make make) {
    PerSet<std::invoke_result_t<Make>> made;
    made.turn_ = &turn_;
    add_to_sets(bytes, [sets = made.sets_, make] { sets->push_back(make()); });
    return made;
  }

  // `expected(i)` is what element i must be after one run of the body: a function object that runs
  // on host and device and does not look at the device's buffers.
  template <class T, class Expected>
  void verify(const Output<T>& out, Expected expected, Tolerance tolerance = {}) {
    check([=](bool only_written) {
      return out.size() == 0 ? std::string()
                             : check_elements(out.data(), out.size(), expected, tolerance.relative,
                                              tolerance.absolute, only_written);
    });
  }

  // The same for what one run of the body brings back to the host, which is poisoned here.
  // `complete`: blocks that the model always runs have written all of it.
  template <class T, class Expected>
  void verify_host(std::span<T> got, Expected expected, Tolerance tolerance = {},
                   bool complete = false) {
    on_host(std::as_writable_bytes(got));
    check([=](bool only_written) {
      return check_on_host(got, expected, tolerance.relative, tolerance.absolute,
                           only_written && !complete);
    });
  }

  // `got`, on the host and poisoned here, must after one run of the body hold what `from` holds.
  template <class T>
  void verify_copy(std::span<T> got, const Operand<T>& from) {
    on_host(std::as_writable_bytes(got));
    check([=](bool) -> std::string {
      std::vector<T> want(from.size());
      CUDA_CHECK(
          cudaMemcpy(want.data(), from.data(), want.size() * sizeof(T), cudaMemcpyDeviceToHost));
      for (std::size_t i = 0; i < want.size(); ++i) {
        if (std::memcmp(&got[i], &want[i], sizeof(T)) == 0) continue;
        return "on the host, " + describe_wrong(i, got[i], want[i]);
      }
      return "";
    });
  }
  // What comes back to the host is poisoned before every run, not only the one that is checked: for
  // a body that nobody trusts, which could tell the two apart.
  void poison_host_before_runs() { poisons_host_ = true; }
  // A check of another kind, made after one run of the body: "" or what is wrong.
  void check(std::function<std::string(bool only_written)> wrong);
  // In a check: the model has only priced what the body did; there are no results of it.
  bool priced() const { return priced_; }

  // The row is judged by the first of FLOP/s, items/s and useful bytes/s whose amount is given.
  void work(const Work& work);
  // What the compiler gave the kernel, which the row notes as `registers` and `local_bytes`. Where
  // nobody knows, the row ends, or, if it is not `required`, there are zeros and no notes.
  template <class... P>
  cudaFuncAttributes compiled(void (*kernel)(P...), bool required = true) {
    cudaFuncAttributes attributes{};
    note_compiled(cudaFuncGetAttributes(&attributes, kernel), attributes, required);
    return attributes;
  }
  // A key of this row's own in the result file, in words or as a number in SI units; its name must
  // be none that every row has, and stands in docs/result-format.md.
  void note(const std::string& key, const std::string& words);
  void note(const std::string& key, double number);
  // Runs the body once and notes, as `kernels`, which ones it launches: for libraries, whose choice
  // is the evidence. Absent where nobody can tell. After run(), which fills the operands.
  void note_kernels(const Body& body);
  // Calls `contents` once for every set of buffers, when data() is that set's and before it is
  // used: for what has to know addresses, such as a graph.
  void each_set(std::function<void()> contents);
  // GPUs that share the row's work; the row is skipped where there are too few. It is then timed
  // without a gate, behind other work that gives the host a head start, and the slowest process
  // counts. Valid as long as this; its first device is the current one. `head_start` [s]: what the
  // host needs to queue one run; a longer one is given where that is seen to take longer.
  const GpuRanks& ranks(std::int64_t count, double head_start = 0.3e-3);
  // The body waits for the device, allocates, or measures launches: it cannot be queued ahead.
  void blocks_host() { blocks_host_ = true; }
  // The row reads at random over so many bytes, so that it may miss the TLB.
  void scattered_over(double bytes) { scattered_bytes_ = bytes; }
  // Ends the row with a reason that names what this device lacks.
  [[noreturn]] void skip(const std::string& reason) const;
  // Skips the row on devices before this compute capability.
  void needs_capability(int major, const std::string& what) const;
  // Skips the row where a block may not have so many bytes of shared memory.
  void needs_shared_bytes(std::size_t bytes, const std::string& what) const;

  // Runs the body once, checks its results, then times it.
  void run(const Body& body);

  // --- after run() ---

  double seconds() const;  // the row's median
  // The energy of one run [J]; NaN where nobody has measured it (--energy).
  double joules() const;
  // The median of another program, timed in the same way: what the row is compared with. In a time
  // budget of its own [s] where the row takes many.
  double time(const Body& body, std::optional<double> budget_seconds = {});
  // What limits a program, where its own figures say so, such as "host", and the roof that it is
  // compared with, unless that is of the same name. After run().
  void bound(const std::string& label, const std::string& roof = "");
  // A further counter of the row, in SI units; one that is not finite stays absent.
  void counter(const std::string& name, double value);
  // Runs the body over and over for --watch_seconds, or until somebody interrupts, and notes the
  // row's headline figure and the driver's evidence on the way; says as `verdict` what to make of
  // them. The model keeps its pace by definition: there it is only said so.
  void watch(const Body& body);
  // What connects two GPUs of this machine, as the driver says ("NVLink"); "" where it does not.
  std::string connection(int a, int b) const { return platform_.connection(a, b); }
  // The host's clock, for programs that look at it [s]; virtual on the model.
  double host_seconds() const { return platform_.host_seconds(); }

  const Row& row() const { return row_; }

 private:
  std::int64_t integer(std::string_view name) const;
  template <class Buffer, class T>
  Buffer operand(std::size_t elements) {
    Buffer b;
    b.memory_ = memory(elements, sizeof(T));
    b.size_ = elements;
    return b;
  }
  OperandMemory memory(std::size_t elements, std::size_t size);
  void add_to_sets(std::size_t bytes, std::function<void()> add);
  void poison(const OperandMemory& memory);
  void prepare(std::function<void(std::size_t set)> contents);
  void note_compiled(cudaError_t error, const cudaFuncAttributes& attributes, bool required);
  double sets_against_l2() const;  // as many as it takes for a run to find nothing of its own in L2
  void add_cold_sets();
  void on_host(std::span<std::byte> results);
  void begin_run();
  std::string results_file(const std::string& folder) const;
  void keep_results() const;
  void judge_results();
  void run_checks(bool only_written) const;
  void check_sampled(const Observation& observation) const;
  void check_results(const Body& body);
  Timing take_samples(const Body& body, double budget_seconds, double warmup_seconds);
  void note_evidence(const Timing& timing);
  void take_time(const Body& body);
  void take_energy(const Body& body);
  void take_counters(const Observation& observation);

  Platform& platform_;
  const BenchSettings& settings_;
  Grids grids_;
  Row row_;
  Work work_;
  double scattered_bytes_ = 0;
  double dram_bytes_ = 0;  // 0: not known
  std::unique_ptr<GpuRanks> ranks_;
  DeviceBuffer<char> head_start_;
  double head_start_seconds_ = 0;
  std::uint64_t memory_mark_;
  std::vector<std::span<std::byte>> host_results_;
  bool poisons_host_ = false;
  bool priced_ = false;
  bool only_describes_ = false;
  bool blocks_host_ = false;
  std::size_t turn_ = 0, sets_ = 1, set_bytes_ = 0;
  std::string short_rotation_;  // why there are fewer sets than it takes; empty: there are not
  std::uint64_t inputs_ = 0;
  std::vector<std::function<void()>> add_set_;
  std::vector<std::function<void(std::size_t set)>> prepare_;
  std::vector<std::function<std::string(bool only_written)>> checks_;
};

}  // namespace gpubench

// Bench files are outside the namespace and use a handful of its names.
using gpubench::Bench;
using gpubench::launch;
using gpubench::Law;
using gpubench::law_of_lowest;
using gpubench::law_of_roof;
using gpubench::Registration;
using gpubench::Roofs;
using gpubench::RowAccess;
using gpubench::Suite;
using gpubench::Tolerance;
using gpubench::Work;
