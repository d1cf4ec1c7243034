#include "harness/platform/model/time/cache_model.hpp"

#include <algorithm>
#include <cmath>

#include "harness/platform/model/time/population.hpp"

namespace gpubench::model {
namespace {

// Distinct sectors that a wave of blocks reads: a block's, and of each further neighbour what it
// does not share. One pair of neighbours speaks for all along its axis: where blocks take their
// tiles in an order of their own, by a number along x, what some of them share is taken to be
// everybody's, or nobody's.
double read_by_wave(const FootprintSums& f, double of_block, const CachedGrid& grid) {
  double blocks = grid.wave(), distinct = of_block;
  const auto shares = [](const Shared& shared) { return shared.fraction > 0; };
  if (std::ranges::none_of(f.shared, shares)) return distinct * blocks;
  for (std::size_t axis = 0; axis < grid.extent.size(); ++axis) {
    const double along = std::clamp(blocks, 1.0, grid.extent[axis]);
    distinct *= 1 + (along - 1) * (1 - f.shared[axis].fraction);
    blocks /= along;
  }
  return distinct;
}

// How far apart in time neighbours come by what they share: in sectors that a warp reads, a mean.
double mean_skew(const FootprintSums& f) {
  double skew = 0, weight = 0;
  for (const Shared& shared : f.shared) {
    skew += shared.fraction * shared.skew;
    weight += shared.fraction;
  }
  return weight > 0 ? skew / weight : 0;
}

// The share of a kernel's reads that L1 misses, for what blocks read again themselves: the largest
// fixed point, since the misses between two uses decide whether the second one hits. `stretch`:
// reads of all blocks of an SM for each of one block that bring in something new.
double miss_rate(std::span<const FootprintSums> footprints, double stretch, double capacity) {
  double reads = 0, first = 0;
  for (const FootprintSums& f : footprints) {
    reads += static_cast<double>(f.read_requests);
    first += static_cast<double>(f.read_by_block);
  }
  if (reads == 0) return 1;
  double rate = 1;
  for (int i = 0; i < 200; ++i) {
    double missed = first;
    for (const FootprintSums& f : footprints) {
      for (const Reuse& reuse : f.reuses) {
        missed += reuse.count * -std::expm1(-reuse.mean() * stretch * rate / capacity);
      }
    }
    rate = missed / reads;
  }
  return rate;
}

// The share that L1 has lost of what one warp alone reads once more. Its order is taken to be the
// same each time, so that of a set that it overfills nothing is there when it comes round, and the
// sets are not filled alike. `ratio`: what it read since, over the capacity.
double lost_in_order(double ratio) {
  // A V100, A40, A100, L40 and GH200 begin to lose it at 0.69 to 0.95, and have lost nine tenths at
  // 1.07 to 1.20 (gpu-latency/*.txt of RRZE-HPC/gpu-benches).
  constexpr double first = 0.86, last = 1.12;
  return std::clamp((ratio - first) / (last - first), 0.0, 1.0);
}

// What all of a kernel's reads compete for, in sectors.
struct Caches {
  double l1 = 0, l2 = 0;  // of an SM, and of the partition that it asks
  double partitions = 1;
  double fetch_bytes = 0;
  double of_block = 0, of_wave = 0;  // what a block reads, and a wave of them
  double at_once = 0;                // what the blocks of an SM read
  double stretch = 1;     // reads of all blocks of an SM for each of one block that are new to it
  double l1_misses = 0;   // a rate, of what blocks read again themselves
  bool in_order = false;  // one warp alone reads on each SM
  double l2_new = 0;      // sectors that a wave brings into L2 while a block reads one

