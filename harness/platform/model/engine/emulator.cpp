#include "harness/platform/model/engine/emulator.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <mutex>
#include <numeric>
#include <set>
#include <sstream>
#include <thread>
#include <unordered_map>

#include "harness/contents/random.hpp"
#include "harness/platform/model/compiled/compiled.hpp"
#include "harness/platform/model/emulator/explain.hpp"
#include "harness/platform/model/emulator/source_location.hpp"

namespace gpubench::model {
namespace {

std::uint64_t linear(dim3 extent) {
  return static_cast<std::uint64_t>(extent.x) * extent.y * extent.z;
}

double warps_of(const KernelLaunch& launch) {  // a block
  return std::ceil(static_cast<double>(linear(launch.block)) / warp_lanes);
}

dim3 block_at(std::uint64_t index, dim3 grid) {
  return {static_cast<unsigned>(index % grid.x), static_cast<unsigned>(index / grid.x % grid.y),
          static_cast<unsigned>(index / grid.x / grid.y)};
}

Access access_of(EventKind kind) {
  switch (kind) {
    case EventKind::load:
    case EventKind::copied_from:
      return Access::load;
    case EventKind::store:
    case EventKind::copied_to:
      return Access::store;
    default:
      return Access::atomic;
  }
}

// What the emulation of a matrix multiplication costs, beside that of an access.
constexpr std::uint64_t tensor_flops_an_event = 64;

// The bytes of one sector that a lane's access covers, a bit each.
std::uint32_t bytes_within(std::uint64_t sector, std::uint64_t address, unsigned bytes) {
  const std::uint64_t begin = sector * sector_bytes;
  const std::uint64_t from = std::max(address, begin) - begin;
  const std::uint64_t to = std::min(address + bytes, begin + sector_bytes) - begin;
  if (to <= from) return 0;
  const std::uint64_t mask = (std::uint64_t{1} << (to - from)) - 1;
  return static_cast<std::uint32_t>(mask << from);
}

std::string describe_race(const FootprintMap::Race& race, const KernelLaunch& launch,
                          const BlockEngine& engine) {
  const bool wrote = (race.mine.written & race.bytes) != 0;
  const Event access = wrote ? race.mine.first_write : race.mine.first_read;
  const auto first = static_cast<unsigned>(std::countr_zero(race.bytes));
  const auto last = 31 - static_cast<unsigned>(std::countl_zero(race.bytes));
  const std::uint64_t sector = race.mine.sector * sector_bytes;
  const auto [home, begin] = engine.home_of(sector + first);
  const dim3 at = block_at(race.block, launch.grid);
  std::ostringstream text;
  text << "race between blocks: bytes " << sector + first - begin << ".." << sector + last - begin
       << " of " << home << (wrote ? " are written" : " are read") << " by block (" << at.x << ','
       << at.y << ',' << at.z << ") at "
       << source_location(reinterpret_cast<const void*>(code_address_of(access))) << ", and "
       << (wrote ? "read or written" : "written")
       << " by another, which nothing orders within a launch";
  return text.str();
}

void shuffle(std::vector<std::uint64_t>& blocks, std::uint64_t seed) {
  for (std::size_t left = blocks.size(); left > 1; --left) {
    std::swap(blocks[left - 1], blocks[random_bits(seed, left) % left]);
  }
}

// What is kept of a block that runs: nothing, what it reads first, or that and all counts.
enum class Watch { nothing, reads, counts };

// A sector, and how many others its warp had read in the block before it.
struct ReadSector {
  std::uint64_t sector;
  std::size_t turn;
};
using ReadSectors = std::map<std::uint64_t, std::vector<ReadSector>>;  // of blocks

// Puts into the footprints how much of its reads a block shares with its neighbours, of which
// `reads` has the sectors in order: `compared` are a block and neighbours of it.
void note_shared(std::vector<FootprintSums>& footprints, std::span<const std::uint64_t> compared,
                 const ReadSectors& reads, dim3 grid, FootprintMap& map) {
  if (compared.empty()) return;
  std::unordered_map<std::uint64_t, std::size_t> turns;
  for (const auto& [sector, turn] : reads.at(compared.front())) turns.emplace(sector, turn);
  const dim3 at = block_at(compared.front(), grid);
  for (const std::uint64_t index : compared.subspan(1)) {
    const dim3 other = block_at(index, grid);
    const std::size_t axis = other.x != at.x ? 0 : other.y != at.y ? 1 : 2;
    std::map<std::uint64_t, std::array<double, 3>> sums;  // by allocation: all, shared, skew
    for (const auto& [sector, turn] : reads.at(index)) {
      const Footprint* const footprint = map.at(sector * sector_bytes);
      if (footprint == nullptr) continue;
      auto& [all, shared, skew] = sums[footprint->identity()];
      all += 1;
      if (const auto own = turns.find(sector); own != turns.end()) {
        shared += 1;
        skew += std::abs(static_cast<double>(turn) - static_cast<double>(own->second));
      }
    }
    for (FootprintSums& f : footprints) {
      const auto found = sums.find(f.identity);
      if (found == sums.end()) continue;
      const auto& [all, shared, skew] = found->second;
      f.shared[axis] = {shared / all, shared > 0 ? skew / shared : 0};
    }
  }
}

}  // namespace

// What one host thread keeps from block to block.
struct Emulator::Worker {
  explicit Worker(std::unique_ptr<BlockEngine> of) : engine(std::move(of)) {}

