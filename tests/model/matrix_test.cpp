// Matrix multiplications by a warp, against sums in double.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "tests/model/emulator_fixture.hpp"
#include "tests/model/matrix_kernels.hpp"

namespace gpubench::model {
namespace {

class MatrixTest : public EmulatorTest {
 protected:
  // In (-2, 2), of more digits than any of the types holds.
  template <class T>
  std::vector<T> random(std::size_t count) {
    std::uniform_real_distribution<float> numbers(-2, 2);
    std::vector<T> values;
    for (std::size_t i = 0; i < count; ++i) {
      float x = numbers(random_);
      if constexpr (std::is_same_v<T, float>) {
        x = std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & ~0x1fffu);  // tf32
      }
      values.push_back(x);
    }
    return values;
  }

  // d = a * b + c(row, column), each element within the `roundings` that its sum went through.
  template <class T, class C>
  static void expect_product(const std::vector<float>& d, const std::vector<T>& a,
                             const std::vector<T>& b, C&& c, unsigned columns, unsigned depth,
                             kernels::Layouts layouts, unsigned roundings) {
    for (unsigned row = 0; row < 16; ++row) {
      for (unsigned column = 0; column < columns; ++column) {
        double sum = c(row, column), size = std::abs(sum);
        for (unsigned k = 0; k < depth; ++k) {
          const float x = a[layouts.a_by_rows ? row * depth + k : k * 16 + row];
          const float y = b[layouts.b_by_rows ? k * columns + column : column * depth + k];
          sum += double{x} * double{y};
          size += std::abs(double{x} * double{y});
        }
        const float got = d[layouts.d_by_rows ? row * columns + column : column * 16 + row];
        ASSERT_NEAR(got, sum, roundings * size * 0x1p-24) << row << ", " << column;
      }
    }
  }

  template <class T>
  void expect_wmma(Tensor type, unsigned step, double joined_bytes, double single_bytes) {
    constexpr unsigned depth = 48;
    const auto a = random<T>(16 * depth), b = random<T>(16 * depth);
    const T *from_a = upload(a), *from_b = upload(b);
    float* to = make<float>(256);
    for (unsigned which = 0; which < 8; ++which) {
      const kernels::Layouts layouts{(which & 1) != 0, (which & 2) != 0, (which & 4) != 0};
      const Counts counts =
          counts_of([&] { kernels::multiply_by_wmma(layouts, to, from_a, from_b, depth); });
      expect_product(
          download(to, 256), a, b, [](auto...) { return 1.0; }, 16, depth, layouts, depth / step);
      for (std::size_t t = 0; t < tensor_types; ++t) {
        EXPECT_EQ(counts.tensor_flops[t],
                  t == static_cast<std::size_t>(type) ? 2 * 256 * depth : 0);
      }
      // An instruction for each half of the columns.
      EXPECT_EQ(counts.at(WarpOperation::matrices), 2 * depth / step);
      // Neighbours that share a register come by one access.
      const double bytes_a = layouts.a_by_rows ? joined_bytes : single_bytes;
      const double bytes_b = layouts.b_by_rows ? single_bytes : joined_bytes;
      const double matrix_bytes = 16.0 * depth * sizeof(T);
      const AccessCounts& loads = counts.at(Space::global, Access::load);
      EXPECT_EQ(loads.bytes, 2 * matrix_bytes);
      EXPECT_EQ(loads.requests, matrix_bytes / 32 / bytes_a + matrix_bytes / 32 / bytes_b);
      EXPECT_EQ(counts.at(Space::global, Access::store).requests, layouts.d_by_rows ? 4 : 8);
    }
  }

  template <class T>
  void expect_mma(Tensor type, unsigned depth) {
    const auto a = random<T>(16 * depth), b = random<T>(8 * depth);
    const auto c = random<float>(128);
    const T *from_a = upload(a), *from_b = upload(b);
    const float* from_c = upload(c);
    float* to = make<float>(128);
    const Counts counts = counts_of([&] { kernels::multiply_by_mma(to, from_a, from_b, from_c); });
    expect_product(
        download(to, 128), a, b, [&](unsigned i, unsigned j) { return c[i * 8 + j]; }, 8, depth,
        {true, false, true}, 1);
    EXPECT_EQ(counts.tensor_flops[static_cast<std::size_t>(type)], 2 * 128 * depth);
    EXPECT_EQ(counts.at(WarpOperation::matrices), 1);
  }

 private:
  std::mt19937 random_{3};
};

TEST_F(MatrixTest, WmmaOfHalf) { expect_wmma<__half>(Tensor::fp16, 16, 4, 2); }
TEST_F(MatrixTest, WmmaOfBfloat16) { expect_wmma<__nv_bfloat16>(Tensor::bf16, 16, 4, 2); }
TEST_F(MatrixTest, WmmaOfTf32) { expect_wmma<float>(Tensor::tf32, 8, 4, 4); }

TEST_F(MatrixTest, MmaWithTheDocumentedFragments) {
  expect_mma<__half>(Tensor::fp16, 16);
  expect_mma<__nv_bfloat16>(Tensor::bf16, 16);
  expect_mma<float>(Tensor::tf32, 8);
}

TEST_F(MatrixTest, AccumulatorsAreLoadedAndStoredInEitherLayout) {
  for (const bool by_rows : {false, true}) {
    const std::vector<float> before = numbers(256);
    float* d = upload(before);
    const Counts counts = counts_of([&] { kernels::add_identity(by_rows, d); });
    const auto after = download(d, 256);
    for (unsigned i = 0; i < 256; ++i) EXPECT_EQ(after[i], before[i] + (i % 17 == 0 ? 1 : 0));
    const double requests = by_rows ? 4 : 8;  // of pairs, or of elements apart
    EXPECT_EQ(counts.at(Space::global, Access::load).requests, requests);
    EXPECT_EQ(counts.at(Space::global, Access::store).requests, requests);
  }
}

TEST_F(MatrixTest, LowBitsOfTf32AreIgnored) {
  std::vector<float> a(16 * 8, std::bit_cast<float>(0x3f801fffu)), b(8 * 8, 1), c(128, 0);
  const float *from_a = upload(a), *from_b = upload(b), *from_c = upload(c);
  float* to = make<float>(128);
  kernels::multiply_by_mma(to, from_a, from_b, from_c);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess) << diagnostic;
  EXPECT_EQ(download(to, 128), std::vector<float>(128, 8));
}