  // How much of what a block reads again itself L1 has no longer, and how much neither has.
  double leaving_l1(const Reuse& reuse) const {
    if (in_order)
      return reuse.count * lost_in_order(std::min(reuse.mean() * stretch, at_once) / l1);
    return reuse.count * -std::expm1(-reuse.mean() * stretch * l1_misses / l1);
  }
  double leaving_l2(const Reuse& reuse) const {
    return leaving_l1(reuse) * -std::expm1(-reuse.mean() * l2_new / l2_of_own());
  }
  // All of L2 for what one block alone reads: an SM's partition keeps copies of what it has from
  // the others, so that such a sector takes two places wherever it is one.
  double l2_of_own() const { return l2 * partitions / (2 - 1 / partitions); }
};

// As in L1, the misses between two uses decide whether the second one hits. What a wave writes
// takes its place as well. 0: all that a wave has in work fits.
double new_to_l2(std::span<const FootprintSums> footprints, const CachedGrid& grid, Caches caches) {
  double reads = 0, first = 0, again = 0, written = 0;
  for (const FootprintSums& f : footprints) {
    reads += static_cast<double>(f.read_requests);
    first += static_cast<double>(f.read_by_block);
    written += static_cast<double>(f.write_distinct);
    for (const Reuse& reuse : f.reuses) again += caches.leaving_l1(reuse);
  }
  const double in_work = caches.of_wave + written / grid.traced_blocks * grid.wave();
  if (again == 0 || in_work <= caches.l2_of_own()) return 0;
  const double blocks = caches.of_wave / caches.of_block;
  double missed = again;
  for (int i = 0; i < 200; ++i) {
    caches.l2_new = blocks * (first + missed + written) / reads;
    missed = 0;
    for (const FootprintSums& f : footprints) {
      for (const Reuse& reuse : f.reuses) missed += caches.leaving_l2(reuse);
    }
  }
  return caches.l2_new;
}

Caches caches_of(std::span<const FootprintSums> footprints, std::span<const Population> populations,
                 const CachedGrid& grid, const DeviceSpec& device) {
  Caches caches;
  caches.fetch_bytes = device["dram_fetch_bytes"];
  caches.partitions = device.find("l2_partitions").value_or(1);
  caches.l1 = grid.l1_bytes / sector_bytes;
  caches.l2 = device["l2_bytes"] / caches.partitions / sector_bytes;
  for (std::size_t i = 0; i < footprints.size(); ++i) {
    caches.of_block += populations[i].of_block;
    caches.at_once += populations[i].room * populations[i].met_by(grid.blocks_at_once);
    caches.of_wave += read_by_wave(footprints[i], populations[i].of_block, grid);
  }
  caches.stretch = caches.of_block > 0 ? caches.at_once / caches.of_block : 1;
  caches.in_order = grid.warps == 1 && grid.blocks_at_once == 1;
  caches.l1_misses =
      caches.at_once <= caches.l1 ? 0 : miss_rate(footprints, caches.stretch, caches.l1);
  caches.l2_new = new_to_l2(footprints, grid, caches);
  return caches;
}

// What L1 leaves to L2 of one allocation's reads, whole grid: of a block's own repeats, and of what
// it reads first, which its SM's other blocks may have read before. And what L2 no longer has of
// the former.
struct LeavingL1 {
  double again = 0, first = 0, again_missed = 0;
};

LeavingL1 leaving_l1(const FootprintSums& f, const Population& p, const CachedGrid& grid,
                     const Caches& caches) {
  double again = 0, again_missed = 0;
  for (const Reuse& reuse : f.reuses) {
    again += caches.leaving_l1(reuse);
    again_missed += caches.leaving_l2(reuse);
  }
  const double blocks = grid.traced_blocks * grid.scale / grid.sms;
  const double an_sm = blocks * p.of_block, an_sm_distinct = p.met_by(blocks);
  const double first =
      grid.sms * (an_sm_distinct + (an_sm - an_sm_distinct) * (1 - p.hits(caches.l1, blocks)));
  return {again * grid.scale, first, again_missed * grid.scale};
}

// A request is served when its slowest sector is, and what another warp has just asked for when
// that comes.
double waiting_beyond_l1(const FootprintSums& f, const LeavingL1& leaving) {
  const auto by_block = static_cast<double>(f.read_by_block);
  const double repeated = static_cast<double>(f.read_requests) - by_block;
  const double beside_new = static_cast<double>(f.read_beside_new + f.read_with_another);
  return leaving.again + leaving.first +
         (beside_new > 0 ? beside_new * (leaving.first / by_block - leaving.again / repeated) : 0);
}

// The share of what blocks of a wave read after one another that they wait for together, until it
// has come from another partition. Later ones find the copy that their own one keeps.
double crossing_share(const FootprintSums& f, double partitions) {
  constexpr double at_once = warp_lanes;  // sectors of a warp: a request of all lanes
  return (1 - 1 / partitions) * at_once / (at_once + mean_skew(f));
}

// Each distinct sector is fetched once unless it is still there; then it is read again.
void serve_by_l2(const FootprintSums& f, const Population& p, const Held& held,
                 const LeavingL1& leaving, const CachedGrid& grid, const Caches& caches,
                 Reads& reads) {
  const double fetches = static_cast<double>(f.read_fetches) / static_cast<double>(f.read_distinct);
  const L2Shares shares =
      l2_shares(p.hits(caches.l2, grid.traced_blocks * grid.scale), caches.partitions);
  const double first = std::min(reads.leaving_l1, p.of_grid);
  // What several blocks of a wave read: the first of them brings it in for the others, unless too
  // much is read before they come by.
  const double waves = std::max(1.0, grid.traced_blocks * grid.scale / grid.wave());
  const double by_waves = std::max(p.of_grid, waves * read_by_wave(f, p.of_block, grid));
  const double meanwhile =
      caches.of_block > 0 ? mean_skew(f) * grid.warps * caches.of_wave / caches.of_block : 0;
  // Likewise for what they read again each by itself.
  const double asked_once = read_by_wave(f, p.of_block, grid) / (p.of_block * grid.wave());
  const double beside =
      (std::max(0.0, leaving.first - by_waves) + leaving.again * std::max(0.0, 1 - asked_once)) *
      std::exp(-meanwhile / caches.l2);
  const double own = (leaving.again - leaving.again_missed) * std::min(1.0, asked_once);
  const double repeats = std::max(0.0, reads.leaving_l1 - first - beside - own);
  const double kept = first * held.fraction;
  const double crossing = beside * crossing_share(f, caches.partitions);
  reads.l2_near = kept * held.near + beside - crossing + own + repeats * shares.near;
  reads.l2_far = kept * (1 - held.near) + crossing + repeats * shares.far;
  reads.l2_missed = first - kept + repeats * shares.missed;
  // Sectors that are swept over find their neighbours fetched; of others, those that their own
  // block reads beside them.
  const double again = p.is_swept ? fetches
                                  : static_cast<double>(f.read_fetches_by_block) /
                                        static_cast<double>(f.read_by_block);
  // A fetch brings in sectors that lie beside those asked for. As far as a wave's blocks share what
  // they read, others of them ask for these in time: no more is fetched than there is.
  const double fetched = first * fetches,
               pieces = std::min(fetched, p.extent * sector_bytes / caches.fetch_bytes);
  const double first_fetches = pieces + (fetched - pieces) * std::min(1.0, asked_once);
  const double missed = first_fetches * (1 - held.fraction) + repeats * shares.missed * again;
  reads.dram_bytes = caches.fetch_bytes * missed;
  // What is swept over is fetched in order.
  reads.dram_jumps = p.is_swept || f.read_jumps_by_block == 0
                         ? 0
                         : missed * static_cast<double>(f.read_jumps_by_block) /
                               static_cast<double>(f.read_fetches_by_block);
}

}  // namespace

L2Shares l2_shares(double hits, double partitions) {
  const double elsewhere = 1 - 1 / partitions;  // belongs to another partition
  L2Shares shares;
  shares.near = hits;
  shares.far = (1 - hits) * elsewhere * hits;
  shares.missed = 1 - shares.near - shares.far;
  return shares;
}

std::vector<Reads> served_reads(std::span<const FootprintSums> footprints,
                                std::span<const Held> held, const CachedGrid& grid,
                                const DeviceSpec& device) {
  std::vector<Population> populations;
  for (const FootprintSums& f : footprints) {
    populations.push_back(population_of(f, grid.traced_blocks, grid.scale));
  }
  const Caches caches = caches_of(footprints, populations, grid, device);
  std::vector<Reads> all;
  for (std::size_t i = 0; i < footprints.size(); ++i) {
    Reads reads;
    if (footprints[i].read_requests > 0) {
      const LeavingL1 leaving = leaving_l1(footprints[i], populations[i], grid, caches);
      reads.leaving_l1 = leaving.again + leaving.first;
      reads.waiting_beyond_l1 = waiting_beyond_l1(footprints[i], leaving);
      serve_by_l2(footprints[i], populations[i], held[i], leaving, grid, caches, reads);
    }
    all.push_back(reads);
  }
  return all;
}

}  // namespace gpubench::model
