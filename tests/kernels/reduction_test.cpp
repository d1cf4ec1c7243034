#include <vector>

#include "tests/kernels/reduction_runs.hpp"

namespace gpubench {
namespace {

using namespace reduction;
using Words = Generator<float>;

class Reduction : public ReductionRuns {
 protected:
  double sum_of(std::size_t n) const {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += values<float>(i);
    return sum;
  }
};

TEST_F(Reduction, EveryRungSumsAnyNumberOfWords) {
  for (const unsigned n : ragged_sizes) {
    side_by_side(tree<Divergent, 1, false>, threads, n);
    side_by_side(tree<Conflicting, 1, false>, threads, n);
    side_by_side(tree<Sequential, 1, false>, threads, n);
    side_by_side(tree<Sequential, 2, false>, 2 * threads, n);
    side_by_side(tree<Sequential, 2, true>, 2 * threads, n);
    side_by_side(shuffled, 2 * threads, n);
  }
}

TEST(ReductionLaw, EachStepSavesWhatItSays) {
  constexpr Loads divergent = loads_of_tree<Divergent, false>();
  constexpr Loads conflicting = loads_of_tree<Conflicting, false>();
  constexpr Loads sequential = loads_of_tree<Sequential, false>();
  // All eight warps take part until they have one thread left: 5 levels of 8, then 4, 2, 1.
  static_assert(divergent.requests == 2 * (5 * 8 + 4 + 2 + 1) + 1);
  static_assert(divergent.wavefronts == divergent.requests);
  // Warps retire: 4, 2, 1 of them, then one at each of the last 5 levels ...
  static_assert(conflicting.requests == 2 * (4 + 2 + 1 + 5) + 1);
  // ... with 2, 4, 8 lanes at a bank, then 16 lanes at two banks, and 8, 4, 2, 1 at one.
  static_assert(conflicting.wavefronts == 2 * (4 * 2 + 2 * 4 + 8 + 16 / 2 + 8 + 4 + 2 + 1) + 1);
  static_assert(sequential.requests == conflicting.requests);
  static_assert(sequential.wavefronts == sequential.requests);
}

TEST_F(Reduction, AGridThatMeetsSumsAnyNumberOfWords) {
  for (const unsigned n : {1u, 3u, 1025u, 16383u, 40961u}) {
    for (const unsigned blocks : {1u, 3u}) {
      SCOPED_TRACE(testing::Message() << n << " words, " << blocks << " blocks");
      const auto in = input<float>(n);
      const auto sums = output<float>(blocks), out = output<float>(1);
      launch_cooperative(grid_sync, blocks, threads, grid_sync_shared_bytes, nullptr, in.data(),
                         sums.data(), out.data(), n);
      expect_elements(sums, ExpectedStriding<Words>{values<float>, n, blocks});
      EXPECT_NEAR(out.download()[0], sum_of(n), 1e-5 * n);
    }
  }
}

TEST_F(Reduction, AGridThatStaysSumsAnyNumberOfWords) {
  for (const unsigned n : {1u, 3u, 4u, 1023u, 1025u, 16383u, 40961u}) {
    for (const unsigned blocks : {1u, 3u}) {
      SCOPED_TRACE(testing::Message() << n << " words, " << blocks << " blocks");
      const auto in = input<float>(n);
      const auto sums = output<float>(blocks), of_last = output<float>(blocks),
                 of_atomic = output<float>(blocks);
      const auto out = output<float>(2);
      const DeviceBuffer<unsigned> ticket(1);
      CUDA_CHECK(cudaMemset(ticket.data(), 0, ticket.bytes()));
      CUDA_CHECK(cudaMemset(out.data(), 0, out.bytes()));
      const ExpectedStriding<Words> expected{values<float>, n, blocks};
      launch(grid_stride, blocks, threads, 0, nullptr, in.data(), sums.data(), n);
      expect_elements(sums, expected);
      // Twice: the ticket has to be put back.
      for (int run = 0; run < 2; ++run) {
        launch(last_block, blocks, threads, 0, nullptr, in.data(), of_last.data(), out.data(),
               ticket.data(), n);
      }
      expect_elements(of_last, expected);
      launch(atomic_sums, blocks, threads, 0, nullptr, in.data(), of_atomic.data(), out.data() + 1,
             n);
      expect_elements(of_atomic, expected);
      EXPECT_EQ(out.download(), std::vector<float>(2, static_cast<float>(sum_of(n))));
      EXPECT_EQ(ticket.download()[0], 0u);
    }
  }
}

}  // namespace
}  // namespace gpubench
