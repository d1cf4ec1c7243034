#include "harness/platform/model/time/population.hpp"

#include <algorithm>
#include <cmath>

namespace gpubench::model {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Where increasing() first reaches `wanted`, between 0 and `high` or beyond.
template <class Function>
double solve(Function increasing, double wanted, double high) {
  while (increasing(high) < wanted) high *= 2;
  double low = 0;
  for (int i = 0; i < 50; ++i) {
    const double middle = (low + high) / 2;
    (increasing(middle) < wanted ? low : high) = middle;
  }
  return high;
}

double exponential_integral(double x) { return x > 0 ? -std::expint(-x) : infinity; }  // E1

double growth_from_0(double x) {  // g
  return x > 0 ? -std::expm1(-x) + x * exponential_integral(x) : 0;
}

// From the first to the last sector of what all blocks sweep over, each over a part. The n traced
// parts lie anywhere, so that on average 2 / (n + 1) of the places lie beyond the outermost of
// them, and 6 / n once in sixty times: if the allocation is no larger, it is taken to be all of
// that.
double swept_extent(const FootprintSums& f, double traced_blocks) {
  const auto seen = static_cast<double>(f.extent);
  const double of_a_block = static_cast<double>(f.read_extents) / traced_blocks;
  if (traced_blocks < 2 || of_a_block >= seen) return seen;
  const double between = seen - of_a_block;
  const auto allocated = static_cast<double>(f.allocation_bytes) / sector_bytes;
  if (allocated <= of_a_block + between * (1 + 8 / traced_blocks)) return std::max(seen, allocated);
  return of_a_block + between * (traced_blocks + 1) / (traced_blocks - 1);
}

}  // namespace

double expected_distinct(double draws, double population) {
  return population <= 0 ? 0 : population * -std::expm1(-draws / population);
}

double estimated_population(double draws, double distinct) {
  // Fewer repeats than this are taken for chance at the edges of blocks.
  constexpr double fewest_repeats = 1e-3;
  if (draws <= 0 || distinct <= 0 || draws - distinct < fewest_repeats * draws) return infinity;
  return solve([&](double population) { return expected_distinct(draws, population); }, distinct,
               2 * distinct);
}

double ZipfDraws::growth(double x) const {
  return growth_from_0(x) - first_ * growth_from_0(x / first_);
}

double ZipfDraws::slope(double x) const {
  return exponential_integral(x) - exponential_integral(x / first_);
}

// With this first rank, what explains how many were met, and how many of them once.
ZipfDraws ZipfDraws::with(double first, double blocks, double distinct, double single) {
  ZipfDraws zipf;
  zipf.first_ = first;
  // The k-th is met by a certain one of B blocks and no other with exp(-u / k (B - 1) / B) -
  // exp(-u / k). Falls from 1 to 0 as everything is met more and more often.
  const auto single_share = [&](double x) {
    const double but_for_one = zipf.growth(x * (blocks - 1) / blocks);
    return blocks * (1 - but_for_one / zipf.growth(x));
  };
  const double x =
      solve([&](double at) { return at > 0 ? 1 - single_share(at) : 0; }, 1 - single / distinct, 1);
  zipf.population_ = distinct / zipf.growth(x);
  zipf.of_block_ = x / blocks;
  return zipf;
}

std::optional<ZipfDraws> ZipfDraws::of(double blocks, double of_block, double distinct,
                                       double single) {
  constexpr double least = 1e-9, nearly_alike = 0.7;  // the first rank
  constexpr double beyond_chance = 0.2;               // of what was met again
  const double draws = blocks * of_block;
  if (single <= 0 || single >= distinct || draws <= distinct) return std::nullopt;
  const auto alone = [&](double first) {
    return with(first, blocks, distinct, single).met_by(1);  // the less, the more alike all are
  };
  // What is popular is met again more often than twice. (For two blocks nothing is: there each law
  // explains as much as any other.)
  if (draws - blocks * alone(nearly_alike) < beyond_chance * (draws - distinct))
    return std::nullopt;
  double low = std::log(least), high = std::log(nearly_alike);
  for (int i = 0; i < 30; ++i) {
    const double middle = (low + high) / 2;
    (alone(std::exp(middle)) > of_block ? low : high) = middle;
  }
  // Where no first rank explains it, that is the least.
  return with(std::exp(low), blocks, distinct, single);
}

