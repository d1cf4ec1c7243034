#include <array>
#include <numeric>
#include <vector>

#include "tests/kernels/transfer_runs.hpp"

namespace gpubench {
namespace {

using namespace transfer;

class TransferKernels : public TransferRuns {};

TEST_F(TransferKernels, CopiesOfAnyLength) {
  for (const unsigned n : ragged_sizes) copy_of(n);
}

TEST_F(TransferKernels, OneWordInSoManyIsTurnedOver) {
  for (const std::size_t n :
       {std::size_t{1}, std::size_t{1021}, flips - 1, flips, flips + 1, 3 * flips + 17}) {
    SCOPED_TRACE(n);
    const auto both = input<word>(n);
    launch(flip, flipping_blocks, copy_words::threads, 0, nullptr, both.data(), n);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess) << diagnostic;
    const ExpectedFlips<Generator<word>> expected{values<word>, n};
    const std::vector<word> got = both.download();
    std::size_t turned = 0;
    for (std::size_t i = 0; i < n; ++i) {
      ASSERT_EQ(got[i], expected(i)) << i;
      turned += got[i] != values<word>(i);
    }
    EXPECT_EQ(turned, std::min(n, flips));
  }
}

TEST(Line, IsWhatTheTimesWereMadeOf) {
  constexpr Line made{5e-6, 2e10};
  EXPECT_DOUBLE_EQ(made.half_bandwidth_bytes(), 1e5);
  const std::array<double, 5> sizes{4, 65536, 1 << 20, 1 << 24, 1 << 30};
  std::array<double, 5> times{};
  for (std::size_t i = 0; i < sizes.size(); ++i) times[i] = made.seconds(sizes[i]);
  const Line found = fit(sizes, times);
  EXPECT_NEAR(found.latency, made.latency, 1e-9 * made.latency);
  EXPECT_NEAR(found.bytes_per_second, made.bytes_per_second, 1e-9 * made.bytes_per_second);
  // A long time that is off by a twentieth moves the rate, not the latency.
  times.back() *= 1.05;
  const Line noisy = fit(sizes, times);
  EXPECT_NEAR(noisy.latency, made.latency, 0.02 * made.latency);
  EXPECT_LT(noisy.bytes_per_second, made.bytes_per_second);
}

TEST(Line, TimesThatFallWithTheSizeMakeNone) {
  const std::array<double, 3> sizes{1, 1000, 1000000}, times{3e-6, 2e-6, 1e-6};
  const Line found = fit(sizes, times);
  EXPECT_FALSE(found.latency > 0 && found.bytes_per_second > 0);
}

}  // namespace
}  // namespace gpubench