TEST_F(MatrixTest, RoundsToTf32WithTiesAway) {
  std::vector<float> in = numbers(32);
  const float one = 1, next = 1 + 0x1p-10f;
  in[0] = one + 0x1p-11f;
  in[1] = -(one + 0x1p-11f);
  in[2] = std::nextafter(one + 0x1p-11f, 0.0f);
  in[3] = INFINITY;
  in[4] = NAN;
  in[5] = next;
  const float* from = upload(in);
  float* to = make<float>(32);
  kernels::round_to_tf32(to, from);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess) << diagnostic;
  const auto out = download(to, 32);
  EXPECT_EQ(out[0], next);
  EXPECT_EQ(out[1], -next);
  EXPECT_EQ(out[2], one);
  EXPECT_EQ(out[3], INFINITY);
  EXPECT_TRUE(std::isnan(out[4]));
  EXPECT_EQ(out[5], next);
  for (unsigned i = 6; i < 32; ++i) EXPECT_EQ(out[i], in[i]);
}

TEST_F(MatrixTest, LdmatrixDistributesRowsAsDocumented) {
  std::vector<unsigned short> rows(256);
  for (unsigned i = 0; i < 256; ++i) rows[i] = static_cast<unsigned short>(i);
  const unsigned short* from = upload(rows);
  unsigned* to = make<unsigned>(128);
  for (const bool transposed : {false, true}) {
    const Counts counts = counts_of([&] { kernels::load_matrices(to, from, transposed); });
    const auto got = download(to, 128);
    for (unsigned matrix = 0; matrix < 4; ++matrix) {
      for (unsigned lane = 0; lane < 32; ++lane) {
        const unsigned g = lane / 4, t = lane % 4, begin = 64 * matrix;
        const unsigned low = begin + (transposed ? 2 * t * 8 + g : g * 8 + 2 * t);
        const unsigned high = low + (transposed ? 8 : 1);
        EXPECT_EQ(got[matrix * 32 + lane], low | high << 16) << transposed << ", lane " << lane;
      }
    }
    // 32 rows of 16 bytes behind one another: one request of four wavefronts.
    const AccessCounts& loads = counts.at(Space::shared, Access::load);
    EXPECT_EQ(loads.requests, 1);
    EXPECT_EQ(loads.wavefronts, 4);
    EXPECT_EQ(counts.at(WarpOperation::matrices), 0);
    EXPECT_EQ(counts.at(WarpOperation::shuffle), 0);
  }
}

TEST_F(MatrixTest, SeveralProductsOfOneMatrixAreSoManyInstructions) {
  const auto a = random<__nv_bfloat16>(256), b = random<__nv_bfloat16>(3 * 128);
  const __nv_bfloat16 *from_a = upload(a), *from_b = upload(b);
  float* to = make<float>(3 * 128);
  const Counts counts = counts_of([&] { kernels::multiply_three(to, from_a, from_b); });
  const auto d = download(to, 3 * 128);
  for (unsigned i = 0; i < 3; ++i) {
    expect_product(
        std::vector<float>(d.begin() + 128 * i, d.begin() + 128 * (i + 1)), a,
        std::vector<__nv_bfloat16>(b.begin() + 128 * i, b.begin() + 128 * (i + 1)),
        [](auto...) { return 0.0; }, 8, 16, {true, false, true}, 1);
  }
  EXPECT_EQ(counts.tensor_flops[static_cast<std::size_t>(Tensor::bf16)], 3 * 2 * 128 * 16);
  EXPECT_EQ(counts.at(WarpOperation::matrices), 3);
}

TEST_F(MatrixTest, LdmatrixTakesAWholeWarp) {
  const unsigned short* rows = upload(std::vector<unsigned short>(256));
  unsigned* to = make<unsigned>(128);
  const std::string fault = fault_of([&] { kernels::load_matrices(to, rows, false, 24); });
  EXPECT_NE(fault.find("ldmatrix by a warp of fewer than 32 threads"), std::string::npos) << fault;
}

TEST_F(MatrixTest, ItTakesAWholeWarp) {
  float* d = upload(numbers(256));
  const std::string fault = fault_of([&] { kernels::add_identity(true, d, 24); });
  EXPECT_NE(fault.find("matrix multiplication by a warp of fewer than 32 threads"),
            std::string::npos)
      << fault;
  EXPECT_NE(fault.find("matrix_kernels.cpp:"), std::string::npos) << fault;
}

}  // namespace
}  // namespace gpubench::model
