// Which sectors of one allocation the blocks of a grid read, extrapolated from those that were
// traced.
//
// Blocks that met sectors of other blocks draw from one population. If all of it is equally likely,
// n draws out of M meet M (1 - exp(-n / M)). Otherwise it is taken to follow Zipf's law: sectors
// are asked for with probabilities that fall as 1 / k, for k from a first rank c to M. Then, with
// draws that ask u / k times for the k-th,
//
//   M g(u / M) - c g(u / c),  g(x) = 1 - exp(-x) + x E1(x)
//
// are met: the integral of 1 - exp(-u / k) from c to M. With c near M, all are equally likely. The
// traced blocks tell M, u and c by how many sectors they met, how many of those in a single block,
// and how many one block meets alone.
#pragma once

#include <limits>
#include <optional>

#include "harness/platform/model/emulator/footprint.hpp"

namespace gpubench::model {

// How many distinct things of `population` equally likely ones `draws` draws meet.
double expected_distinct(double draws, double population);
// The inverse: the population of which `draws` draws met `distinct`; infinite when no draw met
// anything twice (capture and recapture).
double estimated_population(double draws, double distinct);

// Sectors that blocks draw by Zipf's law.
class ZipfDraws {
 public:
  // `blocks` blocks met `distinct` sectors, `single` of which were met by one of them only, and
  // one block meets `of_block` on average. nullopt: they are as good as equally likely, or
  // of two blocks, which do not tell.
  static std::optional<ZipfDraws> of(double blocks, double of_block, double distinct,
                                     double single);

  double met_by(double blocks) const;
  // How much one more block reads that none of `blocks` blocks has read.
  double new_after(double blocks) const;
  // The blocks that meet so many together; infinite where there are no more.
  double blocks_that_meet(double distinct) const;

 private:
  static ZipfDraws with(double first, double blocks, double distinct, double single);
  // Distinct sectors, and the next new one, by u / M; both in units of M.
  double growth(double x) const;
  double slope(double x) const;

  double population_ = 0;  // M
  double first_ = 0;       // c / M
  double of_block_ = 0;    // u / M of one block
};

// What the reads of one allocation amount to, in sectors.
struct Population {
  double of_block = 0;  // distinct, an average block
  // That blocks share; infinite where each has its own.
  double drawn_from = std::numeric_limits<double>::infinity();
  std::optional<ZipfDraws> zipf;
  double of_grid = 0;                                       // distinct
  double extent = std::numeric_limits<double>::infinity();  // from the first to the last
  double working_set = 0;  // between two uses of a sector by different blocks
  double room = 1;         // in a cache, whose lines are of four sectors, for each one
  bool is_swept = false;   // blocks read all of what they range over

  double met_by(double blocks) const;
  // The share that a cache of so many sectors, which popular ones leave the oldest first, serves of
  // what `blocks` blocks read and one of them has read before.
  double hits(double capacity, double blocks) const;
};

// `scale`: blocks of the grid for each traced one.
Population population_of(const FootprintSums& f, double traced_blocks, double scale);

// The share of a working set that a cache serves on the next pass over it. `ratio`: the working set
// over the capacity.
double swept_hits(double ratio);
double random_hits(double ratio);

}  // namespace gpubench::model
