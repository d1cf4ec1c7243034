#include "harness/cuda/residency.hpp"
#include "tests/kernels/occupancy_runs.hpp"

namespace gpubench {
namespace {

using namespace occupancy;

class OccupancyKernels : public OccupancyRuns {
 protected:
  template <unsigned unroll>
  void copy_of(std::size_t n, unsigned block) {
    SCOPED_TRACE(testing::Message() << n << " elements, blocks of " << block);
    const auto in = input<float>(n);
    const auto out = output<float>(n);
    const std::size_t of_block = std::size_t{block} * elements_a_thread;
    launch(occupancy::copy<unroll>, static_cast<unsigned>((n + of_block - 1) / of_block), block, 0,
           nullptr, in.data(), out.data(), n);
    expect_elements(out, values<float>);
  }
};

TEST_F(OccupancyKernels, CopiesOfAnyLength) {
  for (const unsigned n : {1u, 127u, 128u, 129u, 8191u, 8192u, 8193u, 10007u}) {
    for (const unsigned block : {32u, 128u, 1024u}) {
      copy_of<1>(n, block);
      copy_of<2>(n, block);
      copy_of<8>(n, block);
    }
  }
}

TEST_F(OccupancyKernels, ChainsOfAnyNumberOfThreads) {
  for (const unsigned n : {1u, 33u, 127u, 129u, 509u}) {
    chains_of(fma<1>, n, 32, {1, fma_steps});
    chains_of(fma<2>, n, 128, {2, fma_steps});
    chains_of(fma<4>, n, 128, {4, fma_steps});
    chains_of(fma<8>, n, 128, {8, fma_steps});
  }
  chains_of(capped<16, 1>, 257, capped_threads, {16, capped_steps});
  chains_of(capped<192, 4>, 257, capped_threads, {192, capped_steps});
}

TEST_F(OccupancyKernels, BlocksOfAWave) {
  const auto out = output<float>(2 * wave_threads);
  launch(wave, 2, wave_threads, shared_bytes_for(1), nullptr, out.data());
  expect_elements(out, ExpectedChains{wave_ilp, wave_steps});
}

TEST_F(OccupancyKernels, TheLastWaveCostsAWholeOne) {
  EXPECT_DOUBLE_EQ(wave_efficiency(132, 132), 1);
  EXPECT_DOUBLE_EQ(wave_efficiency(133, 132), 133.0 / 264);
  EXPECT_DOUBLE_EQ(wave_efficiency(1, 132), 1.0 / 132);
}

TEST_F(OccupancyKernels, DynamicSharedMemoryLimitsResidentBlocks) {
  const auto most_threads =
                 static_cast<unsigned>(device_attribute(cudaDevAttrMaxThreadsPerMultiProcessor)),
             most_blocks =
                 static_cast<unsigned>(device_attribute(cudaDevAttrMaxBlocksPerMultiprocessor));
  for (const unsigned block : {32u, 64u, 128u, 256u, 512u, 1024u}) {
    for (const unsigned blocks : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 10u, 12u, 15u, 16u, 32u}) {
      if (blocks * block > most_threads || blocks > most_blocks) break;
      const Residency found = residency(occupancy::copy<1>, block, shared_bytes_for(blocks));
      EXPECT_EQ(found.blocks, blocks) << block;
      EXPECT_DOUBLE_EQ(found.occupancy, blocks * block / static_cast<double>(most_threads));
    }
  }
}

}  // namespace
}  // namespace gpubench
