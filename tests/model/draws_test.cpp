// Distinct things among draws.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <unordered_map>
#include <vector>

#include "harness/platform/model/time/population.hpp"

namespace gpubench::model {
namespace {

TEST(Draws, ExpectedDistinctMatchesASimulation) {
  std::mt19937_64 random(42);
  for (const std::size_t population : {10u, 1000u, 50000u}) {
    for (const std::size_t draws : {5u, 1000u, 100000u}) {
      std::set<std::uint64_t> met;
      for (std::size_t i = 0; i < draws; ++i) met.insert(random() % population);
      const auto seen = static_cast<double>(met.size());
      EXPECT_NEAR(expected_distinct(static_cast<double>(draws), static_cast<double>(population)),
                  seen, 3 * std::sqrt(seen));
    }
  }
}

TEST(Draws, PopulationIsTheInverse) {
  for (const double population : {10.0, 1e3, 1e6, 1e9}) {
    for (const double share : {0.01, 0.1, 1.0, 3.0}) {
      const double draws = share * population;
      const double distinct = expected_distinct(draws, population);
      EXPECT_NEAR(estimated_population(draws, distinct), population, 1e-6 * population);
    }
  }
}

TEST(Draws, Extremes) {
  EXPECT_TRUE(std::isinf(estimated_population(1000, 1000)));  // nothing met twice
  EXPECT_TRUE(std::isinf(estimated_population(0, 0)));
  EXPECT_NEAR(estimated_population(1e6, 10), 10, 1e-6);  // all of it seen
  EXPECT_EQ(expected_distinct(5, 0), 0);
  EXPECT_NEAR(expected_distinct(1e3, 1e15), 1e3, 1e-6);
}

// What blocks met of a population that is drawn from by `rank`, until so many had drawn.
struct Met {
  std::map<std::uint64_t, int> by_blocks;  // by sector: how many blocks met it
  double of_blocks = 0;                    // sectors of each block, summed

  template <class Rank>
  void draw_block(Rank&& rank, std::size_t draws) {
    std::set<std::uint64_t> mine;
    for (std::size_t i = 0; i < draws; ++i) mine.insert(rank());
    of_blocks += static_cast<double>(mine.size());
    for (const std::uint64_t sector : mine) ++by_blocks[sector];
  }
  double distinct() const { return static_cast<double>(by_blocks.size()); }
  double single() const {
    return static_cast<double>(
        std::ranges::count_if(by_blocks, [](const auto& met) { return met.second == 1; }));
  }
};

// Ranks that are asked for as Zipf's law has it.
class ByZipf {
 public:
  ByZipf(double population, unsigned seed) : population_(population), random_(seed) {}
  std::uint64_t operator()() {
    return static_cast<std::uint64_t>(std::exp(uniform_(random_) * std::log(population_ + 1)) - 1);
  }