  // The sectors of global memory that the block reads, by the warp that reads them first, in its
  // order.
  std::vector<ReadSector> reads() {
    block_sectors.clear();
    std::vector<ReadSector> found;
    for (std::size_t first = 0; first < lanes; first += warp_lanes) {
      const auto note = [&](const WarpRequest& request) {
        const EventKind kind = kind_of(request.event);
        if (!is_access(request.event) || access_of(kind) != Access::load) return;
        const auto lane = static_cast<std::size_t>(std::countr_zero(request.lanes));
        if (engine->is_shared(request.address[lane])) return;
        const Sectors sectors = sectors_of(request);
        for (unsigned i = 0; i < sectors.count; ++i) block_sectors.at(sectors.id[i]);
      };
      engine->visit(first, note, [](Arithmetic, unsigned, std::uint32_t) {});
      for (std::size_t turn = 0; found.size() < block_sectors.touched().size(); ++turn) {
        found.push_back({block_sectors.touched()[found.size()].sector, turn});
      }
    }
    return found;
  }

  // Counts the block that the engine has run.
  void count(std::uint64_t block, FootprintMap& map) {
    block_sectors.clear();
    ranges.clear();
    Waiting slowest;
    for (std::size_t first = 0; first < lanes; first += warp_lanes) {
      bool waiting = false;  // for loads that nothing has used yet
      Waiting of_warp;
      const auto request_of = [&](const WarpRequest& request) {
        const EventKind kind = kind_of(request.event);
        if (kind == EventKind::special) {
          counts.special += bytes_of(request.event);
          return;
        }
        const std::uint64_t address =
            request.address[static_cast<std::size_t>(std::countr_zero(request.lanes))];
        const Space space = engine->is_shared(address) ? Space::shared : Space::global;
        // A lane's own instructions move no more than 16 bytes.
        const bool is_bulk = bytes_of(request.event) > 16;
        AccessCounts& sum = is_bulk && space == Space::global ? counts.bulk_loads
                                                              : counts.at(space, access_of(kind));
        const auto active = static_cast<unsigned>(std::popcount(request.lanes));
        sum.requests += 1;
        sum.lanes += active;
        sum.bytes += active * bytes_of(request.event);
        if (space == Space::shared) {
          sum.wavefronts += wavefronts_of(request);
          sum.ideal_wavefronts += ideal_wavefronts_of(request);
          if (kind == EventKind::copied_to) {
            (is_bulk ? counts.bulk_stores : counts.async_copies) += 1;
          } else {
            waiting = false;
          }
          return;
        }
        const Sectors sectors = sectors_of(request);
        sum.sectors += sectors.count;
        sum.lines += sectors.lines;
        sum.tag_wavefronts += sectors.tag_wavefronts;
        if (access_of(kind) == Access::load) {
          // Lanes that together want nothing but whole sectors, once, are served without conflict.
          const bool dense = sectors.count * sector_bytes == active * bytes_of(request.event);
          sum.wavefronts += dense ? ideal_wavefronts_of(request) : wavefronts_of(request);
        }
        note_footprint(request, sectors, map);
        // Loads with nothing between them that depends on them are in flight together.
        if (kind == EventKind::load) {
          if (!waiting) of_warp.load_groups += 1;
          waiting = true;
        } else if (kind == EventKind::copied_from) {
          counts.async_loads += is_bulk ? 0 : 1;
        } else {
          waiting = false;
        }
      };
      engine->visit(first, request_of,
                    [&](Arithmetic unit, unsigned operations, std::uint32_t active) {
                      counts.add(unit, operations, static_cast<unsigned>(std::popcount(active)));
                      if (unit == Arithmetic::fma_fp32) of_warp.fma_steps += operations;
                    });
      add_lanes(first, of_warp);
      slowest.keep_longer(of_warp);
    }
    waits += slowest;
    for (const BlockSector& mine : block_sectors.touched()) {
      Footprint* const footprint = footprint_at(mine.sector * sector_bytes, map);
      const std::uint32_t bytes = footprint->add(mine);
      touched.add(footprint, mine);
      if (mine.read != 0) extend(footprint, mine.sector);
      if (bytes != 0) map.note({mine, block, bytes});
    }
    for (const Range& r : ranges) r.of->end_block(r.last - r.first + 1);
  }

