#pragma once

#include "kernels/divergence.cuh"
#include "tests/kernels/kernel_test.hpp"

namespace gpubench {

class DivergenceRuns : public KernelTest {
 protected:
  void branches_of(std::size_t n, unsigned ways, bool sorted) {
    using namespace divergence;
    SCOPED_TRACE(testing::Message() << n << " threads, " << ways << " ways, sorted " << sorted);
    const auto out = output<float>(n);
    launch(branches, static_cast<unsigned>((n + threads - 1) / threads), threads, 0, nullptr,
           out.data(), n, ways, sorted);
    expect_elements(out, ExpectedBranches{ways, sorted});
  }
  void trips_of(std::size_t n, divergence::Among among, unsigned ratio) {
    using namespace divergence;
    SCOPED_TRACE(testing::Message()
                 << n << " threads, one in " << ratio << " of " << static_cast<unsigned>(among));
    const auto out = output<float>(n);
    launch(trips, static_cast<unsigned>((n + threads - 1) / threads), threads, 0, nullptr,
           out.data(), n, among, ratio);
    expect_elements(out, ExpectedTrips{n, among, ratio});
  }
};

}  // namespace gpubench
