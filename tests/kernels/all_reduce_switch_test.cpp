// The all-reduce whose sums the switch takes, at shapes where shares are uneven or empty.
#include "kernels/all_reduce/in_switch.cuh"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "harness/cuda/multicast_memory.hpp"
#include "tests/kernels/kernel_test.hpp"

namespace gpubench {
namespace {

using namespace all_reduce;

class AllReduceSwitchTest : public KernelTest {
 protected:
  static constexpr int most_ranks = 8;
  AllReduceSwitchTest() : KernelTest(most_ranks) {}

  void SetUp() override {
    KernelTest::SetUp();
    if (IsSkipped()) return;
    if (const std::string why = too_old_for({9, 0}); !why.empty()) GTEST_SKIP() << why;
    const GpuRanks two(2, most_ranks);
    if (const std::string why = MulticastMemory::why_not(two); !why.empty()) GTEST_SKIP() << why;
  }

  // From n numbers of each rank, `add` must leave the sums on every rank: add(rank, the multicast
  // addresses of the numbers and of the sums, this rank's own numbers).
  template <class T, class Add>
  void expect_sums(int count, std::size_t n, int sums_begin_as, const Add& add) {
    SCOPED_TRACE(testing::Message() << count << " ranks, " << n << " numbers");
    const GpuRanks ranks(count, most_ranks);
    const MulticastMemory in(ranks, n * sizeof(T)), sums(ranks, n * sizeof(T));
    const auto in_of = [&](int i) { return static_cast<T*>(in.on(i)); };
    ranks.each([&](int i) {
      fill_random(in_of(i), n, Contribution<T>{static_cast<unsigned>(i)});
      set_memory(sums.on(i), sums_begin_as, sums.bytes());
    });
    ranks.each([&](int i) {
      add(i, static_cast<T*>(in.everywhere()), static_cast<T*>(sums.everywhere()), in_of(i));
    });
    ranks.each([&](int) { ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess) << diagnostic; });
    ranks.each([&](int i) {
      const auto rank = static_cast<unsigned>(i);
      const ExpectedSum<T> sum{static_cast<unsigned>(count), 0};
      const auto* const got = static_cast<const T*>(sums.on(i));
      EXPECT_EQ(check_elements(got, n, sum, 0, 0, false), "") << "rank " << i;
      EXPECT_EQ(check_elements(in_of(i), n, Contribution<T>{rank}, 0, 0, false), "")
          << "rank " << i;
    });
  }

  template <class T>
  void expect_sums_in_shares(int count, std::size_t operations) {
    const std::size_t n = operations * numbers_at_once<T>;
    const auto blocks =
        static_cast<unsigned>(operations / static_cast<unsigned>(count) / threads + 1);
    const auto add = [&](int i, T* in, T* sums, T*) {
      launch(add_in_switch<T>, blocks, threads, 0, nullptr, in, sums, n, static_cast<unsigned>(i),
             static_cast<unsigned>(count));
    };
    expect_sums<T>(count, n, poison_byte, add);
  }
  template <class T>
  void expect_sums_by_adding(int count, std::size_t operations) {
    const std::size_t n = operations * numbers_at_once<T>;
    const auto add = [&](int, T*, T* sums, T* own) {
      launch(add_to_all<T>, static_cast<unsigned>(operations / threads + 1), threads, 0, nullptr,
             own, sums, n);
    };
    expect_sums<T>(count, n, 0, add);
  }
};

constexpr std::size_t some_sizes[] = {1, 3, 255, 2053};  // in operations: fewer than ranks, ragged

TEST_F(AllReduceSwitchTest, EveryRankHandsOutItsShareOfTheSums) {
  for (const int ranks : {2, 3, most_ranks}) {
    for (const std::size_t operations : some_sizes) {
      expect_sums_in_shares<float>(ranks, operations);
      expect_sums_in_shares<__half>(ranks, operations);
      expect_sums_in_shares<__nv_bfloat16>(ranks, operations);
    }
  }
}

TEST_F(AllReduceSwitchTest, EveryRankAddsToTheSumsOfAll) {
  for (const int ranks : {2, 3, most_ranks}) {
    for (const std::size_t operations : some_sizes) {
      expect_sums_by_adding<float>(ranks, operations);
      expect_sums_by_adding<__half>(ranks, operations);
      expect_sums_by_adding<__nv_bfloat16>(ranks, operations);
    }
  }
}

TEST_F(AllReduceSwitchTest, TheLinkCarriesWhatTheSwitchNeeds) {
  EXPECT_DOUBLE_EQ(switch_factor(8), 1.125);
  EXPECT_DOUBLE_EQ(add_to_all_factor(8), 8);
  EXPECT_LT(switch_factor(8), all_reduce_factor(8));
}

}  // namespace
}  // namespace gpubench
