#include "kernels/normalization.cuh"

#include "tests/kernels/kernel_test.hpp"

namespace gpubench {
namespace {

using namespace normalization;

class NormalizationCounts : public KernelTest {
 protected:
  double read_bytes() const { return counts().at(model::Space::global, model::Access::load).bytes; }
};

TEST_F(NormalizationCounts, LooksAreWhatTheLawCounts) {
  constexpr unsigned packs = 64, rows = 8;
  constexpr double matrix = packs * rows * 16;
  const Rows numbers{3, packs * 4};
  const DeviceBuffer<float> in(rows * packs * 4), out(rows * packs * 4);
  fill_random(in.data(), in.size(), numbers);
  const Shape shape = shape_of(packs);
  const auto looks = [&](auto* kernel) {
    launch(kernel, rows / shape.rows_a_block, dim3(shape.lanes, shape.rows_a_block), 0, nullptr,
           in.data(), out.data(), packs, rows);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess) << diagnostic;
    return read_bytes() / matrix;
  };
  EXPECT_EQ(looks(again<float, Softmax, false>), 3);
  EXPECT_EQ(looks(again<float, Softmax, true>), 2);
  EXPECT_EQ(looks(registers<float, Softmax, few_packs>), 1);
  EXPECT_EQ(looks(again<float, LayerNorm, false>), 3);
  EXPECT_NEAR(looks(again<float, LayerNorm, true>), 2, 0.3);  // every lane reads the first number
  EXPECT_EQ(looks(again<float, RmsNorm, false>), 2);
}

}  // namespace
}  // namespace gpubench
