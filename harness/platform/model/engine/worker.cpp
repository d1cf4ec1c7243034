#include "harness/platform/model/engine/worker.hpp"

#include <algorithm>
#include <bit>

#include "harness/platform/model/emulator/explain.hpp"
#include "harness/platform/model/engine/grid.hpp"
#include "harness/platform/model/memory/host_memory.hpp"

namespace gpubench::model {
namespace {

// What the emulation of a matrix multiplication costs, beside that of an access.
constexpr std::uint64_t tensor_flops_an_event = 64;

void no_arithmetic(Arithmetic, unsigned, std::uint32_t) {}

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

// The bytes of one sector that a lane's access covers, a bit each.
std::uint32_t bytes_within(std::uint64_t sector, std::uint64_t address, unsigned bytes) {
  const std::uint64_t begin = sector * sector_bytes;
  const std::uint64_t from = std::max(address, begin) - begin;
  const std::uint64_t to = std::min(address + bytes, begin + sector_bytes) - begin;
  if (to <= from) return 0;
  const std::uint64_t mask = (std::uint64_t{1} << (to - from)) - 1;
  return static_cast<std::uint32_t>(mask << from);
}

CoveredBytes covered_bytes(const WarpRequest& request, const Sectors& sectors) {
  CoveredBytes covered;
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

}  // namespace

void Worker::begin_kernel() {
  counts_ = {};
  waits_ = {};
  traced_blocks_ = 0;
  events_ = 0;
  footprints_ = {};
  touched_.clear();
  engine_->begin_kernel();
}

BlockResult Worker::run(const KernelLaunch& launch, std::uint64_t block, bool traced) {
  BlockResult result = engine_->run(launch, block_at(block, launch.grid), traced);
  lanes_ = result.lanes;
  together_ = launch.together;
  return result;
}

std::vector<ReadSector> Worker::reads() {
  block_sectors_.clear();
  std::vector<ReadSector> found;
  for (std::size_t first = 0; first < lanes_; first += warp_lanes) {
    const auto note = [&](const WarpRequest& request) {
      const EventKind kind = kind_of(request.event);
      if (!is_access(request.event) || access_of(kind) != Access::load) return;
      by_space(request, [&](const WarpRequest& part, Space space) {
        if (space != Space::global) return;
        const Sectors sectors = sectors_of(part);
        for (unsigned i = 0; i < sectors.count; ++i) block_sectors_.at(sectors.id[i]);
      });
    };
    engine_->visit(first, note, no_arithmetic);
    ask_to_keep(block_sectors_.touched().size() - found.size(), sizeof(ReadSector));
    for (std::size_t turn = 0; found.size() < block_sectors_.touched().size(); ++turn) {
      found.push_back({block_sectors_.touched()[found.size()].sector, turn});
    }
  }
  return found;
}

std::uint64_t Worker::cost(const BlockResult& result) const {
  std::uint64_t events = engine_->events();
  for (std::size_t t = 0; t < tensor_types; ++t) {
    events += (result.tensor_flops[t] + result.warpgroup_flops[t]) / tensor_flops_an_event;
  }
  return events;
}

void Worker::count(std::uint64_t block, std::uint64_t cost, FootprintMap& map) {
  events_ += cost;
  ++traced_blocks_;
  const auto writes = [this] {
    return counts_.at(Space::global, Access::store).requests +
           counts_.at(Space::global, Access::atomic).requests;
  };
  const double writes_before = writes();
  block_sectors_.clear(static_cast<unsigned>((lanes_ + warp_lanes - 1) / warp_lanes));
  ranges_.clear();
  read_again_.clear();
  Waiting slowest;
  for (std::size_t first = 0; first < lanes_; first += warp_lanes) {
    block_sectors_.begin_warp(static_cast<unsigned>(first / warp_lanes));
    slowest.keep_longer(count_warp(first, map));
  }
  // Blocks that run side by side meet at their end: all last as long as the slowest.
  slowest_together_.keep_longer(slowest);
  if (block % together_ + 1 == together_) {
    for (unsigned rank = 0; rank < together_; ++rank) waits_ += slowest_together_;
    slowest_together_ = {};
  }
  has_written_ = writes() > writes_before;
  for (const BlockSector& mine : block_sectors_.touched()) {
    Footprint* const footprint = footprint_at(mine.sector * sector_bytes, map);
    const std::uint32_t bytes = footprint->add(mine);
    touched_.add(footprint, mine);
    if (mine.read != 0) extend(footprint, mine.sector);
    if (bytes != 0) map.note({mine, block, bytes});
  }
  note_jumps(block_sectors_, map);
  for (const Range& r : ranges_) r.of->end_block(r.last - r.first + 1);
  for (const auto& [again, count] : read_again_) {
    again.of->read_again(count, block_sectors_.read_between(again.from, again.to));
  }
}

Waiting Worker::count_warp(std::size_t first, FootprintMap& map) {
  Counted counted;
  const auto request_of = [&](const WarpRequest& request) {
    if (!is_access(request.event)) {
      counts_.special += bytes_of(request.event);
      return;
    }
    by_space(request, [&](const WarpRequest& part, Space space) {
      count_request(part, space, map, counted);
    });
  };
  const auto add = [&](Arithmetic unit, unsigned operations, std::uint32_t active) {
    counts_.add(unit, operations, static_cast<unsigned>(std::popcount(active)));
    if (unit == Arithmetic::fma_fp32) counted.waits.fma_steps += operations;
    if (is_multiply_add(unit)) counted.feeding.use();
  };
  engine_->visit(first, request_of, add);
  counted.waits.load_groups = std::max(counted.waits.load_groups, counted.feeding.waits());
  add_lanes(first, counted.waits);
  return counted.waits;
}

template <class Visit>
void Worker::by_space(const WarpRequest& request, Visit&& visit) const {
  for (std::uint32_t rest = request.lanes; rest != 0;) {
    const auto lane = static_cast<std::size_t>(std::countr_zero(rest));
    const Space space = engine_->space_of(request.address[lane]);
    const std::uint32_t lanes = engine_->lanes_in(space, request);
    rest &= ~lanes;
    if (lanes == request.lanes) return visit(request, space);
    WarpRequest part = request;
    part.lanes = lanes;
    visit(part, space);
  }
}

void Worker::count_request(const WarpRequest& request, Space space, FootprintMap& map,
                           Counted& warp) {
  const EventKind kind = kind_of(request.event);
  // A lane's own instructions move no more than 16 bytes.
  const bool is_bulk = bytes_of(request.event) > 16;
  AccessCounts& sum =
      is_bulk && space == Space::global ? counts_.bulk_loads : counts_.at(space, access_of(kind));
  const auto active = static_cast<unsigned>(std::popcount(request.lanes));
  sum.requests += 1;
  sum.lanes += active;
  sum.bytes += active * bytes_of(request.event);
  if (space == Space::shared) {
    count_shared(request, is_bulk, sum, warp);
  } else if (space == Space::remote) {
    count_remote(request, sum, warp);
  } else {
    count_global(request, is_bulk, sum, map, warp);
  }
}

void Worker::count_shared(const WarpRequest& request, bool is_bulk, AccessCounts& sum,
                          Counted& warp) {
  const double wavefronts = wavefronts_of(request);
  sum.wavefronts += wavefronts;
  sum.ideal_wavefronts += ideal_wavefronts_of(request);
  if (&sum == &counts_.at(Space::shared, Access::load)) {
    counts_.packed_wavefronts += packed_wavefronts_of(request);
  }
  if (kind_of(request.event) == EventKind::copied_to) {
    counts_.copied_wavefronts += wavefronts;
    (is_bulk ? counts_.bulk_stores : counts_.async_copies) += 1;
  } else {
    warp.waiting = warp.waiting_remote = false;
  }
}

void Worker::count_remote(const WarpRequest& request, AccessCounts& sum, Counted& warp) {
  sum.sectors += sectors_of(request).count;
  // As with global memory: what nothing waits for in between is in flight together.
  const bool loads = kind_of(request.event) == EventKind::load;
  if (loads && !warp.waiting_remote) warp.waits.remote_groups += 1;
  warp.waiting_remote = loads;
}

void Worker::count_global(const WarpRequest& request, bool is_bulk, AccessCounts& sum,
                          FootprintMap& map, Counted& warp) {
  const EventKind kind = kind_of(request.event);
  const Sectors sectors = sectors_of(request);
  sum.sectors += sectors.count;
  sum.lines += sectors.lines;
  sum.tag_wavefronts += sectors.tag_wavefronts;
  if (access_of(kind) == Access::load) {
    // Lanes that together want nothing but whole sectors, once, are served without conflict.
    const auto active = static_cast<unsigned>(std::popcount(request.lanes));
    const bool dense = sectors.count * sector_bytes == active * bytes_of(request.event);
    sum.wavefronts += dense ? ideal_wavefronts_of(request) : wavefronts_of(request);
  }
  sum.ideal_sectors += note_footprints(request, sectors, map);
  // Loads with nothing between them that depends on them are in flight together.
  if (kind == EventKind::load) {
    if (!warp.waiting) warp.waits.load_groups += 1;
    warp.waiting = true;
    warp.feeding.load();
  } else if (kind == EventKind::copied_from) {
    counts_.async_loads += is_bulk ? 0 : 1;
  } else {
    warp.waiting = false;
  }
}

// What a warp's lanes say of its own: how long they wait for copies, for one load after the other
// and for one another's multiply-adds. Paths of a divergent warp are taken one after the other, so
// that it has more steps than any lane.
void Worker::add_lanes(std::size_t first, Waiting& warp) const {
  CopyWaits copies;
  double chain = 0, steps = 0;
  for (std::size_t i = first; i < std::min<std::size_t>(first + warp_lanes, lanes_); ++i) {
    const LaneWaits lane = engine_->waits_of(i);
    warp.load_chain = std::max(warp.load_chain, static_cast<double>(lane.load_chain));
    warp.shared_chain = std::max(warp.shared_chain, static_cast<double>(lane.shared_chain));
    warp.remote_chain = std::max(warp.remote_chain, static_cast<double>(lane.remote_chain));
    copies.alone = std::max(copies.alone, lane.copies.alone);
    copies.beside = std::max(copies.beside, lane.copies.beside);
    chain = std::max(chain, static_cast<double>(lane.fma_chain));
    steps = std::max(steps, static_cast<double>(lane.fma_steps));
  }
  warp.load_groups += copies.alone;
  warp.copy_waits = copies.beside;
  if (steps > 0) warp.fma_chain = chain * warp.fma_steps / steps;
}

std::vector<ExplainedAccess> Worker::explain() {
  Explainer explainer([this](std::uint64_t address) { return engine_->home_of(address); });
  const auto add = [&](const WarpRequest& request) {
    if (!is_access(request.event)) return;
    by_space(request, [&](const WarpRequest& part, Space space) { explainer.add(part, space); });
  };
  engine_->visit(0, add, no_arithmetic);
  return std::move(explainer).accesses();
}

void Worker::extend(Footprint* footprint, std::uint64_t sector) {
  auto range = std::find_if(ranges_.begin(), ranges_.end(),
                            [=](const Range& r) { return r.of == footprint; });
  if (range == ranges_.end()) range = ranges_.insert(range, {footprint, sector, sector});
  range->first = std::min(range->first, sector);
  range->last = std::max(range->last, sector);
}

double Worker::note_footprints(const WarpRequest& request, const Sectors& sectors,
                               FootprintMap& map) {
  const CoveredBytes covered = covered_bytes(request, sectors);
  double ideal = 0;
  for (unsigned from = 0, to = 0; from < sectors.count; from = to) {
    Footprint* const footprint = footprint_at(sectors.id[from] * sector_bytes, map);
    for (to = from + 1; to < sectors.count; ++to) {
      if (footprint == nullptr || !footprint->holds(sectors.id[to] * sector_bytes)) break;
    }
    if (footprint != nullptr) {
      ideal += note_footprint(request, sectors, covered, footprint, from, to);
    }
  }
  return ideal;
}

double Worker::note_footprint(const WarpRequest& request, const Sectors& sectors,
                              const CoveredBytes& covered, Footprint* footprint, unsigned from,
                              unsigned to) {
  const Access access = access_of(kind_of(request.event));
  const bool reads = access == Access::load, stores = access == Access::store;
  int bytes = 0;
  for (unsigned i = from; i < to; ++i) bytes += std::popcount(covered[i]);
  const int whole_sectors = (bytes + sector_bytes - 1) / sector_bytes;
  const double ideal = whole_sectors;
  unsigned repeats = 0, with_another = 0, alone = 0;
  const auto is_alone = [&](unsigned i) {  // they are in order, so its other half is beside it
    const std::uint64_t other = sectors.id[i] ^ 1;
    return (i == from || sectors.id[i - 1] != other) && (i + 1 == to || sectors.id[i + 1] != other);
  };
  for (unsigned i = from; i < to; ++i) {
    BlockSector& mine = block_sectors_.at(sectors.id[i]);
    if (reads) {
      alone += is_alone(i);
      const LastRead last = note_read(footprint, mine, request.interval);
      repeats += last.distance > 0;
      with_another += last.is_of_another_at_once;
      if (mine.read == 0) mine.first_read = request.event;
      mine.read |= covered[i];
      if (last.distance == 0 &&
          block_sectors_.is_first_of(sectors.id[i], footprint->fetch_sectors())) {
        footprint->read_fetch();
      }
    } else {
      footprint->write(stores && covered[i] != ~0u);
      if (mine.written == 0) mine.first_write = request.event;
      mine.written |= covered[i];
    }
  }
  if (alone > 0) footprint->read_alone(alone);
  if (repeats > 0 && repeats < to - from) {
    footprint->read_beside_new(repeats);
  } else if (with_another > 0) {
    footprint->read_with_another(with_another);
  }
  if (reads) return ideal;
  stores ? touched_.note_store(footprint) : touched_.note_atomic(footprint);
  return ideal;
}

LastRead Worker::note_read(Footprint* footprint, BlockSector& mine, std::uint32_t interval) {
  const LastRead last = block_sectors_.read(mine, interval);
  if (last.distance > 0 && last.interval < interval) {
    ++read_again_[{footprint, last.interval, interval}];
  } else {
    footprint->read(mine.sector, last.distance);
  }
  return last;
}

Footprint* Worker::footprint_at(std::uint64_t address, FootprintMap& map) {
  for (Footprint* known : footprints_) {
    if (known != nullptr && known->holds(address)) return known;
  }
  Footprint* const found = map.at(address);
  if (found != nullptr) footprints_[next_footprint_++ % footprints_.size()] = found;
  return found;
}

}  // namespace gpubench::model
