#include "kernels/registers.cuh"

#include "tests/kernels/kernel_test.hpp"

namespace gpubench {
namespace {

class RegistersKernels : public KernelTest {
 protected:
  template <unsigned edge, unsigned blocks>
  void tiles_of(std::size_t n) {
    SCOPED_TRACE(testing::Message() << n << " tiles of " << edge);
    const auto out = output<float>(n);
    const auto grid = static_cast<unsigned>((n + registers::threads - 1) / registers::threads);
    launch(registers::tile<edge, blocks>, grid, registers::threads, 0, nullptr, out.data(), n);
    expect_elements(out, registers::ExpectedTile{edge});
  }
};

TEST_F(RegistersKernels, TilesOfAnyNumberOfThreads) {
  for (const unsigned n : ragged_sizes) tiles_of<1, 1>(n);
  for (const unsigned n : {1u, 65u, 509u}) {
    tiles_of<2, 1>(n);
    tiles_of<8, 16>(n);
  }
  tiles_of<16, 16>(65);
}

template <unsigned edge>
double loads_of_a_step(const model::Counts& counts) {
  EXPECT_EQ(counts.at(model::Space::shared, model::Access::load).wavefronts,
            counts.at(model::Space::shared, model::Access::load).requests);
  return counts.at(model::Space::shared, model::Access::load).requests /
         (registers::threads / registers::warp * registers::steps);
}

TEST_F(RegistersKernels, LoadsGrowWithTheEdgeAndMultiplyAddsWithItsSquare) {
  tiles_of<1, 1>(registers::threads);
  EXPECT_EQ(loads_of_a_step<1>(counts()), 2);
  tiles_of<4, 1>(registers::threads);
  EXPECT_EQ(loads_of_a_step<4>(counts()), registers::loads_a_step(4));
  EXPECT_EQ(counts().fma_fp32, 16.0 * registers::threads * registers::steps);
}

}  // namespace
}  // namespace gpubench
