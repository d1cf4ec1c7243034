#include "harness/platform/model/engine/launch_run.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "harness/contents/random.hpp"
#include "harness/platform/model/compiled/compiled.hpp"
#include "harness/platform/model/engine/grid.hpp"
#include "harness/system/crash.hpp"

namespace gpubench::model {
namespace {

void shuffle(std::vector<std::uint64_t>& clusters, std::uint64_t seed) {
  for (std::size_t left = clusters.size(); left > 1; --left) {
    std::swap(clusters[left - 1], clusters[random_bits(seed, left) % left]);
  }
}

}  // namespace

LaunchRun::LaunchRun(const KernelLaunch& launch, const DeviceSpec& device, DeviceMemory& memory,
                     const Ordering& ordering, Workers workers, std::vector<std::uint64_t> compared,
                     bool explaining)
    : launch_(launch),
      device_(device),
      ordering_(ordering),
      workers_(workers),
      compared_(std::move(compared)),
      explaining_(explaining),
      compiled_(compiled_kernel(device, launch.name)),
      map_(memory, static_cast<unsigned>(device["dram_fetch_bytes"]) / sector_bytes) {
  for (const auto& worker : workers_) worker->begin_kernel();
}

// Cluster i of a list goes to worker i mod n, always: the same sums on every run.
void LaunchRun::run(std::vector<std::uint64_t> clusters, Watch watch) {
  if (!fault_.text.empty()) return;
  if (ordering_.random_blocks) shuffle(clusters, ordering_.seed);
  const std::size_t threads = std::min(workers_.size(), clusters.size());
  const auto work = [&](std::size_t me) {
    use_crash_stack();
    workers_[me]->engine().attach();
    for (std::size_t i = me; i < clusters.size(); i += threads) {
      if (!run_one(*workers_[me], clusters[i], watch)) return;
    }
  };
  {
    std::vector<std::jthread> helpers;
    for (std::size_t me = 1; me < threads; ++me) helpers.emplace_back(work, me);
    if (threads > 0) work(0);
  }
  if (lacking_) throw *lacking_;
}

bool LaunchRun::run_one(Worker& worker, std::uint64_t cluster, Watch watch) {
  try {
    return run_and_keep(worker, cluster, watch);
  } catch (const OutOfHostMemory& lacking) {
    const std::lock_guard lock(mutex_);
    lacking_ = lacking;
    return false;
  }
}

bool LaunchRun::run_and_keep(Worker& worker, std::uint64_t cluster, Watch watch) {
  const std::uint64_t first = cluster * launch_.together;
  const BlockResult result = worker.run(launch_, first, watch != Watch::nothing);
  if (!result.fault.empty()) {
    const std::lock_guard lock(mutex_);
    if (fault_.text.empty()) fault_ = {result.fault, result.is_illegal_access};
    return false;
  }
  keep(worker, first, result, watch);
  for (unsigned number = 1; number < launch_.together; ++number) {
    keep(worker, first + number, worker.turn_to(number), watch);
  }
  return true;
}

void LaunchRun::keep(Worker& worker, std::uint64_t block, const BlockResult& result, Watch watch) {
  if (watch == Watch::nothing) return;
  const std::uint64_t cost = worker.cost(result);
  std::optional<std::vector<ReadSector>> reads;
  if (std::ranges::find(compared_, block) != compared_.end()) reads = worker.reads();
  if (watch == Watch::counts) worker.count(block, cost, map_);
  const std::lock_guard lock(mutex_);
  if (block % launch_.together == 0) work_[block / launch_.together] = cost;
  if (reads) reads_[block] = std::move(*reads);
  if (watch != Watch::counts) return;
  ++(worker.has_written() ? writing_blocks_ : idle_blocks_);
  if (explaining_ && block == 0) explained_ = worker.explain();
  if (!compiled_) {
    static_shared_bytes_ = std::max(static_shared_bytes_, worker.engine().static_shared_bytes());
  }
  add(result);
}

void LaunchRun::add(const BlockResult& result) {
  block_counts_.barriers += static_cast<double>(result.barriers);
  block_counts_.cluster_barriers += static_cast<double>(result.cluster_barriers);
  for (std::size_t c = 0; c < warp_operation_kinds; ++c) {
    block_counts_.warp_operations[c] += static_cast<double>(result.warp_operations[c]);
  }
  block_counts_.fragments_ahead += static_cast<double>(result.fragments_ahead);
  has_guessed_structs_ |= result.has_guessed_structs;
  tensor_columns_ = std::max(tensor_columns_, result.tensor_columns);
  host_bytes_read_ += static_cast<double>(result.host_bytes_read);
  host_bytes_written_ += static_cast<double>(result.host_bytes_written);
  for (std::size_t t = 0; t < tensor_types; ++t) {
    block_counts_.tensor_flops[t] += static_cast<double>(result.tensor_flops[t]);
    block_counts_.warpgroup_flops[t] += static_cast<double>(result.warpgroup_flops[t]);
    block_counts_.awaited_flops[t] += static_cast<double>(result.awaited_flops[t]);
  }
  block_counts_.awaiting_warps += static_cast<double>(result.awaiting_warps);
}

Counts LaunchRun::counts() const {
  Counts counts = block_counts_;
  for (const auto& worker : workers_) counts += worker->counts();
  return counts;
}

double LaunchRun::traced_blocks() const {
  double blocks = 0;
  for (const auto& worker : workers_) blocks += static_cast<double>(worker->traced_blocks());
  return blocks;
}

LaunchFault LaunchRun::fault() const {
  if (!fault_.text.empty()) return fault_;
  // ptxas has the same limit for every architecture.
  if (const double most = device_["shared_bytes_per_block"];
      static_cast<double>(static_shared_bytes_) > most) {
    return {"static shared variables of " + std::to_string(static_shared_bytes_) +
            " bytes in a block, and nvcc allows " + std::to_string(static_cast<std::size_t>(most)) +
            " (dynamic shared memory may be larger)"};
  }
  // A kernel with atomics may order its blocks by them, a cooperative one by barriers of the grid.
  if (map_.race() && !launch_.cooperative &&
      counts().at(Space::global, Access::atomic).requests == 0) {
    return {describe_race(*map_.race(), launch_, workers_[0]->engine())};
  }
  return {};
}

bool LaunchRun::has_drawn_all(std::uint64_t first) const {
  constexpr std::uint64_t much = 8;
  if (counts().at(Space::global, Access::atomic).requests == 0) return false;
  std::uint64_t most = 0;
  for (const auto& [cluster, cost] : work_) {
    if (cluster != first) most = std::max(most, cost);
  }
  const auto drawn = work_.find(first);
  return most > 0 && drawn != work_.end() && drawn->second > much * most;
}

KernelProfile LaunchRun::profile() {
  KernelProfile profile;
  profile.name = launch_.name;
  profile.device = launch_.device;
  profile.blocks = static_cast<double>(linear(launch_.grid));
  profile.grid = {double(launch_.grid.x), double(launch_.grid.y), double(launch_.grid.z)};
  profile.threads_per_block = static_cast<unsigned>(linear(launch_.block));
  profile.cluster = launch_.cluster;
  profile.cooperative = launch_.cooperative;
  profile.has_guessed_structs = has_guessed_structs_;
  profile.shared_bytes = launch_.shared_bytes;
  profile.tensor_columns = tensor_columns_;
  profile.traced_blocks = traced_blocks();
  profile.counts = counts();
  for (const auto& worker : workers_) profile.waits += worker->waits();
  profile.shared_bytes += compiled_ ? compiled_->static_shared_bytes : static_shared_bytes_;
  if (compiled_) {
    profile.registers = compiled_->registers;
    profile.local_bytes = compiled_->local_bytes;
    double arithmetic = 0;
    for (const double issued : profile.counts.issued) arithmetic += issued;
    profile.local_words =
        compiled_->local_words(profile.traced_blocks * warps_of(launch_), arithmetic);
  }
  profile.host_bytes_read = host_bytes_read_;
  profile.host_bytes_written = host_bytes_written_;
  profile.footprints = map_.sums();
  if (fault_.text.empty()) {
    note_shared(profile.footprints, compared_, reads_, launch_.grid, device_["sm_count"], map_);
  }
  return profile;
}

Touches LaunchRun::touches() const {
  std::vector<const TouchedBytes*> touched;
  for (const auto& worker : workers_) touched.push_back(&worker->touched());
  return TouchedBytes::sum(touched);
}

std::optional<Explanation> LaunchRun::explanation() {
  if (!explained_) return std::nullopt;
  return Explanation{launch_.name,
                     {0, 0, 0},
                     0,
                     std::move(*explained_),
                     instructions_of(counts().scaled(1 / (traced_blocks() * warps_of(launch_))))};
}

}  // namespace gpubench::model