double ZipfDraws::met_by(double blocks) const { return population_ * growth(of_block_ * blocks); }

double ZipfDraws::new_after(double blocks) const {
  return population_ * of_block_ * slope(of_block_ * blocks);
}

double ZipfDraws::blocks_that_meet(double distinct) const {
  if (distinct >= population_ * (1 - first_)) return infinity;
  return solve([&](double blocks) { return met_by(blocks); }, distinct, 1);
}

double Population::met_by(double blocks) const {
  const double draws = blocks * of_block;
  if (zipf) return std::min({draws, zipf->met_by(blocks), extent});
  return std::isinf(drawn_from) ? draws : std::min(draws, expected_distinct(draws, drawn_from));
}

double Population::hits(double capacity, double blocks) const {
  const double ratio = room * working_set / capacity;
  if (!zipf || ratio <= 1) return is_swept ? swept_hits(ratio) : random_hits(ratio);
  // Until the cache is full, each misses once. From then on, what has not come again before a
  // cache's worth of others was met is gone.
  const double kept_for = zipf->blocks_that_meet(capacity / room);
  if (blocks <= kept_for) return 1;
  const double missed = met_by(kept_for) + (blocks - kept_for) * zipf->new_after(kept_for);
  const double first = met_by(blocks), again = blocks * of_block - first;
  if (again <= 0) return 1;
  return std::clamp(1 - (missed - first) / again, 0.0, 1.0);
}

Population population_of(const FootprintSums& f, double traced_blocks, double scale) {
  const auto by_block = static_cast<double>(f.read_by_block);
  const auto distinct = static_cast<double>(f.read_distinct);
  auto extent = static_cast<double>(f.extent);
  Population p;
  p.of_block = by_block / traced_blocks;
  // Blocks that met sectors of other blocks draw from one population; else each has its own.
  p.drawn_from = estimated_population(by_block, distinct);
  const bool have_met = !std::isinf(p.drawn_from);
  p.is_swept = 2 * by_block >= static_cast<double>(f.read_extents);
  // They have to share what the grid reads many times over, though those traced did not meet.
  const double drawn = by_block * scale;
  const auto allocated = static_cast<double>(f.allocation_bytes) / sector_bytes;
  if (std::isinf(p.drawn_from) && allocated > 0 && drawn > 4 * allocated) {
    p.drawn_from = p.is_swept ? distinct : allocated;
  }
  // What is swept over in parts is taken to be all that lies between; few parts of it were traced,
  // and whether two of those are the same says little.
  if (p.is_swept && scale > 1.5 && !std::isinf(p.drawn_from)) {
    extent = swept_extent(f, traced_blocks);
    p.drawn_from = std::max(p.drawn_from, extent);
  }
  if (!p.is_swept && have_met) {
    const auto single = static_cast<double>(f.read_distinct - f.read_shared);
    p.zipf = ZipfDraws::of(traced_blocks, p.of_block, distinct, single);
  }
  p.extent = std::max(extent, distinct);
  // Where each has its own, in whatever order, those that were not traced may lie farther out.
  const double most =
      std::isinf(p.drawn_from) ? std::max(p.extent, swept_extent(f, traced_blocks)) : p.extent;
  p.of_grid = std::min(p.met_by(traced_blocks * scale), most);
  p.working_set = std::isinf(p.drawn_from) || p.zipf ? p.of_grid : std::min(p.drawn_from, extent);
  if (distinct > 0) {
    const double sectors_a_line = double{line_bytes} / sector_bytes;
    p.room = std::min(sectors_a_line * static_cast<double>(f.read_lines) / distinct,
                      std::max(1.0, extent / p.working_set));
  }
  return p;
}

double swept_hits(double ratio) {
  if (ratio <= 1) return 1;
  double hits = 0;  // below the fixed point, which it approaches from there
  for (int i = 0; i < 200; ++i) hits = std::exp(-ratio * (1 - hits));
  return hits;
}

double random_hits(double ratio) { return ratio <= 1 ? 1 : 1 / ratio; }

}  // namespace gpubench::model