  // What a warp's lanes say of its own: how long they wait for copies, for one load after the other
  // and for one another's multiply-adds. Paths of a divergent warp are taken one after the other,
  // so that it has more steps than any lane.
  void add_lanes(std::size_t first, Waiting& warp) const {
    CopyWaits copies;
    double chain = 0, steps = 0;
    for (std::size_t i = first; i < std::min<std::size_t>(first + warp_lanes, lanes); ++i) {
      const LaneWaits lane = engine->waits_of(i);
      warp.load_chain = std::max(warp.load_chain, static_cast<double>(lane.load_chain));
      warp.shared_chain = std::max(warp.shared_chain, static_cast<double>(lane.shared_chain));
      copies.alone = std::max(copies.alone, lane.copies.alone);
      copies.beside = std::max(copies.beside, lane.copies.beside);
      chain = std::max(chain, static_cast<double>(lane.fma_chain));
      steps = std::max(steps, static_cast<double>(lane.fma_steps));
    }
    warp.load_groups += copies.alone;
    warp.copy_waits = copies.beside;
    if (steps > 0) warp.fma_chain = chain * warp.fma_steps / steps;
  }

  // Explains the first warp of the block that count() has just counted.
  std::vector<ExplainedAccess> explain() {
    Explainer explainer([this](std::uint64_t address) { return engine->is_shared(address); },
                        [this](std::uint64_t address) { return engine->home_of(address); });
    const auto add = [&](const WarpRequest& request) {
      if (is_access(request.event)) explainer.add(request);
    };
    engine->visit(0, add, [](Arithmetic, unsigned, std::uint32_t) {});
    return std::move(explainer).accesses();
  }

  void extend(Footprint* footprint, std::uint64_t sector) {
    auto range = std::find_if(ranges.begin(), ranges.end(),
                              [=](const Range& r) { return r.of == footprint; });
    if (range == ranges.end()) range = ranges.insert(range, {footprint, sector, sector});
    range->first = std::min(range->first, sector);
    range->last = std::max(range->last, sector);
  }

  void note_footprint(const WarpRequest& request, const Sectors& sectors, FootprintMap& map) {
    Footprint* const footprint = footprint_at(sectors.id[0] * sector_bytes, map);
    if (footprint == nullptr) return;
    const bool reads = access_of(kind_of(request.event)) == Access::load;
    const auto covered = covered_bytes(request, sectors);
    unsigned repeats = 0;
    for (unsigned i = 0; i < sectors.count; ++i) {
      BlockSector& mine = block_sectors.at(sectors.id[i]);
      if (reads) {
        const std::uint64_t distance = block_sectors.read(mine);
        footprint->read(sectors.id[i], distance);
        repeats += distance > 0;
        if (mine.read == 0) mine.first_read = request.event;
        mine.read |= covered[i];
      } else {
        footprint->write();
        if (mine.written == 0) mine.first_write = request.event;
        mine.written |= covered[i];
      }
    }
    if (repeats > 0 && repeats < sectors.count) footprint->read_beside_new(repeats);
    if (reads) return;
    access_of(kind_of(request.event)) == Access::atomic ? touched.note_atomic(footprint)
                                                        : touched.note_store(footprint);
  }

