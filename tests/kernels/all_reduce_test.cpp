// The two steps of the peer-to-peer all-reduce, at shapes where shares are uneven or empty.
#include "kernels/all_reduce.cuh"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <vector>

#include "tests/kernels/kernel_test.hpp"

namespace gpubench {
namespace {

using namespace all_reduce;

class AllReduceTest : public KernelTest {};

TEST_F(AllReduceTest, SumsAtRaggedSizes) {
  for (const unsigned ranks : {2u, 3u, 8u}) {
    for (const unsigned n : ragged_sizes) {
      std::vector<DeviceBuffer<float>> in, out;
      Peers<const float> from{{}, ranks}, sums{{}, ranks};
      for (unsigned r = 0; r < ranks; ++r) {
        in.emplace_back(n);
        fill_random(in.back().data(), n, Contribution<float>{r});
        out.push_back(output<float>(n));
        from.of[r] = in.back().data();
        sums.of[r] = out.back().data();
      }
      const unsigned blocks = (n / ranks + threads) / threads;
      for (unsigned r = 0; r < ranks; ++r) {
        launch(reduce_share<float>, blocks, threads, 0, nullptr, from, out[r].data(), n, r);
      }
      for (unsigned r = 0; r < ranks; ++r) {
        launch(fetch_shares<float>, dim3(blocks, ranks - 1), threads, 0, nullptr, sums,
               out[r].data(), n, r);
      }
      for (const auto& result : out) expect_elements(result, ExpectedSum<float>{ranks, 0});
      for (unsigned r = 0; r < ranks; ++r) {
        DeviceBuffer<float> at_once = output<float>(n);
        launch(reduce_all<float>, n / threads + 1, threads, 0, nullptr, from, at_once.data(), n, r);
        expect_elements(at_once, ExpectedSum<float>{ranks, 0});
      }
    }
  }
}

TEST_F(AllReduceTest, SharesCoverEverythingOnce) {
  for (const unsigned ranks : {1u, 2u, 3u, 8u}) {
    for (const std::size_t n : {0, 1, 7, 8, 127, 128, 129, 1009}) {
      std::size_t at = 0;
      for (unsigned r = 0; r < ranks; ++r) {
        const Share share = share_of(n, r, ranks);
        EXPECT_EQ(share.begin, at);
        EXPECT_LE(share.end - share.begin, (n + ranks - 1) / ranks);
        at = share.end;
      }
      EXPECT_EQ(at, n);
    }
  }
}

TEST_F(AllReduceTest, SumsOfContributionsAreExactInEveryDtype) {
  for (const auto& rank : {0u, 1u, 63u}) {
    for (std::size_t i = 0; i < 1000; ++i) {
      const float value = Contribution<float>{rank}(i);
      EXPECT_TRUE(value == 0 || value == 1 || value == 2 || value == 3);
    }
  }
  for (int sum = 0; sum <= 64 * 3; ++sum) {
    EXPECT_EQ(static_cast<float>(__nv_bfloat16(static_cast<float>(sum))), sum);
    EXPECT_EQ(static_cast<float>(__half(static_cast<float>(sum))), sum);
  }
}

TEST_F(AllReduceTest, OverlapIsBoundByWhicheverIsSlower) {
  EXPECT_DOUBLE_EQ(overlapped_seconds(10, 1, 5), 11);      // the wire keeps up
  EXPECT_DOUBLE_EQ(overlapped_seconds(10, 4, 5), 2 + 20);  // it falls behind
  EXPECT_DOUBLE_EQ(overlapped_seconds(10, 3, 1), 13);      // one bucket: nothing overlaps
}

TEST_F(AllReduceTest, WhatRunsBesideIsSlowedAsLongAsItDoes) {
  EXPECT_DOUBLE_EQ(beside_seconds(10, 4, 2), 4 + 8);  // 2 of 10 are done when the other ends
  EXPECT_DOUBLE_EQ(beside_seconds(10, 4, 1), 10);
  EXPECT_DOUBLE_EQ(beside_seconds(3, 10, 2), 10);  // the other ends last
}

TEST_F(AllReduceTest, FactorsAreNcclTests) {
  EXPECT_DOUBLE_EQ(all_reduce_factor(8), 1.75);
  EXPECT_DOUBLE_EQ(scatter_or_gather_factor(8), 0.875);
  EXPECT_DOUBLE_EQ(broadcast_factor(8), 1);
}

}  // namespace
}  // namespace gpubench
