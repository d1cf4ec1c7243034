#include "harness/platform/model/engine/emulator.hpp"

#include <algorithm>
#include <set>

#include "harness/platform/model/engine/grid.hpp"
#include "harness/platform/model/engine/launch_run.hpp"
#include "harness/platform/model/engine/worker.hpp"
#include "harness/platform/model/time/population.hpp"
#include "harness/system/cores.hpp"

namespace gpubench::model {
namespace {

// Clusters outside the sample, for their results alone.
std::vector<std::uint64_t> clusters_without(std::uint64_t clusters,
                                            std::vector<std::uint64_t> done) {
  std::ranges::sort(done);
  std::vector<std::uint64_t> rest;
  for (std::uint64_t i = 0; i < clusters; ++i) {
    if (!std::ranges::binary_search(done, i)) rest.push_back(i);
  }
  return rest;
}

// The clusters that these blocks are in, each once, but for some.
std::vector<std::uint64_t> clusters_of(const std::vector<std::uint64_t>& blocks, unsigned cluster,
                                       const std::vector<std::uint64_t>& without) {
  std::set<std::uint64_t> seen(without.begin(), without.end());
  std::vector<std::uint64_t> clusters;
  for (const std::uint64_t block : blocks) {
    if (seen.insert(block / cluster).second) clusters.push_back(block / cluster);
  }
  return clusters;
}

}  // namespace

Emulator::Emulator(const DeviceSpec& device, DeviceMemory& memory, EmulatorSettings settings)
    : device_(device), memory_(memory), settings_(std::move(settings)), sample_(device, memory) {
  use_engine([this](DeviceMemory& of, const MappedHost& is_mapped_host) {
    return make_source_engine(of, is_mapped_host, settings_.ordering);
  });
}

void Emulator::use_engine(const MakeEngine& make) {
  const unsigned threads = settings_.threads != 0 ? settings_.threads : usable_cpus();
  make_engine_ = make;
  workers_.clear();
  for (unsigned i = 0; i < threads; ++i) {
    workers_.push_back(std::make_unique<Worker>(make(memory_, settings_.is_mapped_host)));
  }
  measured_.clear();
}

void Emulator::use_threads(unsigned threads) {
  settings_.threads = threads;
  use_engine(MakeEngine(make_engine_));
}

Emulator::~Emulator() { limit_host_memory({}); }

void Emulator::set_execution(Execution execution) {
  execution_ = execution;
  if (execution == Execution::timing) return;  // what was run stays
  limit_host_memory(runs_all() ? std::optional<std::size_t>() : settings_.most_host_bytes);
}

void Emulator::ask_for_arguments(const KernelLaunch& launch) const {
  std::size_t bytes = 0;
  for (const Allocation* const allocation : argument_allocations(launch, memory_)) {
    bytes += DeviceMemory::absent_bytes(*allocation);
  }
  ask_host_memory(bytes);
}

// What decides a launch's duration: the kernel, its shape, and its arguments, where a pointer
// counts as what it points to (how large, holding what) and not as where that lies, so that the
// rotated copies of a buffer are the same.
std::string Emulator::shape_of(const KernelLaunch& launch,
                               std::vector<std::uint64_t>& identities) const {
  std::string key;
  const auto append = [&](const auto& value) {
    key.append(reinterpret_cast<const char*>(&value), sizeof(value));
  };
  append(launch.function);
  append(launch.grid);
  append(launch.block);
  append(launch.cluster);
  append(launch.cooperative);
  append(launch.shared_bytes);
  for (const std::uint64_t word : launch.argument_words) {
    const Allocation* const allocation = allocation_at(memory_, word);
    if (allocation != nullptr) {
      identities.push_back(allocation->identity);
      append(allocation->bytes);
      append(allocation->device == launch.device);
      append(word - reinterpret_cast<std::uint64_t>(allocation->begin));
    } else {
      append(word);
    }
  }
  return key;
}

// A cooperative grid of few threads runs all at once, as a cluster does. Of a larger one, blocks
// run by themselves: at a barrier of the grid each goes on, and what it reads of others is unknown.
KernelLaunch Emulator::as_it_runs(const KernelLaunch& launch) {
  constexpr std::uint64_t most_threads = 1 << 14;
  const std::uint64_t blocks = linear(launch.grid);
  KernelLaunch running = launch;
  running.together = launch.cluster;
  if (launch.cooperative && blocks * linear(launch.block) <= most_threads) {
    running.together = static_cast<unsigned>(blocks);
  }
  return running;
}

Emulator::Measured Emulator::run_blocks(const KernelLaunch& asked, LaunchFault& fault) {
  const KernelLaunch launch = as_it_runs(asked);
  const std::uint64_t grid_blocks = linear(launch.grid), clusters = grid_blocks / launch.together;
  const std::uint64_t last = clusters - 1;
  const std::vector<std::uint64_t> compared = sample_.to_compare(launch);
  LaunchRun run(launch, device_, memory_, settings_.ordering, workers_, compared,
                explaining_ && execution_ != Execution::timing);
  // The last block, the ragged one, tells what a block costs; the budget says how many follow.
  run.run({last}, Watch::counts);
  const std::uint64_t events = std::max<std::uint64_t>(workers_[0]->events(), 1);
  const std::size_t affordable = execution_ == Execution::counted
                                     ? grid_blocks
                                     : std::clamp<std::size_t>(settings_.event_budget / events, 2,
                                                               settings_.most_sampled_blocks);
  const std::vector<std::uint64_t> chosen =
      clusters_of(sample_.choose(grid_blocks, affordable), launch.together, {last});
  if (clusters > 1) {  // no block finds an earlier one's values in its static shared memory
    const std::vector<std::size_t> variables = workers_[0]->engine().written_variables();
    for (const auto& worker : workers_) worker->engine().poison(variables);
  }
  run.run(chosen, Watch::counts);
  std::vector<std::uint64_t> done = chosen;
  done.push_back(last);
  if (done.size() < clusters) {
    if (run.has_drawn_all(last)) {
      fault = {
          std::string(launch.name) +
          ": the block that ran first has drawn, by atomics, the work of blocks that are not " +
          "counted: say bench.run_every_block(), or run with --whole_grids=counted"};
      return {};
    }
    const std::vector<std::uint64_t> probes = sample_.to_probe(launch, run.work());
    run.run(probes, Watch::reads);
    const std::vector<std::uint64_t> more = sample_.to_balance(launch, run.work(), done);
    run.run(more, Watch::counts);
    done.insert(done.end(), probes.begin(), probes.end());
    done.insert(done.end(), more.begin(), more.end());
  }
  // Those compared that were not chosen: they run, and are not counted.
  const std::vector<std::uint64_t> beside = clusters_of(compared, launch.together, done);
  run.run(beside, Watch::reads);
  Measured measured;
  measured.whole = done.size() == clusters;
  const bool needs_all = runs_all() || (execution_ == Execution::sampled && run.has_idle_blocks());
  if (needs_all && !measured.whole) {
    done.insert(done.end(), beside.begin(), beside.end());
    run.run(clusters_without(clusters, std::move(done)), Watch::nothing);
    measured.whole = true;
  }
  if (launch.cooperative && launch.together < grid_blocks) measured.whole = false;
  measured.profile = run.profile();
  measured.touches = run.touches();
  if (auto explanation = run.explanation()) explanations_.push_back(std::move(*explanation));
  fault = run.fault();
  if (fault.text.empty()) {
    const std::string forbidden = forbidden_access(measured.profile);
    fault = {forbidden, !forbidden.empty()};
  }
  return measured;
}

// What is wrong with the devices whose memory a kernel has used, or "".
std::string Emulator::forbidden_access(const KernelProfile& profile) const {
  for (const FootprintSums& f : profile.footprints) {
    // Mapped memory has rules of its own, which every access has kept.
    if (f.device == profile.device || f.is_mapped) continue;
    if (settings_.may_access && settings_.may_access(profile.device, f.device)) continue;
    return profile.name + " on device " + std::to_string(profile.device) +
           " accessed memory of device " + std::to_string(f.device) +
           ", and cudaDeviceEnablePeerAccess was not called for it";
  }
  return "";
}

// L2 keeps what was used last: all of an allocation while no more than its capacity has gone
// through since that use began, nothing after twice that, and a share in between, since its
// replacement is not strictly by age. (Assumed; calibration belongs to the working-set sweep.)
Held Emulator::held(const FootprintSums& f) const {
  const auto found = last_use_.find(f.identity);
  if (found == last_use_.end()) return 0;
  const double since = l2_traffic_.at(f.device) - found->second;
  const double partitions = device_.find("l2_partitions").value_or(1);
  const L2Shares shares =
      l2_shares(swept_hits(since * partitions / device_["l2_bytes"]), partitions);
  const double hits = shares.near + shares.far;
  return {std::clamp(2 - since / device_["l2_bytes"], 0.0, 1.0), hits > 0 ? shares.near / hits : 1};
}

const Prediction& Emulator::prediction_of(Measured& measured,
                                          const std::vector<FootprintSums>& footprints) const {
  std::vector<Held> in_l2;
  for (const FootprintSums& f : footprints) in_l2.push_back(held(f));
  const auto found = measured.predictions.find(in_l2);
  if (found != measured.predictions.end()) return found->second;
  KernelProfile profile = measured.profile;
  profile.footprints = footprints;
  const auto known = [&](const FootprintSums& f) {
    return in_l2[static_cast<std::size_t>(&f - profile.footprints.data())];
  };
  Prediction made = predict(profile, device_, known);
  return measured.predictions.emplace(std::move(in_l2), std::move(made)).first->second;
}

void Emulator::remember_traffic(const KernelProfile& profile,
                                const std::vector<FootprintSums>& footprints) {
  double& traffic = l2_traffic_[profile.device];
  const double begin = traffic;
  constexpr std::uint64_t sectors_a_line = line_bytes / sector_bytes;
  for (const FootprintSums& f : footprints) {
    if (f.device != profile.device || f.team > 0) continue;
    last_use_[f.identity] = begin;
    const double touched = profile.scale() * static_cast<double>(std::max(
                                                 f.read_lines * sectors_a_line, f.write_distinct));
    traffic += sector_bytes * std::min(touched, static_cast<double>(f.extent));
  }
}

KernelOutcome Emulator::execute(const KernelLaunch& launch) {
  std::vector<std::uint64_t> identities;
  const std::string shape = shape_of(launch, identities);
  auto found = measured_.find(shape);
  if (execution_ != Execution::timing || found == measured_.end()) {
    LaunchFault fault;
    Measured measured;
    try {
      if (runs_all()) ask_for_arguments(launch);
      measured = run_blocks(launch, fault);
    } catch (const OutOfHostMemory& lacking) {
      lacking_memory_ = std::string(launch.name) + ": " + lacking.what();
      use_engine(MakeEngine(make_engine_));  // what the workers hold is given back
      KernelOutcome refused;
      refused.lacks_memory = true;
      return refused;
    }
    if (!fault.text.empty()) {
      KernelOutcome failed;
      failed.error = fault.text;
      failed.is_illegal_access = fault.is_illegal_access;
      return failed;
    }
    measured.identities = identities;
    found = measured_.insert_or_assign(shape, std::move(measured)).first;
  }
  Measured& measured = found->second;
  // The same footprints on the allocations that this launch was given.
  const auto now = [&](std::uint64_t identity) {
    const auto argument = std::ranges::find(measured.identities, identity);
    return argument == measured.identities.end()
               ? identity
               : identities[static_cast<std::size_t>(argument - measured.identities.begin())];
  };
  std::vector<FootprintSums> footprints = measured.profile.footprints;
  for (FootprintSums& f : footprints) f.identity = now(f.identity);
  Touches touches = measured.touches;
  for (Touched& touched : touches) touched.identity = now(touched.identity);
  add_replicas(touches, memory_);
  const Prediction& prediction = prediction_of(measured, footprints);
  remember_traffic(measured.profile, footprints);
  KernelOutcome outcome{prediction.seconds, {}, prediction.utilisation, std::move(touches)};
  if (execution_ != Execution::timing) {
    runs_.push_back({measured.profile, prediction, measured.whole});
    runs_.back().profile.footprints = std::move(footprints);
  }
  return outcome;
}

}  // namespace gpubench::model