  // The bytes of each of its sectors that a request asks for, a bit each.
  static std::array<std::uint32_t, 2 * warp_lanes> covered_bytes(const WarpRequest& request,
                                                                 const Sectors& sectors) {
    std::array<std::uint32_t, 2 * warp_lanes> covered;
    const unsigned bytes = bytes_of(request.event);
    bool in_a_row = request.lanes == ~0u;  // by far the usual case
    for (unsigned lane = 1; lane < warp_lanes && in_a_row; ++lane) {
      in_a_row = request.address[lane] == request.address[lane - 1] + bytes;
    }
    if (in_a_row) {
      for (unsigned i = 0; i < sectors.count; ++i) {
        covered[i] = bytes_within(sectors.id[i], request.address[0], warp_lanes * bytes);
      }
      return covered;
    }
    std::fill_n(covered.begin(), sectors.count, 0);
    for (std::uint32_t rest = request.lanes; rest != 0; rest &= rest - 1) {
      const std::uint64_t at = request.address[static_cast<std::size_t>(std::countr_zero(rest))];
      const auto end = sectors.id.begin() + sectors.count;
      for (auto s = std::lower_bound(sectors.id.begin(), end, at / sector_bytes);
           s != end && *s * sector_bytes < at + bytes; ++s) {
        covered[static_cast<std::size_t>(s - sectors.id.begin())] |= bytes_within(*s, at, bytes);
      }
    }
    return covered;
  }

  Footprint* footprint_at(std::uint64_t address, FootprintMap& map) {
    for (Footprint* known : footprints) {
      if (known != nullptr && known->holds(address)) return known;
    }
    return footprints[next_footprint++ % footprints.size()] = map.at(address);
  }

  void begin_kernel() {
    counts = {};
    waits = {};
    traced_blocks = 0;
    events = 0;
    footprints = {};
    touched.clear();
    engine->begin_kernel();
  }

  // Of one allocation's sectors, those between which the block's reads lie.
  struct Range {
    Footprint* of;
    std::uint64_t first, last;
  };

