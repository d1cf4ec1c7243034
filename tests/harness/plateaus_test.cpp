// Steps in synthetic curves: found where they are, and not where there are none.
#include "harness/statistics/plateaus.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace gpubench {
namespace {

// The levels between edges, with a rise that takes the factor `width` of size, and noise.
struct Synthetic {
  std::vector<double> edges, levels;
  double width = 1.5, noise = 0;
  std::mt19937 random{5};

  double operator()(double size) {
    double value = levels[0];
    for (std::size_t i = 0; i < edges.size(); ++i) {
      const double through = std::clamp(std::log(size / edges[i]) / std::log(width), 0.0, 1.0);
      value += through * (levels[i + 1] - levels[i]);
    }
    return value * (1 + std::uniform_real_distribution(-noise, noise)(random));
  }
  std::vector<CurvePoint> curve() {
    std::vector<CurvePoint> points;
    for (double size = 4096; size < 9e9; size *= std::sqrt(2.0)) {
      points.push_back({size, (*this)(size)});
    }
    return points;
  }
};

TEST(Plateaus, EdgesOfThreeLevelsAreFound) {
  for (const double noise : {0.0, 0.01, 0.02}) {
    Synthetic s{{200e3, 30e6}, {16e-9, 140e-9, 350e-9}, 1.6, noise};
    const auto found = steps(s.curve());
    ASSERT_EQ(found.size(), 2u) << noise;
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_NEAR(found[i].before, s.levels[i], (0.01 + noise) * s.levels[i]) << noise;
      EXPECT_NEAR(found[i].after, s.levels[i + 1], (0.01 + noise) * s.levels[i + 1]) << noise;
      const double edge = edge_of(
          found[i], [&](double size) { return s(size); }, 5);
      EXPECT_NEAR(edge / s.edges[i], 1, 0.12) << noise << ", step " << i;
    }
  }
}

TEST(Plateaus, AStepThatIsNotThereIsNotFound) {
  Synthetic flat{{}, {16e-9}, 1.5, 0.05};
  EXPECT_TRUE(steps(flat.curve()).empty());
  Synthetic one{{30e6}, {140e-9, 350e-9}, 1.5, 0.03};
  EXPECT_EQ(steps(one.curve()).size(), 1u);
  Synthetic small{{30e6}, {140e-9, 160e-9}, 1.5, 0};  // less than a quarter
  EXPECT_TRUE(steps(small.curve()).empty());
}

TEST(Plateaus, AFourthLevelIsTheReachOfTheTlb) {
  Synthetic s{{200e3, 30e6, 2e9}, {16e-9, 140e-9, 350e-9, 550e-9}, 1.5, 0.03};
  const auto found = steps(s.curve());
  ASSERT_EQ(found.size(), 3u);
  EXPECT_NEAR(found[2].after, 550e-9, 30e-9);
  EXPECT_GE(found[2].first_above, 1.4e9);
}

TEST(Plateaus, AShortOutlierIsNoPlateau) {
  Synthetic s{{200e3}, {16e-9, 140e-9}, 1.5, 0};
  auto curve = s.curve();
  curve[4].value *= 3;
  const auto found = steps(curve);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NEAR(found[0].before, 16e-9, 1e-10);
}

TEST(Plateaus, ACurveOfTwoPointsHasNone) {
  const std::vector<CurvePoint> curve{{1, 1}, {2, 1}};
  EXPECT_TRUE(plateaus(curve).empty());
  EXPECT_TRUE(plateaus({}).empty());
}

}  // namespace
}  // namespace gpubench