 private:
  double population_;
  std::mt19937_64 random_;
  std::uniform_real_distribution<double> uniform_;
};

constexpr std::size_t of_block = 256, traced = 128, all_blocks = 4096;

template <class Rank>
std::optional<ZipfDraws> drawn(Rank&& rank, Met& met, std::size_t blocks = traced) {
  for (std::size_t i = 0; i < blocks; ++i) met.draw_block(rank, of_block);
  const auto count = static_cast<double>(blocks);
  return ZipfDraws::of(count, met.of_blocks / count, met.distinct(), met.single());
}

// A thirty-second of the blocks tells what all of them meet.
TEST(Draws, ByZipfsLawAreExtrapolatedToTheGrid) {
  for (const double population : {3e4, 1e8}) {
    ByZipf rank(population, 7);
    Met met;
    const auto zipf = drawn(rank, met);
    ASSERT_TRUE(zipf) << population;
    EXPECT_NEAR(zipf->met_by(traced), met.distinct(), 1e-6 * met.distinct());
    const double before = met.distinct();
    for (std::size_t i = 0; i < traced; ++i) met.draw_block(rank, of_block);
    EXPECT_NEAR(zipf->new_after(1.5 * traced), (met.distinct() - before) / traced, 0.05 * of_block);
    for (std::size_t i = 2 * traced; i < all_blocks; ++i) met.draw_block(rank, of_block);
    EXPECT_NEAR(zipf->met_by(all_blocks), met.distinct(), 0.12 * met.distinct()) << population;
    EXPECT_NEAR(zipf->blocks_that_meet(zipf->met_by(1000)), 1000, 1e-3);
  }
}

// With few blocks, what one of them alone has met may have been drawn by it more than once.
TEST(Draws, OfAFewBlocksTellTheLaw) {
  constexpr double population = 1e6;
  for (const std::size_t blocks : {4, 8, 16}) {
    double ratios = 0;
    constexpr int trials = 12;
    for (int trial = 0; trial < trials; ++trial) {
      ByZipf rank(population, static_cast<unsigned>(trial));
      Met met;
      const auto zipf = drawn(rank, met, blocks);
      ASSERT_TRUE(zipf) << blocks;
      const double predicted = zipf->met_by(256);
      for (std::size_t i = blocks; i < 256; ++i) met.draw_block(rank, of_block);
      ratios += std::log(predicted / met.distinct());
    }
    EXPECT_NEAR(ratios / trials, 0, 0.05) << blocks;
  }
}

TEST(Draws, OfWhatIsEquallyLikelyAreNotZipfs) {
  for (const std::uint64_t population : {3'000, 30'000, 1'000'000}) {
    for (const std::size_t blocks : {2, 4, 8, 16, 32, 128}) {
      std::mt19937_64 random(7);
      Met met;
      EXPECT_FALSE(drawn([&] { return random() % population; }, met, blocks))
          << population << ", " << blocks;
    }
  }
}

// A cache that replaces the oldest, in front of draws by Zipf's law.
class OldestOut {
 public:
  explicit OldestOut(std::size_t capacity) : capacity_(capacity) {}

  bool holds_then_keeps(std::uint64_t sector) {
    const auto place = places_.find(sector);
    const bool held = place != places_.end();
    if (held) {
      order_.erase(place->second);
    } else if (order_.size() == capacity_) {
      places_.erase(order_.back());
      order_.pop_back();
    }
    order_.push_front(sector);
    places_[sector] = order_.begin();
    return held;
  }

 private:
  std::size_t capacity_;
  std::list<std::uint64_t> order_;
  std::unordered_map<std::uint64_t, std::list<std::uint64_t>::iterator> places_;
};

// Just full, and long full: at first everything misses once.
TEST(Draws, PopularSectorsStayInACache) {
  constexpr double population = 1e6, capacity = 20'000;
  ByZipf rank(population, 3);
  Met met;
  Population p;
  p.zipf = drawn(rank, met);
  p.of_block = met.of_blocks / traced;
  p.working_set = p.met_by(all_blocks);
  const double kept_for = p.zipf->blocks_that_meet(capacity);
  std::vector<std::size_t> asked{all_blocks};
  for (const double fills : {1.5, 3.0, 10.0}) {
    asked.push_back(static_cast<std::size_t>(fills * kept_for));
  }
  OldestOut cache(static_cast<std::size_t>(capacity));
  std::set<std::uint64_t> seen;
  double hits = 0, again = 0;
  for (std::size_t block = 1; block <= std::ranges::max(asked); ++block) {
    std::set<std::uint64_t> mine;
    for (std::size_t i = 0; i < of_block; ++i) mine.insert(rank());
    for (const std::uint64_t sector : mine) {
      again += seen.insert(sector).second ? 0 : 1;
      hits += cache.holds_then_keeps(sector) ? 1 : 0;
    }
    if (std::ranges::find(asked, block) == asked.end()) continue;
    const auto blocks = static_cast<double>(block);
    EXPECT_NEAR(p.hits(capacity, blocks), hits / again, 0.02) << blocks / kept_for;
  }
  EXPECT_LT(random_hits(p.working_set / capacity), 0.2);  // what it would be were all alike
}

}  // namespace
}  // namespace gpubench::model
