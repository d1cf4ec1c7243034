// gpubench-sites: which accesses each kernel makes, by site, as the emulator sees them. JSON on
// standard output, for audit.py, which compares them with the compiled code.
//
//   {"kernels": {"coalescing::gather": {
//      "studied": {"coalescing": ["global load"]},      by concept, what its rows count
//      "sites": [{"code": 12345, "access": "global load", "bytes": 4, "times": 8}]}}}
//
// `code` is an offset into this program (addr2line knows its line); `times` is the most often that
// one lane came by in one launch. Two blocks of a launch are run, and nothing is timed.
// With --names: reads linkers' names, a line each, and writes them as the JSON has them.
#include <link.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <nlohmann/json.hpp>

#include "harness/bench/row_end.hpp"
#include "harness/bench/run_row.hpp"
#include "harness/platform/model/compiled/compiled.hpp"
#include "harness/platform/model/emulator/block_runner.hpp"
#include "harness/platform/model/emulator/cluster_runner.hpp"
#include "harness/platform/model/launch/symbols.hpp"
#include "harness/platform/model/runtime/runtime.hpp"

namespace gpubench::model {
namespace {

// After so many events of a kernel its further launches are passed over.
constexpr std::size_t most_events = 200'000;

struct Site {
  std::uint64_t code;
  std::string access;
  unsigned bytes;
  auto operator<=>(const Site&) const = default;
};

struct Kernel {
  std::map<Site, std::uint64_t> times;
  std::map<std::string, std::set<std::string>> studied;
  std::size_t events = 0;
  const void* function = nullptr;  // the first of this name
};

std::uint64_t program_begin() {
  std::uint64_t begin = 0;  // the program itself comes first
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* result) {
        *static_cast<std::uint64_t*>(result) = info->dlpi_addr;
        return 1;
      },
      &begin);
  return begin;
}

class SiteRecorder final : public KernelExecutor {
 public:
  explicit SiteRecorder(DeviceMemory& memory)
      : runner_(memory, is_mapped_host_), cluster_(memory, is_mapped_host_, {}) {
    runner_.attach();
  }

  KernelOutcome execute(const KernelLaunch& asked) override {
    if (!recording_) return {1e-6, {}};
    KernelLaunch launch = asked;
    launch.together = launch.cluster;
    Kernel& kernel = kernels_[launch.name];
    launched_.insert(&kernel);
    if (kernel.events > most_events) return {1e-6, {}};
    // A static kernel of a header has a copy in each file that includes it: one is counted.
    if (kernel.function == nullptr) kernel.function = launch.function;
    const bool counts = kernel.function == launch.function;
    const dim3 last(launch.grid.x - launch.cluster, launch.grid.y - 1, launch.grid.z - 1);
    for (const dim3 block : {dim3(0, 0, 0), last}) {
      const BlockResult result = launch.cluster > 1 ? cluster_.run(launch, block, true).front()
                                                    : runner_.run(launch, block, true);
      if (!result.fault.empty()) {
        std::cerr << "gpubench-sites: " << launch.name << ": " << result.fault << '\n';
        faulted_ = true;
        break;
      }
      if (!counts) continue;
      if (launch.cluster == 1) {
        count(runner_, result.lanes, kernel);
        continue;
      }
      for (unsigned rank = 0; rank < launch.cluster; ++rank) {
        count(cluster_.block(rank), result.lanes, kernel);
      }
    }
    return {1e-6, {}};
  }

  void record(bool on) {
    recording_ = on;
    if (on) launched_.clear();
  }
  void studied(const std::string& topic, const std::string& access) {
    for (Kernel* kernel : launched_) kernel->studied[topic].insert(access);
  }
  const std::map<std::string, Kernel>& kernels() const { return kernels_; }
  bool faulted() const { return faulted_; }

 private:
  void count(const BlockRunner& block, unsigned lanes, Kernel& kernel) {
    for (unsigned lane = 0; lane < lanes; ++lane) count(block, block.traces()[lane], kernel);
  }
  void count(const BlockRunner& block, const LaneTrace& trace, Kernel& kernel) {
    std::map<Event, std::pair<bool, std::uint64_t>> seen;  // shared or not, how often
    std::size_t access = 0;
    for (std::size_t i = 0; i < trace.events.size(); ++i) {
      const Event event = trace.events[i];
      if (!is_access(event)) continue;
      if (bytes_of(event) > 16) {  // a bulk copy's, which the compiled code has no accesses for
        ++access;
        continue;
      }
      auto& [shared, times] = seen[event];
      // Other blocks' is reached by generic instructions, as global memory may be.
      shared = block.space_of(trace.addresses[access++]) == Space::shared;
      ++times;
    }
    kernel.events += trace.events.size();
    for (const auto& [event, site] : seen) {
      const EventKind kind = as_plain(kind_of(event));
      const char* what = kind == EventKind::load    ? "load"
                         : kind == EventKind::store ? "store"
                                                    : "atomic";
      std::uint64_t& most =
          kernel.times[{code_address_of(event) - program_begin_,
                        (site.first ? "shared " : "global ") + std::string(what), bytes_of(event)}];
      most = std::max(most, site.second);
    }
  }

