// Functions of numbers that kernels call by name, and atomics of half and with a scope.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/model/emulator_fixture.hpp"
#include "tests/model/functions_kernels.hpp"

namespace gpubench::model {
namespace {

using FunctionsTest = EmulatorTest;

std::vector<double> functions_of(double x) {
  return {std::exp(x),   std::exp2(x),  std::pow(10.0, x), std::log(x),   std::log2(x),
          std::log10(x), 1 / x,         1 / std::sqrt(x),  std::tanh(x),  std::sin(x),
          std::cos(x),   std::floor(x), std::ceil(x),      std::trunc(x), std::rint(x)};
}

// Operations of the special-function unit: 8 functions by one each, and the tangent.
TEST_F(FunctionsTest, OfHalfAreThoseOfFloat) {
  auto* const out = make<__half>(kernels::half_functions);
  auto* const pairs = make<__half2>(kernels::half_functions);
  const Counts counts = counts_of([&] { kernels::half_functions_of(out, pairs, 0.7f); });
  EXPECT_EQ(counts.special, 3 * (8 + 2));
  const auto ones = download(out, kernels::half_functions);
  const auto both = download(pairs, kernels::half_functions);
  const auto expected = functions_of(float{__half(0.7f)});
  for (unsigned k = 0; k < kernels::half_functions; ++k) {
    EXPECT_NEAR(float{ones[k]}, expected[k], 1e-3 * std::abs(expected[k])) << k;
    EXPECT_EQ(both[k].x.bits(), ones[k].bits()) << k;
    EXPECT_EQ(both[k].y.bits(), ones[k].bits()) << k;
  }
}

TEST_F(FunctionsTest, OfBfloatTakeItsOwnTangent) {
  auto* const out = make<__nv_bfloat16>(kernels::half_functions);
  auto* const pairs = make<__nv_bfloat162>(kernels::half_functions);
  const Counts counts = counts_of([&] { kernels::bfloat_functions_of(out, pairs, 0.75f); });
  EXPECT_EQ(counts.special, 3 * (8 + 1));
  const auto ones = download(out, kernels::half_functions);
  const auto expected = functions_of(0.75);
  for (unsigned k = 0; k < kernels::half_functions; ++k) {
    EXPECT_NEAR(float{ones[k]}, expected[k], 5e-3 * std::abs(expected[k])) << k;
  }
}

TEST_F(FunctionsTest, SinesOfPiTimesAreExactWhereTheyAreWhole) {
  auto* const out = make<double>(4);
  const auto of = [&](double x) {
    kernels::sines_of_pi_times(out, upload<double>({x}));
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess) << diagnostic;
    return download(out, 4);
  };
  EXPECT_EQ(of(3), (std::vector<double>{0, -1, 0, -1}));
  EXPECT_EQ(of(-2.5), (std::vector<double>{-1, 0, -1, 0}));
  EXPECT_EQ(of(1e6 + 0.5), (std::vector<double>{1, 0, 1, 0}));
  EXPECT_NEAR(of(0.25)[0], std::sqrt(0.5), 1e-7);
  EXPECT_NEAR(of(1.25)[3], -std::sqrt(0.5), 1e-15);
  EXPECT_TRUE(std::isnan(of(std::numeric_limits<double>::infinity())[3]));
}

TEST_F(FunctionsTest, RoundingHasADirection) {
  auto* const out = make<kernels::Rounded>(1);
  const float a = 1, b = -0x1p-30f, c = 0x1p-60f;
  const Counts counts = counts_of([&] { kernels::rounded_by_direction(out, a, b, c); });
  EXPECT_EQ(counts.issues(Arithmetic::add_fp32), 9);
  EXPECT_EQ(counts.issues(Arithmetic::fma_fp32), 3);
  EXPECT_EQ(counts.issues(Arithmetic::fma_fp64), 3);
  EXPECT_EQ(emulator.runs()[0].profile.waits.fma_steps, 3);
  const auto got = download(out, 1)[0];
  const float below = std::nextafter(1.0f, 0.0f), above = std::nextafter(1.0f, 2.0f);
  const float less = std::nextafter(-b, 0.0f);  // in absolute value
  const float sums[] = {below, 1, b, -less, 1, above, b, -less, below, 1, b, b};
  for (unsigned k = 0; k < 12; ++k) EXPECT_EQ(got.of_floats[k], sums[k]) << k;
  EXPECT_EQ(got.of_doubles[0], 1.0 + b);  // exact
  EXPECT_EQ(got.of_doubles[5], 1.0 - b);
  for (const unsigned k : {2, 3}) {  // a ninth, and a bit more
    EXPECT_EQ(got.of_doubles[k], got.of_doubles[8 + k]);
    EXPECT_EQ(std::nextafter(got.of_doubles[k], 1.0), got.of_doubles[4 + k]);
  }
  EXPECT_EQ(got.root, 1);
}

TEST_F(FunctionsTest, AtomicsOfHalfAndWithAScope) {
  auto* const sums = upload<kernels::Sums>({kernels::Sums{}});
  int* const found = make<int>(32);
  const Counts counts = counts_of([&] { kernels::add_atomically(sums, found); });
  EXPECT_EQ(counts.at(Space::global, Access::atomic).requests, 6);
  EXPECT_EQ(counts.at(Space::global, Access::atomic).bytes, 32 * (2 + 5 * 4));
  EXPECT_EQ(counts.fma_fp16x2, 0);
  const auto got = download(sums, 1)[0];
  EXPECT_EQ(float{got.number}, 32);
  EXPECT_EQ(float{got.pair.x}, 32);
  EXPECT_EQ(float{got.pair.y}, 64);
  EXPECT_EQ(float{got.bfloats.x}, 32);
  EXPECT_EQ(float{got.bfloats.y}, 64);
  EXPECT_EQ(got.of_block, 31 * 16);
  EXPECT_EQ(got.of_system, 31);
  EXPECT_EQ(got.compared, 32);
  EXPECT_EQ(download(found, 32)[31], 31);
}

TEST_F(FunctionsTest, AScopedAtomicIsWhereTheKernelCallsIt) {
  kernels::add_beyond(make<int>(64));
  EXPECT_NE(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_NE(diagnostic.find("functions_kernels.cpp:" + std::to_string(kernels::beyond_line)),
            std::string::npos)
      << diagnostic;
}

}  // namespace
}  // namespace gpubench::model
