// Distinct things among draws.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <set>

#include "harness/platform/model/time/cache_model.hpp"

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

}  // namespace
}  // namespace gpubench::model