  const MappedHost is_mapped_host_ = [](const void* address, std::size_t bytes) {
    return current_runtime()->is_mapped_host(address, bytes);
  };
  const std::uint64_t program_begin_ = program_begin();
  BlockRunner runner_;
  ClusterRunner cluster_;  // of kernels whose blocks run together
  bool recording_ = false;
  bool faulted_ = false;
  std::map<std::string, Kernel> kernels_;
  std::set<Kernel*> launched_;  // by the row that runs
};

// What rows have in common that differ by numbers alone.
std::string kind_of(const Instance& row) {
  std::string kind = row.topic + "/" + row.kernel;
  for (const auto& [axis, value] : row.arguments) {
    if (const auto* word = std::get_if<std::string>(&value)) kind += "/" + *word;
  }
  return kind;
}

class SitesPlatform final : public Platform {
 public:
  explicit SitesPlatform(DeviceSpec device)
      : device_(std::move(device)),
        memory_(static_cast<std::size_t>(device_["dram_bytes"]), ranks),
        recorder_(memory_) {}
  ~SitesPlatform() override { install_runtime(nullptr); }

  DeviceKind kind() const override { return DeviceKind::model; }
  const DeviceSpec& device() const override { return device_; }
  bool has_device_file() const override { return true; }
  std::string cuda_version() const override { return {}; }
  HealthMonitor* health() override { return nullptr; }
  int gpus() const override { return ranks; }
  bool deterministic() const override { return true; }
  double host_seconds() const override { return current_runtime()->host_seconds(); }
  void rest(double) override {}
  void expect_results(Grids) override { recorder_.record(true); }
  void expect_timing() override { recorder_.record(false); }
  std::vector<TracedOperation> trace(const std::function<void()>& run) override {
    run();
    return {};
  }
  Observation observe(gpubench::RowAccess access) const override {
    recorder_.studied(topic_, words_for(access));
    if (!checks_) throw Skipped{"its accesses are known"};
    Observation result;
    result.whole = false;
    return result;
  }

  // A runtime of its own for each row: one that faults, for want of other blocks' results, must not
  // take the rest along.
  void begin_row(const Instance& row) {
    topic_ = row.topic;
    checks_ = checked_.insert(kind_of(row)).second;
    RuntimeOptions options;
    // Some number: rows that depend on it are to be recorded as well, before anybody knows it.
    options.kernel_resources = [](const void*) { return KernelResources{.registers = 32}; };
    options.devices = options.node_devices = ranks;
    install_runtime(std::make_unique<Runtime>(device_, memory_, recorder_, options));
    current_runtime()->expect_results(false);  // none by libraries and host threads
  }
  const SiteRecorder& recorder() const { return recorder_; }

 private:
  static constexpr int ranks = 2;  // what kernels that talk to a peer need
  DeviceSpec device_;
  DeviceMemory memory_;
  mutable SiteRecorder recorder_;
  std::string topic_;
  // Checks have kernels too, the same for all rows of a kind; what they find is wrong here, since a
  // result takes all blocks.
  bool checks_ = true;
  std::set<std::string> checked_;
};

nlohmann::ordered_json to_json(const std::map<std::string, Kernel>& kernels) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const auto& [name, kernel] : kernels) {
    auto& entry = json[name] = {{"studied", kernel.studied}};
    entry["sites"] = nlohmann::ordered_json::array();
    for (const auto& [site, times] : kernel.times) {
      entry["sites"].push_back(
          {{"code", site.code}, {"access", site.access}, {"bytes", site.bytes}, {"times", times}});
    }
  }
  return {{"kernels", json}};
}

int run() {
  SitesPlatform platform(device_spec("h200-sxm"));
  BenchSettings settings;
  settings.mode = Mode::hot;
  settings.profile = true;  // once, and no copies of buffers
  for (const Instance& row : instances(Suite::full)) {
    platform.begin_row(row);
    static_cast<void>(run_row(row, platform, settings));
  }
  std::cout << to_json(platform.recorder().kernels()).dump() << '\n';
  return platform.recorder().faulted() ? 1 : 0;
}

}  // namespace
}  // namespace gpubench::model

int main(int argc, char** argv) {
  try {
    if (argc == 2 && std::string_view(argv[1]) == "--names") {
      for (std::string name; std::getline(std::cin, name);) {
        std::cout << gpubench::model::decoded_name(name.c_str()) << '\n';
      }
      return 0;
    }
    return gpubench::model::run();
  } catch (const std::exception& error) {
    std::cerr << "gpubench-sites: " << error.what() << '\n';
    return 1;
  }
}
