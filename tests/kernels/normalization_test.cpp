#include "kernels/normalization.cuh"

#include <cuda_bf16.h>

#include "tests/kernels/kernel_test.hpp"

namespace gpubench {
namespace {

using namespace normalization;

class Normalization : public KernelTest {
 protected:
  template <class T, class Norm>
  void every_way(unsigned packs, unsigned rows) {
    SCOPED_TRACE(testing::Message()
                 << rows << " rows of " << packs << " packs of " << sizeof(T) << "-byte numbers");
    const std::size_t columns = std::size_t{packs} * Pack<T>::size, n = rows * columns;
    const Rows numbers{3, columns};
    const DeviceBuffer<T> in(n);
    fill_random(in.data(), n, numbers);
    const auto known = output<float2>(rows);
    const Shape shape = shape_of(packs);
    const dim3 block(shape.lanes, shape.rows_a_block);
    const unsigned blocks = (rows + shape.rows_a_block - 1) / shape.rows_a_block;
    const Expected<Norm> expected(numbers);
    const double relative = sizeof(T) == 2 ? 0x1p-8 : 1e-5, absolute = 1e-6;
    const auto expect = [&](const char* way, auto&& queue) {
      SCOPED_TRACE(way);
      const auto out = output<T>(n);
      queue(out.data());
      ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess) << diagnostic;
      EXPECT_EQ(check_elements(out.data(), n, expected, relative, absolute, false), "");
    };
    const auto run = [&](auto* kernel, auto... arguments) {
      launch(kernel, blocks, block, 0, nullptr, arguments..., packs, rows);
    };
    expect("kernels", [&](T* out) {
      run(look<T, Norm, 0>, in.data(), known.data());
      if constexpr (Norm::passes > 1) run(look<T, Norm, 1>, in.data(), known.data());
      run(write<T, Norm>, in.data(), known.data(), out);
    });
    expect("passes", [&](T* out) { run(again<T, Norm, false>, in.data(), out); });
    expect("online", [&](T* out) { run(again<T, Norm, true>, in.data(), out); });
    expect("registers", [&](T* out) { run(registers<T, Norm, most_packs>, in.data(), out); });
  }
  template <class T>
  void every_norm(unsigned packs, unsigned rows) {
    every_way<T, Softmax>(packs, rows);
    every_way<T, LayerNorm>(packs, rows);
    every_way<T, RmsNorm>(packs, rows);
  }
  double read_bytes() const { return counts().at(model::Space::global, model::Access::load).bytes; }
};

TEST_F(Normalization, EveryWayAgreesWithTheReferenceAtEveryShape) {
  for (const unsigned packs : {1u, 31u, 32u, 33u, 129u, 255u, 509u}) {
    for (const unsigned rows : {1u, 7u, 9u}) {
      every_norm<float>(packs, rows);
      every_norm<__nv_bfloat16>(packs, rows);
    }
  }
  every_norm<__nv_bfloat16>(8192, 2);  // the longest rows, eight packs a thread
}

TEST_F(Normalization, LooksAreWhatTheLawCounts) {
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

TEST(NormalizationRows, DifferByAShiftAndByWhereTheyBegin) {
  const Rows rows{3, 1000};
  const Reference reference(rows);
  for (std::size_t row = 0; row < 6; ++row) {
    double mean = 0, maximum = -1e9;
    for (std::size_t j = 0; j < 1000; ++j) {
      const double x = rows(row * 1000 + j);
      EXPECT_EQ(x, static_cast<float>(__nv_bfloat16(static_cast<float>(x))));
      mean += x / 1000;
      maximum = std::max(maximum, x);
    }
    EXPECT_NEAR(mean, reference.mean + Rows::shift(row), 1e-9);
    EXPECT_EQ(maximum, reference.maximum + Rows::shift(row));
  }
  EXPECT_NE(rows(0), rows(4000));
}

}  // namespace
}  // namespace gpubench
