#include "kernels/atomics.cuh"

#include "tests/kernels/kernel_test.hpp"

namespace gpubench {
namespace {

using namespace atomics;

class Atomics : public KernelTest {
 protected:
  template <bool privatised>
  void count(unsigned n, unsigned bins, unsigned blocks) {
    SCOPED_TRACE(testing::Message() << n << " keys, " << bins << " bins");
    const auto keys = input<unsigned>(n);
    const DeviceBuffer<unsigned> found(bins);
    CUDA_CHECK(cudaMemset(found.data(), 0, found.bytes()));
    launch(histogram<privatised>, blocks, threads, 0, nullptr, keys.data(), found.data(), bins, n);
    expect_elements(found, ExpectedCount<Generator<unsigned>>{values<unsigned>, bins, n});
  }
};

TEST_F(Atomics, EveryKeyIsCountedOnce) {
  for (const unsigned n : ragged_sizes) {
    for (const unsigned bins : {1u, 2u, 64u, 512u, most_bins}) {
      count<false>(n, bins, 3);
      count<true>(n, bins, 3);
    }
  }
}

TEST_F(Atomics, OwnBinsKeepKeysOutOfGlobalMemory) {
  using model::Access;
  using model::Space;
  constexpr unsigned n = 3 * threads * 8;
  count<false>(n, 16, 3);
  EXPECT_EQ(counts().at(Space::global, Access::atomic).lanes, n);
  count<true>(n, 16, 3);
  EXPECT_EQ(counts().at(Space::shared, Access::atomic).lanes, n);
  EXPECT_EQ(counts().at(Space::global, Access::atomic).lanes, 3 * 16);
}

}  // namespace
}  // namespace gpubench