  std::unique_ptr<BlockEngine> engine;
  std::vector<Range> ranges;
  BlockSectors block_sectors;
  TouchedBytes touched;
  std::array<Footprint*, 4> footprints{};  // the last that were found
  unsigned next_footprint = 0;
  std::size_t lanes = 0;
  Counts counts;
  Waiting waits;
  std::uint64_t traced_blocks = 0;
  std::uint64_t events = 0;
};

Emulator::Emulator(const DeviceSpec& device, DeviceMemory& memory, EmulatorSettings settings)
    : device_(device), memory_(memory), settings_(std::move(settings)) {
  use_engine([this](DeviceMemory& device_memory, const MappedHost& mapped) {
    return make_source_engine(device_memory, mapped, settings_.ordering);
  });
}

void Emulator::use_engine(const MakeEngine& make) {
  const unsigned threads = settings_.threads != 0
                               ? settings_.threads
                               : std::max(1u, std::thread::hardware_concurrency());
  workers_.clear();
  for (unsigned i = 0; i < threads; ++i) {
    workers_.push_back(std::make_unique<Worker>(make(memory_, settings_.is_mapped_host)));
  }
  measured_.clear();
}

Emulator::~Emulator() = default;

// Where a word of arguments points to; null if it is no pointer to device memory.
const Allocation* Emulator::allocation_at(std::uint64_t word) const {
  const auto* pointer = reinterpret_cast<const void*>(word);
  return memory_.in_range(pointer) ? memory_.find(pointer) : nullptr;
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
  append(launch.shared_bytes);
  for (const std::uint64_t word : launch.argument_words) {
    const Allocation* const allocation = allocation_at(word);
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

std::vector<std::uint64_t> Emulator::choose_blocks(std::uint64_t grid_blocks, std::size_t count) {
  // What a kernel of a sequence reads is often what the same blocks of an earlier one have written:
  // it runs none that those left out.
  const auto known = sampled_.find(grid_blocks);
  const std::uint64_t size = known == sampled_.end() ? grid_blocks : known->second.size();
  const auto candidate = [&](std::uint64_t i) {
    return known == sampled_.end() ? i : known->second[i];
  };
  std::vector<std::uint64_t> chosen;
  if (size <= count) {
    for (std::uint64_t i = 0; i < size; ++i) chosen.push_back(candidate(i));
    return chosen;
  }
  // One of each equal stretch, and of the outermost ones their ends (where edges are). Blocks often
  // take turns at something: the chosen ones have each place among 32 (or a smaller power of two)
  // equally often, and are otherwise as good as random, since equal steps may meet few of, say, 206
  // places.
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t begin = size * i / count, end = size * (i + 1) / count;
    const std::uint64_t turn = std::min<std::uint64_t>(32, std::bit_floor(end - begin));
    const std::uint64_t to_its_place = (i - begin) % turn;
    const std::uint64_t turns = (end - begin - to_its_place - 1) / turn + 1;
    const std::uint64_t anywhere =
        begin + to_its_place + turn * (random_bits(grid_blocks, i) % turns);
    chosen.push_back(candidate(i == 0 ? 0 : i + 1 == count ? size - 1 : anywhere));
  }
  sampled_[grid_blocks] = chosen;
  return chosen;
}

// Where neighbours share what they read matters only if not all of it stays in L2.
std::vector<std::uint64_t> Emulator::blocks_to_compare(const KernelLaunch& launch) {
  const dim3 grid = launch.grid;
  const std::array<unsigned, 3> key{grid.x, grid.y, grid.z};
  const std::uint64_t blocks = linear(grid);
  if (const auto known = compared_.find(key); known != compared_.end()) return known->second;
  if (sampled_.contains(blocks)) return {};  // an earlier kernel may have left the neighbours out
  std::set<const Allocation*> allocations;
  double bytes = 0;
  for (const std::uint64_t word : launch.argument_words) {
    const Allocation* const allocation = allocation_at(word);
    if (allocation != nullptr && allocations.insert(allocation).second) {
      bytes += static_cast<double>(allocation->bytes);
    }
  }
  const double partitions = device_.find("l2_partitions").value_or(1);
  if (bytes <= device_["l2_bytes"] / partitions) return {};
  const std::array<std::uint64_t, 3> extents{grid.x, grid.y, grid.z},
      steps{1, grid.x, std::uint64_t{grid.x} * grid.y};
  std::vector<std::uint64_t> compared{0};
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    compared.front() += extents[axis] / 2 * steps[axis];
  }
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    if (extents[axis] > 1) compared.push_back(compared.front() - steps[axis]);
  }
  // The last block runs before all others, and its reads are not kept.
  if (compared.size() == 1 || compared.front() + 1 == blocks) return {};
  return compared_[key] = compared;
}

