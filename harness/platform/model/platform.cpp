// The model device as the harness sees it: harness/platform/platform.hpp.
#include "harness/platform/platform.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "harness/cuda/thread_spans.hpp"
#include "harness/platform/model/collectives/cost.hpp"
#include "harness/platform/model/collectives/nccl.hpp"
#include "harness/platform/model/compiled/compiled.hpp"
#include "harness/platform/model/conditions/conditions.hpp"
#include "harness/platform/model/emulator/guard.hpp"
#include "harness/platform/model/emulator/running.hpp"
#include "harness/platform/model/emulator/source_location.hpp"
#include "harness/platform/model/engine/emulator.hpp"
#include "harness/platform/model/kept_memory.hpp"
#include "harness/platform/model/launch/symbols.hpp"
#include "harness/platform/model/moved_bytes.hpp"
#include "harness/platform/model/profiled.hpp"
#include "harness/platform/model/ptx/engine.hpp"
#include "harness/platform/model/runtime/runtime.hpp"
#include "harness/records/tracks.hpp"
#include "harness/system/crash.hpp"
#include "harness/system/process_group.hpp"
#include "harness/system/sibling_programs.hpp"

namespace gpubench {
namespace {

// What the driver would say of a device under conditions.
class ModelHealth final : public HealthMonitor {
 public:
  HealthSample sample() override { return model::current_runtime()->health(); }
};

class ModelPlatform final : public Platform {
 public:
  ModelPlatform(DeviceSpec device, model::Conditions conditions)
      : device_(std::move(device)),
        conditions_(std::move(conditions)),
        memory_(static_cast<std::size_t>(device_["dram_bytes"]), gpus()),
        emulator_(device_, memory_, settings(conditions_.ordering)) {
    describe_crashes_by(model::describe_running);
    model::install_runtime(
        std::make_unique<model::Runtime>(device_, memory_, emulator_, runtime_options()));
    if (ProcessGroup::all().count() > 1) {
      model::set_collective_exchange(
          [](const auto& mine) { return ProcessGroup::all().gather(mine); });
    }
  }
  ~ModelPlatform() override { model::install_runtime(nullptr); }

  DeviceKind kind() const override { return DeviceKind::model; }
  const DeviceSpec& device() const override { return device_; }
  bool has_device_file() const override { return true; }
  std::string cuda_version() const override { return {}; }
  std::string conditions() const override { return conditions_.name; }
  std::string connection(int a, int b) const override {
    const bool linked = device_.find("nvlink_bytes_per_second").has_value() &&
                        model::current_runtime()->same_node(a, b);
    return linked ? "NVLink" : "";
  }
  HealthMonitor* health() override { return deterministic() ? nullptr : &health_; }
  bool deterministic() const override { return !conditions_.timing.present; }
  int gpus() const override { return model::has_collectives(device_) ? most_gpus : 1; }
  double host_seconds() const override { return model::current_runtime()->host_seconds(); }
  void rest(double seconds) override { model::current_runtime()->sleep(seconds); }

  void expect_results(Grids grids) override {
    static const std::map<Grids, model::Execution> execution_of{
        {Grids::sampled, model::Execution::sampled},
        {Grids::whole, model::Execution::whole},
        {Grids::counted, model::Execution::counted}};
    model::current_runtime()->expect_results(true);
    emulator_.forget_runs();
    emulator_.set_execution(execution_of.at(grids));
  }
  std::string lacking_memory() const override { return emulator_.lacking_memory(); }
  void expect_timing() override {
    emulator_.set_execution(model::Execution::timing);
    model::current_runtime()->expect_results(false);
  }
  std::uint64_t memory_mark() const override {
    return model::current_runtime()->memory().next_identity();
  }
  void keep_memory(std::ostream& to, std::uint64_t mark) const override {
    model::keep_memory(to, model::current_runtime()->memory(), mark);
  }
  void take_memory(std::istream& from, std::uint64_t mark) override {
    model::take_memory(from, model::current_runtime()->memory(), mark);
  }
  std::vector<TracedOperation> trace(const std::function<void()>& run) override;
  Observation observe(RowAccess access) const override;
  std::vector<Launched> launches() const override;
  void use_engine(const std::string& name) override;
  void use_threads(unsigned threads) override { emulator_.use_threads(threads); }
  void begin_row() override {
    static_cast<void>(take_diagnosis());
    model::current_runtime()->restart_clock();
    emulator_.forget_past();
  }
  std::string take_diagnosis() override { return model::current_runtime()->take_diagnostic(); }
  void set_explaining(bool explaining) override { emulator_.set_explaining(explaining); }
  std::vector<Explanation> explanations() const override { return emulator_.explanations(); }

