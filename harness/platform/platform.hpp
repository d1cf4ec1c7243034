// What the two kinds of device answer differently, apart from CUDA itself. Declared once; defined
// in harness/platform/gpu/platform.cpp for a GPU and in harness/platform/model/platform.cpp for the
// model.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/devices/device.hpp"
#include "harness/evidence/evidence.hpp"
#include "harness/records/explanation.hpp"
#include "harness/records/row.hpp"
#include "harness/system/error.hpp"

namespace gpubench {

enum class DeviceKind { cuda, model };

// Which accesses a row is about; or the arithmetic that its kernels call by name.
enum class RowAccess {
  global_load,
  global_store,
  shared_load,
  shared_store,
  arithmetic,
  shared_atomic
};

// What the device knows of the kernels that one run of a body launched. A GPU knows nothing by
// itself: counters need a profiler.
struct Observation {
  std::optional<double> sectors_per_request, wavefronts_per_request, active_lanes;
  std::optional<double> occupancy;
  std::optional<double> dram_bytes, shared_bytes;  // of its kernels
  MovedBytes moved;  // of all of it: absent where libraries have a part that nobody counts
  // That lanes of its kernels asked for, and copies moved, wherever from and wherever to: nothing
  // that it needs is missing.
  std::optional<double> requested_bytes;
  bool requested_by_all = true;  // false: scaled up from what some of the blocks asked for
  std::string bound;             // empty: not known
  std::string roof;              // that this bound is about, if the two have different names
  std::string counts;  // what the counters are worth: "exact", or how they are not; empty: unknown
  std::string assuming;  // what occupancy takes for granted; empty: nothing
  std::vector<std::pair<std::string, double>> terms;  // of the kernel that takes longest, seconds
  std::vector<std::pair<std::string, double>> instructions;  // of warps, by class, of all kernels
  // All its kernels' accesses: sectors over the fewest that hold as many bytes, wavefronts over
  // what they take without a conflict, words of global memory that a thread loads, and bytes that
  // it changes by atomics.
  std::optional<double> global_excess, shared_excess, loaded_words, atomic_bytes;
  std::optional<double> fma_flops;  // of their multiply-adds in fp32 and fp64, by all lanes
  bool whole = true;                // false: only a sample of the blocks was executed
  bool priced = false;              // some of it has a duration but no results: a large collective
};

// How much of each kernel's grid the model runs.
enum class Grids {
  sampled,  // as much as is needed to know what it does
  whole,    // every block, of which a sample is counted
  counted,  // every block, and every one is counted
};

class Platform {
 public:
  virtual ~Platform() = default;
  virtual DeviceKind kind() const = 0;
  virtual const DeviceSpec& device() const = 0;
  virtual bool has_device_file() const = 0;      // false: device() is derived from its attributes
  virtual std::string cuda_version() const = 0;  // "" on the model
  // Under which conditions the model runs, by name; "" for none.
  virtual std::string conditions() const { return {}; }
  // What connects two GPUs of this machine, as the driver says: "NVLink", "PCIe (one switch)", ...;
  // "" where nobody can say.
  virtual std::string connection(int, int) const { return {}; }
  // What to know of the device before trusting any row, a sentence each.
  virtual std::vector<std::string> caveats() const { return {}; }
  // Clock, power and temperature; nullptr where nobody can say.
  virtual HealthMonitor* health() = 0;
  // GPUs that one process can make a collective's ranks of, this one included.
  virtual int gpus() const = 0;
  virtual bool deterministic() const = 0;   // equal runs take equal time
  virtual double host_seconds() const = 0;  // the host's clock; virtual on the model
  virtual void rest(double seconds) = 0;    // the host waits, by that clock, and queues nothing
  // The highest SM clock that a row has reached so far; 0 where nobody has read one.
  double known_clock_hz() const { return known_clock_hz_; }
  void note_clock(double hz) { known_clock_hz_ = std::max(known_clock_hz_, hz); }

  // From now on launches are run for their results, or only to be timed.
  virtual void expect_results(Grids grids) = 0;
  // Why this machine's memory did not do for what was to be carried out since then, or "".
  virtual std::string lacking_memory() const { return {}; }
  virtual void expect_timing() = 0;
  // What happened when while `run` ran: on a GPU as far as events can know
  // (harness/cuda/event_trace.hpp).
  virtual std::vector<TracedOperation> trace(const std::function<void()>& run) = 0;
  // Names of the kernels that `run` launches, by itself or through libraries, where a profiler's
  // library can tell; else none. The model's libraries launch none.
  virtual std::vector<std::string> kernels(const std::function<void()>&) { return {}; }
  // What was launched since expect_results(), observed.
  virtual Observation observe(RowAccess access) const = 0;
  // The same launch by launch, in order, as a profiler would list them. Only the model counts.
  virtual std::vector<Launched> launches() const { return {}; }
  // Tells a profiler, where there is one, that what `run` launches belongs to `name`.
  virtual void name_for_profiler(const std::string& name, const std::function<void()>& run) {
    static_cast<void>(name);
    run();
  }

  // What runs the kernels from now on: "source", or "ptx[:CONDUCT]" where this build has nvcc's
  // PTX. UsageError where there is no such choice. Only the model has one.
  virtual void use_engine(const std::string& name) {
    throw UsageError("--engine=" + name + " needs the model device: add --device=model:NAME");
  }

  // How many of the host's threads run blocks of kernels from now on. Only the model's do.
  virtual void use_threads(unsigned) {}

  // What came before is of no account any more.
  virtual void begin_row() { static_cast<void>(take_diagnosis()); }

  // What the device has said of the last fault that no error code can carry: which thread of which
  // kernel did what in which line. "" for nothing. Asked once, it is forgotten.
  virtual std::string take_diagnosis() { return {}; }

  // Whether the launches that expect_results() precedes are explained as well, and what came of it:
  // an entry per launch. Only the model can.
  virtual void set_explaining(bool) {}
  // What memory that was allocated since a mark holds, out of one process and into another that
  // made the same allocations. Only the model can.
  virtual std::uint64_t memory_mark() const { return 0; }
  virtual void keep_memory(std::ostream&, std::uint64_t) const { no_kept_results(); }
  virtual void take_memory(std::istream&, std::uint64_t) { no_kept_results(); }
  virtual std::vector<Explanation> explanations() const { return {}; }

 private:
  [[noreturn]] static void no_kept_results() {
    throw UsageError("--keep_results and --judge_results need the model device");
  }

  double known_clock_hz_ = 0;
};

// Opens the device that `selector` names, without its "cuda" or "model": an ordinal, or a device
// file's name or path; on the model, under the conditions in the file of that name ("": none).
// UsageError when there is none such.
std::unique_ptr<Platform> open_platform(const std::string& selector,
                                        const std::string& conditions_file = "");
DeviceKind program_kind();
// Where in the sources this address of the program's code is, as "stream.cuh:30"; "" where nobody
// knows. Slow.
std::string source_of_code(const void* address);
// One line for each GPU that this program could measure; empty on the model.
std::vector<std::string> list_gpus();

}  // namespace gpubench
