#include "kernels/async_copy.cuh"

#include "tests/kernels/kernel_test.hpp"

namespace gpubench {
namespace {

using namespace async_copy;

class AsyncCopyKernels : public KernelTest {
 protected:
  template <class... P, class... A>
  void sums_by(void (*kernel)(P...), unsigned vectors, unsigned stages, A... further) {
    SCOPED_TRACE(testing::Message() << stages << " stages of " << vectors << " vectors a thread");
    const auto in = input<float>(blocks * block_bytes / sizeof(float));
    const auto sums = output<float>(blocks * threads);
    const std::size_t shared = barrier_bytes + stages * vectors * row_bytes;
    allow_shared_bytes(kernel, shared);
    launch(kernel, blocks, threads, shared, nullptr, reinterpret_cast<const float4*>(in.data()),
           sums.data(), further...);
    expect_elements(sums, ExpectedSums<Generator<float>>{values<float>, vectors});
  }
  double waits() const {
    const auto& waits = emulator.runs().back().profile.waits;
    return (waits.load_groups + waits.copy_waits) / blocks;
  }
  static constexpr unsigned blocks = 2;
  static constexpr double tiles(unsigned vectors) { return block_bytes / (vectors * row_bytes); }
};

TEST_F(AsyncCopyKernels, EveryWayOfCopyingBringsTheSame) {
  sums_by(plain<1>, 1, 1);
  sums_by(plain<8>, 8, 1);
  for (const unsigned vectors : {1u, 8u}) {
    sums_by(cp_async<2>, vectors, 2, vectors);
    sums_by(cp_async<3>, vectors, 3, vectors);
    sums_by(cp_async<4>, vectors, 4, vectors);
  }
  for (unsigned stages = 2; stages <= most_stages; stages += 3) {
    sums_by(bulk, 8, stages, 8u, stages);
  }
}

TEST_F(AsyncCopyKernels, ATileIsWaitedForOnceByTheShareThatThoseUnderWayLeave) {
  sums_by(plain<2>, 2, 1);
  EXPECT_EQ(emulator.runs().back().profile.waits.load_groups / blocks, tiles(2));
  sums_by(cp_async<2>, 2, 2, 2u);
  EXPECT_NEAR(waits(), tiles(2), 1e-9);
  sums_by(cp_async<4>, 2, 4, 2u);
  EXPECT_NEAR(waits(), tiles(2) / 3, 1e-9);
  // The last copies too, behind which there are fewer: they were started as early as the others.
  for (const unsigned stages : {2u, 4u, 8u}) {
    sums_by(bulk, 2, stages, 2u, stages);
    EXPECT_NEAR(waits(), tiles(2) / (stages - 1), 1e-9) << stages;
  }
}

TEST_F(AsyncCopyKernels, ABulkCopyIsTheEnginesTraffic) {
  sums_by(bulk, 2, 4, 2u, 4u);
  const double sectors = blocks * block_bytes / 32.0;
  EXPECT_EQ(counts().bulk_loads.sectors, sectors);
  EXPECT_EQ(counts().at(model::Space::global, model::Access::load).requests, 0);
  EXPECT_EQ(counts().at(model::Space::shared, model::Access::store).wavefronts, sectors / 4);
  EXPECT_EQ(counts().bulk_stores, counts().at(model::Space::shared, model::Access::store).requests);
}

}  // namespace
}  // namespace gpubench