 private:
  static constexpr int most_gpus = 1024;  // on as many nodes as that takes

  static model::EmulatorSettings settings(const model::Ordering& ordering) {
    model::use_host_memory(
        {[](const void* address, std::size_t bytes) {
           return model::current_runtime()->is_mapped_host(address, bytes);
         },
         [](const void* address) { return model::current_runtime()->memory().in_range(address); }});
    model::EmulatorSettings settings;
    settings.ordering = ordering;
    settings.may_access = [](int device, int peer) {
      return model::current_runtime()->may_access(device, peer);
    };
    settings.is_mapped_host = [](const void* address, std::size_t bytes) {
      return model::current_runtime()->is_mapped_host(address, bytes);
    };
    return settings;
  }

  model::RuntimeOptions runtime_options() const {
    model::RuntimeOptions options;
    options.kernel_resources = [this](const void* function) -> model::KernelResources {
      const auto* kernel = model::compiled_kernel(device_, model::readable_name(function));
      if (kernel == nullptr || !kernel->knows_local_bytes) return {};
      return {kernel->registers, kernel->static_shared_bytes, kernel->local_bytes};
    };
    options.conditions = conditions_;
    options.devices = gpus();
    options.node_devices = static_cast<int>(device_.find("node_gpus").value_or(1));
    return options;
  }
  // What is known of the compiled code of all kernels that ran.
  void judge_counts(RowAccess access, Observation& observation) const;

