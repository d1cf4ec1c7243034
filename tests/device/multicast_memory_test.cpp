// Memory that one address reaches on several GPUs: how it is had, and given back.
#include "harness/cuda/multicast_memory.hpp"

#include <vector>

#include "harness/bench/multimem.hpp"
#include "tests/kernels/kernel_test.hpp"

namespace gpubench {
namespace {

class MulticastMemoryTest : public KernelTest {
 protected:
  MulticastMemoryTest() : KernelTest(2) {}

  static std::size_t free_bytes() {
    std::size_t free = 0, total = 0;
    CUDA_CHECK(cudaMemGetInfo(&free, &total));
    return free;
  }
};

TEST_F(MulticastMemoryTest, EachGpuHasItsOwnAndAllAreGivenBack) {
  const GpuRanks ranks(2, 2);
  if (const std::string why = why_no_multimem(ranks); !why.empty()) GTEST_SKIP() << why;
  { const MulticastMemory first(ranks, 100); }  // what the driver keeps for itself
  const std::size_t before = free_bytes();
  for (int times = 0; times < 3; ++times) {
    const MulticastMemory on_both(ranks, 100);
    EXPECT_LT(free_bytes(), before);
    ranks.each([&](int i) {
      CUDA_CHECK(cudaMemset(on_both.on(i), i + 1, 3));
      CUDA_CHECK(cudaDeviceSynchronize());
    });
    ranks.each([&](int i) {
      std::vector<unsigned char> got(3);
      CUDA_CHECK(cudaMemcpy(got.data(), on_both.on(i), got.size(), cudaMemcpyDeviceToHost));
      EXPECT_EQ(got, std::vector<unsigned char>(3, static_cast<unsigned char>(i + 1)));
    });
    EXPECT_NE(on_both.everywhere(), on_both.on(0));
  }
  EXPECT_EQ(free_bytes(), before);
}

TEST(MulticastMemorySizes, AreMultiplesOfWhatEachGpuAndTheObjectAskFor) {
  EXPECT_EQ(rounded_to_all(1, {4, 6}), 12U);
  EXPECT_EQ(rounded_to_all(12, {4, 6}), 12U);
  EXPECT_EQ(rounded_to_all(13, {2, 8, 2}), 16U);
}

TEST_F(MulticastMemoryTest, OneGpuHasNobodyToShareItWith) {
  EXPECT_EQ(MulticastMemory::why_not(GpuRanks(1, 2)),
            "a multicast object of one GPU reaches no other");
}

}  // namespace
}  // namespace gpubench