Emulator::Measured Emulator::run_blocks(const KernelLaunch& launch, std::string& fault) {
  FootprintMap map(memory_, static_cast<unsigned>(device_["dram_fetch_bytes"]) / sector_bytes);
  std::mutex fault_mutex;
  double barriers = 0;
  std::array<double, warp_operation_kinds> warp_operations{};
  std::array<double, tensor_types> tensor_flops{}, warpgroup_flops{};
  const std::size_t explained = explanations_.size();
  double host_bytes_read = 0, host_bytes_written = 0;
  for (const auto& worker : workers_) worker->begin_kernel();

  const std::vector<std::uint64_t> compared = blocks_to_compare(launch);
  ReadSectors reads;  // of these, once they have run

  const auto run_one = [&](Worker& worker, std::uint64_t index, Watch watch) {
    const BlockResult result =
        worker.engine->run(launch, block_at(index, launch.grid), watch != Watch::nothing);
    worker.lanes = result.lanes;
    if (!result.fault.empty()) {
      const std::lock_guard lock(fault_mutex);
      if (fault.empty()) fault = result.fault;
      return false;
    }
    if (watch != Watch::nothing) {
      if (std::ranges::find(compared, index) != compared.end()) {
        auto found = worker.reads();
        const std::lock_guard lock(fault_mutex);
        reads[index] = std::move(found);
      }
    }
    if (watch == Watch::counts) {
      worker.events += worker.engine->events();
      for (std::size_t t = 0; t < tensor_types; ++t) {
        worker.events +=
            (result.tensor_flops[t] + result.warpgroup_flops[t]) / tensor_flops_an_event;
      }
      worker.count(index, map);
      ++worker.traced_blocks;
      const std::lock_guard lock(fault_mutex);
      if (explaining_ && index == 0 && execution_ != Execution::timing) {
        explanations_.push_back({launch.name, {0, 0, 0}, 0, worker.explain(), {}});
      }
      barriers += static_cast<double>(result.barriers);
      for (std::size_t c = 0; c < warp_operation_kinds; ++c) {
        warp_operations[c] += static_cast<double>(result.warp_operations[c]);
      }
      host_bytes_read += static_cast<double>(result.host_bytes_read);
      host_bytes_written += static_cast<double>(result.host_bytes_written);
      for (std::size_t t = 0; t < tensor_types; ++t) {
        tensor_flops[t] += static_cast<double>(result.tensor_flops[t]);
        warpgroup_flops[t] += static_cast<double>(result.warpgroup_flops[t]);
      }
    }
    return true;
  };
  // Block i of a list goes to worker i mod n, always: the same sums on every run.
  const auto run_all = [&](std::vector<std::uint64_t> blocks, Watch watch) {
    if (settings_.ordering.random_blocks) shuffle(blocks, settings_.ordering.seed);
    const std::size_t threads = std::min(workers_.size(), blocks.size());
    const auto work = [&](std::size_t me) {
      workers_[me]->engine->attach();
      for (std::size_t i = me; i < blocks.size(); i += threads) {
        if (!run_one(*workers_[me], blocks[i], watch)) return;
      }
    };
    std::vector<std::jthread> helpers;
    for (std::size_t me = 1; me < threads; ++me) helpers.emplace_back(work, me);
    if (threads > 0) work(0);
  };

  const std::uint64_t grid_blocks = linear(launch.grid);
  Measured measured;
  // The last block, the ragged one, tells what a block costs; the budget says how many follow.
  run_all({grid_blocks - 1}, Watch::counts);
  const std::uint64_t events = std::max<std::uint64_t>(workers_[0]->events, 1);
  const std::size_t affordable =
      std::clamp<std::size_t>(settings_.event_budget / events, 2, settings_.most_sampled_blocks);
  std::vector<std::uint64_t> chosen = choose_blocks(grid_blocks, affordable);
  std::erase(chosen, grid_blocks - 1);
  // No block finds an earlier one's values in its static shared memory.
  const std::vector<std::size_t> variables = workers_[0]->engine->written_variables();
  for (const auto& worker : workers_) worker->engine->poison(variables);
  if (fault.empty()) run_all(chosen, Watch::counts);
  // Those compared that were not chosen: they run, and are not counted.
  std::vector<std::uint64_t> beside;
  for (const std::uint64_t index : compared) {
    if (std::ranges::find(chosen, index) == chosen.end()) beside.push_back(index);
  }
  if (fault.empty()) run_all(beside, Watch::reads);
  measured.whole = chosen.size() + 1 == grid_blocks;
  if (fault.empty() && execution_ == Execution::whole && !measured.whole) {
    std::vector<std::uint64_t> rest, done = chosen;
    done.insert(done.end(), beside.begin(), beside.end());
    std::ranges::sort(done);
    for (std::uint64_t i = 0; i + 1 < grid_blocks; ++i) {
      if (!std::ranges::binary_search(done, i)) rest.push_back(i);
    }
    run_all(rest, Watch::nothing);
    measured.whole = true;
  }

  KernelProfile& profile = measured.profile;
  profile.name = launch.name;
  profile.blocks = static_cast<double>(grid_blocks);
  profile.grid = {double(launch.grid.x), double(launch.grid.y), double(launch.grid.z)};
  profile.threads_per_block = static_cast<unsigned>(linear(launch.block));
  profile.shared_bytes = launch.shared_bytes;
  if (const CompiledKernel* compiled = compiled_kernel(device_, launch.name)) {
    profile.shared_bytes += compiled->static_shared_bytes;
    profile.registers = compiled->registers;
    profile.local_bytes = compiled->local_bytes;
  }
  for (const auto& worker : workers_) {
    profile.counts += worker->counts;
    profile.waits += worker->waits;
    profile.traced_blocks += static_cast<double>(worker->traced_blocks);
  }
  profile.counts.barriers = barriers;
  profile.counts.warp_operations = warp_operations;
  profile.counts.tensor_flops = tensor_flops;
  profile.counts.warpgroup_flops = warpgroup_flops;
  const double traced_warps = profile.traced_blocks * warps_of(launch);
  if (const CompiledKernel* compiled = compiled_kernel(device_, launch.name)) {
    double arithmetic = 0;
    for (const double issued : profile.counts.issued) arithmetic += issued;
    profile.local_words = compiled->local_words(traced_warps, arithmetic);
  }
  for (std::size_t i = explained; i < explanations_.size(); ++i) {
    explanations_[i].instructions = instructions_of(profile.counts.scaled(1 / traced_warps));
  }
  profile.host_bytes_read = host_bytes_read;
  profile.host_bytes_written = host_bytes_written;
  profile.footprints = map.sums();
  if (fault.empty()) note_shared(profile.footprints, compared, reads, launch.grid, map);
  // A kernel with atomics may order its blocks by them.
  if (fault.empty() && map.race() &&
      profile.counts.at(Space::global, Access::atomic).requests == 0) {
    fault = describe_race(*map.race(), launch, *workers_[0]->engine);
  }
  std::vector<const TouchedBytes*> touched;
  for (const auto& worker : workers_) touched.push_back(&worker->touched);
  measured.touches = TouchedBytes::sum(touched);
  profile.device = launch.device;
  for (const FootprintSums& f : profile.footprints) {
    if (f.device == launch.device) continue;
    if (fault.empty() && !(settings_.may_access && settings_.may_access(launch.device, f.device))) {
      fault = std::string(launch.name) + " on device " + std::to_string(launch.device) +
              " accessed memory of device " + std::to_string(f.device) +
              ", and cudaDeviceEnablePeerAccess was not called for it";
    }
  }
  return measured;
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

void Emulator::remember_traffic(const KernelProfile& profile) {
  double& traffic = l2_traffic_[profile.device];
  const double begin = traffic;
  constexpr std::uint64_t sectors_a_line = line_bytes / sector_bytes;
  for (const FootprintSums& f : profile.footprints) {
    if (f.device != profile.device) continue;
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
    std::string fault;
    Measured measured = run_blocks(launch, fault);
    if (!fault.empty()) return {0, fault, 0, {}};
    measured.identities = identities;
    found = measured_.insert_or_assign(shape, std::move(measured)).first;
  }
  if (execution_ == Execution::timing && found->second.settled) {
    const Prediction& settled = *found->second.settled;
    return {settled.seconds, {}, settled.utilisation, {}};
  }
  Run run{found->second.profile, {}, found->second.whole};
  // The same footprints on the allocations that this launch was given.
  const std::vector<std::uint64_t>& then = found->second.identities;
  const auto now = [&](std::uint64_t identity) {
    const auto argument = std::find(then.begin(), then.end(), identity);
    return argument == then.end() ? identity
                                  : identities[static_cast<std::size_t>(argument - then.begin())];
  };
  for (FootprintSums& f : run.profile.footprints) f.identity = now(f.identity);
  Touches touches = found->second.touches;
  for (Touched& touched : touches) touched.identity = now(touched.identity);
  run.prediction =
      predict(run.profile, device_, [this](const FootprintSums& f) { return held(f); });
  if (run.profile.footprints.empty()) found->second.settled = run.prediction;
  remember_traffic(run.profile);
  KernelOutcome outcome{run.prediction.seconds, {}, run.prediction.utilisation, std::move(touches)};
  if (execution_ != Execution::timing) runs_.push_back(std::move(run));
  return outcome;
}

}  // namespace gpubench::model