  DeviceSpec device_;
  model::Conditions conditions_;
  model::ptx::Library ptx_;
  model::DeviceMemory memory_;
  model::Emulator emulator_;
  ModelHealth health_;
};

void ModelPlatform::use_engine(const std::string& name) {
  if (name == "source") return;
  if (name != "ptx" && !name.starts_with("ptx:")) {
    throw UsageError("--engine='" + name +
                     "': takes source, ptx or ptx:late,slow,random=SEED,shift=BYTES");
  }
  model::ptx::Conduct conduct =
      model::ptx::conduct_named(name.substr(std::min<std::size_t>(name.size(), 4)));
  const model::Ordering& ordering = conditions_.ordering;
  conduct.late_copies |= ordering.late_bulk_copies;
  if (ordering.random_warps && !conduct.random_order) {
    conduct.random_order = true;
    conduct.seed = ordering.seed;
  }
  try {
    ptx_.add_from(half_of_program(Half::cuda));
  } catch (const model::ptx::PtxError& error) {
    throw UsageError(std::string("--engine=ptx: ") + error.what());
  }
  emulator_.use_engine(model::ptx::make_engine(ptx_, device_.compute_capability(), conduct));
}

std::vector<TracedOperation> ModelPlatform::trace(const std::function<void()>& run) {
  model::Runtime& runtime = *model::current_runtime();
  runtime.clear_records();
  const double begin = runtime.host_seconds();
  ThreadSpans::all().begin();
  run();
  std::vector<TracedOperation> operations = ThreadSpans::all().end(begin);
  for (const model::HostRecord& call : runtime.host_records()) {
    const std::string times = call.calls > 1 ? " x " + std::to_string(call.calls) : "";
    operations.push_back(
        {host_track, call.name + times, "", 0, call.start - begin, call.end - begin});
  }
  // Streams count from the first that this program uses.
  std::map<int, std::string> streams{{0, legacy_track}};
  const auto records = runtime.records();
  for (const model::Record& r : records) {
    streams.try_emplace(r.stream, "stream " + std::to_string(streams.size()));
    operations.push_back(
        {streams.at(r.stream), r.name, "", r.bytes, r.start - begin, r.end - begin});
  }
  for (const model::Record& r : records) {
    if (r.engine == model::Engine::none) continue;
    operations.push_back({model::engine_name(r.engine), r.name, streams.at(r.stream), r.bytes,
                          r.start - begin, r.end - begin});
  }
  return operations;
}

void ModelPlatform::judge_counts(RowAccess access, Observation& observation) const {
  std::set<std::string> worth;
  const auto& runs = emulator_.runs();
  const auto is_unknown = [&](const auto& run) {
    return model::compiled_kernel(device_, run.profile.name) == nullptr;
  };
  if (std::ranges::any_of(runs, is_unknown)) {
    observation.assuming = "no register limit";
    const auto guesses = [](const auto& run) { return run.profile.has_guessed_structs; };
    if (access != RowAccess::arithmetic && std::ranges::any_of(runs, guesses)) {
      observation.counts =
          "source stream; whole structs count by 1, 4 or 16 bytes, and nvcc copies by alignment";
    }
    return;
  }
  for (const auto& run : runs) {
    const auto* kernel = model::compiled_kernel(device_, run.profile.name);
    if (!kernel->has_local_price) observation.assuming = "local memory costs nothing";
    // Nobody compared the compiled code's arithmetic with the source's.
    if (access != RowAccess::arithmetic) worth.insert(model::worth_of_counts(*kernel, access));
  }
  if (worth.size() > 1) worth.erase("exact");
  for (const std::string& words : worth) {
    observation.counts += (observation.counts.empty() ? "" : "; ") + words;
  }
}

std::vector<Launched> ModelPlatform::launches() const {
  std::vector<Launched> launches;
  for (const auto& run : emulator_.runs()) {
    const auto* kernel = model::compiled_kernel(device_, run.profile.name);
    Launched one = model::as_profiled(run.profile, run.prediction.occupancy);
    if (kernel == nullptr) {  // then what the profile says of the compiled code is not known
      for (const char* name : {"local_bytes", "shared_bytes", "local_moved_bytes"}) {
        one.figures.erase(name);
      }
    } else {
      if (!kernel->has_local_price) one.figures.erase("local_moved_bytes");
      if (!kernel->knows_local_bytes) one.figures.erase("local_bytes");
      one.departures = kernel->counts;
    }
    if (!launches.empty()) {
      one.times = launches.back().times;
      if (one == launches.back()) {
        ++launches.back().times;
        continue;
      }
      one.times = 1;
    }
    launches.push_back(std::move(one));
  }
  return launches;
}

void note_excess(const model::Counts& all, const std::vector<model::Emulator::Run>& runs,
                 Observation& result) {
  model::AccessCounts global, shared;
  for (const auto kind : {model::Access::load, model::Access::store, model::Access::atomic}) {
    global += all.at(model::Space::global, kind);
    shared += all.at(model::Space::shared, kind);
  }
  double threads = 0;
  for (const auto& run : runs) threads += run.profile.blocks * run.profile.threads_per_block;
  if (global.ideal_sectors > 0) result.global_excess = global.sectors / global.ideal_sectors;
  if (shared.ideal_wavefronts > 0) {
    result.shared_excess = shared.wavefronts / shared.ideal_wavefronts;
  }
  if (threads > 0) {
    // An atomic returns what it has read.
    const double bytes = all.at(model::Space::global, model::Access::load).bytes +
                         all.at(model::Space::global, model::Access::atomic).bytes +
                         all.bulk_loads.bytes;
    result.loaded_words = bytes / sizeof(float) / threads;
    result.atomic_bytes = (all.at(model::Space::global, model::Access::atomic).bytes +
                           all.at(model::Space::shared, model::Access::atomic).bytes) /
                          threads;
  }
}

void note_bytes(const std::vector<model::Emulator::Run>& runs, Observation& observation) {
  const model::Runtime& runtime = *model::current_runtime();
  if (!runtime.operations().empty()) return;
  observation.moved = model::moved_bytes(runs);
  if (runtime.has_moved_bytes()) return;
  observation.requested_bytes = model::requested_bytes(runs);
  observation.requested_by_all =
      std::ranges::all_of(runs, [](const auto& run) { return run.profile.scale() == 1; });
}

// Which accesses' counts a row gives.
std::pair<model::Space, model::Access> counted_for(RowAccess access) {
  switch (access) {
    case RowAccess::global_load:
      return {model::Space::global, model::Access::load};
    case RowAccess::shared_load:
      return {model::Space::shared, model::Access::load};
    case RowAccess::shared_store:
      return {model::Space::shared, model::Access::store};
    case RowAccess::shared_atomic:
      return {model::Space::shared, model::Access::atomic};
    default:
      return {model::Space::global, model::Access::store};
  }
}

Observation ModelPlatform::observe(RowAccess access) const {
  const auto& runs = emulator_.runs();
  Observation result;
  double longest_operation = 0;
  for (const model::PricedOperation& operation : model::current_runtime()->operations()) {
    result.priced = result.priced || !operation.computed;
    if (operation.seconds <= longest_operation) continue;
    longest_operation = operation.seconds;
    result.bound = operation.bound;
    result.roof = operation.bound == "tensor" ? operation.roof : operation.bound;
    result.terms = operation.terms;
  }
  if (runs.empty()) return result;
  const auto [space, kind_of_row] = counted_for(access);
  model::AccessCounts studied;
  model::Counts all;
  double dram = 0, wavefronts = 0;
  const model::Emulator::Run* longest = &runs.front();
  for (const auto& run : runs) {
    const auto counts = run.profile.counts.scaled(run.profile.scale());
    studied += counts.at(space, kind_of_row);
    all += counts;
    dram += run.prediction.traffic.dram_read_bytes + run.prediction.traffic.dram_write_bytes;
    for (const auto kind : {model::Access::load, model::Access::store, model::Access::atomic}) {
      wavefronts += counts.at(model::Space::shared, kind).wavefronts;
    }
    wavefronts -= counts.packed_wavefronts;
    result.whole = result.whole && run.whole;
    if (run.prediction.seconds > longest->prediction.seconds) longest = &run;
  }
  if (access == RowAccess::arithmetic) {
    const double issued = std::accumulate(all.issued.begin(), all.issued.end(), 0.0);
    if (issued > 0) result.active_lanes = all.arithmetic_lanes() / issued;
  } else if (studied.requests > 0) {
    if (space == model::Space::shared) {
      result.wavefronts_per_request = studied.wavefronts / studied.requests;
    } else {
      result.sectors_per_request = studied.sectors / studied.requests;
    }
    result.active_lanes = studied.lanes / studied.requests;
  }
  result.instructions = model::instructions_of(all);
  note_excess(all, runs, result);
  result.fma_flops = 2 * (all.fma_fp32 + all.fma_fp64);
  judge_counts(access, result);
  note_bytes(runs, result);
  // What libraries move, nobody counts.
  if (dram > 0 && model::current_runtime()->operations().empty()) result.dram_bytes = dram;
  if (wavefronts > 0) result.shared_bytes = wavefronts * model::shared_banks * model::bank_bytes;
  result.occupancy = longest->prediction.occupancy.fraction;
  if (longest->prediction.seconds < longest_operation) return result;
  result.bound = longest->prediction.bound;
  result.roof = longest->prediction.roof;
  result.terms.clear();
  for (const auto& term : longest->prediction.terms) {
    result.terms.emplace_back(term.name, term.seconds);
  }
  return result;
}

}  // namespace

std::unique_ptr<Platform> open_platform(const std::string& selector,
                                        const std::string& conditions_file) {
  DeviceSpec device = device_spec(selector);
  if (device.kind() != "gpu") {
    throw UsageError("device '" + device.name() +
                     "' is a data-sheet roof only: the model cannot run it");
  }
  return std::make_unique<ModelPlatform>(
      std::move(device),
      conditions_file.empty() ? model::Conditions{} : model::load_conditions(conditions_file));
}

DeviceKind program_kind() { return DeviceKind::model; }

std::string source_of_code(const void* address) {
  // It wants what a call returns to, and looks before that.
  const std::string place = model::source_location(static_cast<const char*>(address) + 1);
  return place.find(':') == std::string::npos ? "" : place;
}
std::vector<std::string> list_gpus() { return {}; }

}  // namespace gpubench
