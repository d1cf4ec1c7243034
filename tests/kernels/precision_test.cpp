// The own kernels at ragged shapes, and that an error other than the dtype's is found.
#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "harness/bench/precision/library_loss.hpp"
#include "harness/bench/precision/product_error.hpp"
#include "harness/platform/gemm.hpp"
#include "tests/kernels/precision_runs.hpp"

namespace gpubench {
namespace {

using namespace precision;

class Precision : public PrecisionRuns {
 protected:
  // The error of a product in bf16 whose operands `round` has made.
  template <class Round>
  double error_of(Round round) {
    constexpr std::size_t m = 32, n = 16, k = 1024;
    const Values a{Contents::uniform, 1, k}, b{Contents::uniform, 2, k};
    GemmShape shape = GemmShape::dense(GemmType::bf16, m, n, k);
    shape.fp32_result = true;
    std::vector<__nv_bfloat16> of_a, of_b;
    for (std::size_t i = 0; i < m * k; ++i) of_a.push_back(round(a(i)));
    for (std::size_t i = 0; i < n * k; ++i) of_b.push_back(round(b(i)));
    const DeviceBuffer<__nv_bfloat16> on_a{std::span<const __nv_bfloat16>(of_a)},
        on_b{std::span<const __nv_bfloat16>(of_b)};
    const auto d = output<float>(m * n);
    Gemm(shape).queue(nullptr, on_a.data(), on_b.data(), d.data());
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess) << diagnostic;
    std::vector<double> got;
    for (const float element : d.download()) got.push_back(element);
    return relative_error(ProductSample{k, m, n}, got, a, b);
  }
  static bool found(double error, const Loss& loss) {
    return !judge_error(error, loss.operands, loss.sums, loss.operands_at_most).empty();
  }
};

TEST_F(Precision, PartsOfBf16AddUpToTheNumber) {
  for (const auto& [rows, k] : {std::pair<std::size_t, unsigned>{1, 4}, {3, 100}, {61, 36}}) {
    const auto parts = split_rows<float, __nv_bfloat16, 3, false>(rows, k);
    const auto turned = split_rows<float, __nv_bfloat16, 3, true>(rows, k);
    for (std::size_t i = 0; i < rows * k; ++i) {
      const auto x = static_cast<float>(numbers(k)(i));
      double sum = 0;
      for (std::size_t p = 0; p < 3; ++p) {
        const auto part = static_cast<float>(parts[i / k * 3 * k + p * k + i % k]);
        EXPECT_EQ(static_cast<float>(turned[i / k * 3 * k + (2 - p) * k + i % k]), part);
        sum += part;
      }
      EXPECT_NEAR(sum, x, std::abs(x) * 0x1p-24) << i;
      EXPECT_EQ(static_cast<float>(parts[i / k * 3 * k + i % k]),
                static_cast<float>(static_cast<__nv_bfloat16>(x)));
    }
  }
}

TEST_F(Precision, PartsOfInt8HaveSevenBits) {
  constexpr unsigned k = 100;
  const auto parts = split_rows<double, std::int8_t, 8, false>(7, k);
  for (std::size_t i = 0; i < 7 * k; ++i) {
    double sum = 0;
    for (unsigned p = 0; p < 8; ++p) {
      const int part = parts[i / k * 8 * k + p * k + i % k];
      EXPECT_LE(std::abs(part), 64);
      sum += std::ldexp(part, -6 - 7 * static_cast<int>(p));
    }
    EXPECT_NEAR(sum, numbers(k)(i), 0x1p-54) << i;
  }
}

// What a kernel fills or compares with is no local type.
struct SumsOfParts {
  __host__ __device__ std::int32_t operator()(std::size_t i) const {
    return static_cast<std::int32_t>(random_bits(1, i) >> 33);
  }
};
struct Combined {
  SumsOfParts sums;
  std::size_t elements;
  __host__ __device__ double operator()(std::size_t i) const {
    return (sums(i) + (sums(i + elements) + sums(i + 2 * elements) * 0x1p-7) * 0x1p-7) * 0x1p-12;
  }
};

TEST_F(Precision, CombinesTheSmallestFirst) {
  constexpr std::size_t elements = 4 * 129;
  const DeviceBuffer<std::int32_t> sums(3 * elements);
  fill_random(sums.data(), sums.size(), SumsOfParts{});
  const auto d = output<double>(elements);
  launch(combine<std::int32_t, double, 3>, blocks_of(elements, split_threads * split_each),
         split_threads, 0, nullptr, sums.data(), d.data(), elements, 0x1p-7, 0x1p-12);
  expect_elements(d, Combined{{}, elements}, 0x1p-52);
}

TEST_F(Precision, SumsOfAnyNumberOfColumns) {
  for (const std::size_t columns : {1u, 31u, 257u}) {
    for (const unsigned n : {8u, 64u, 1024u}) {
      sums_of<Running<float>>(n, columns);
      sums_of<Running<__half>>(n, columns);
      sums_of<Running<__nv_bfloat16>>(n, columns);
      sums_of<Pairwise<float>>(n, columns);
      sums_of<Pairwise<__half>>(n, columns);
      sums_of<Pairwise<__nv_bfloat16>>(n, columns);
    }
  }
}

TEST_F(Precision, ARunningSumOfOnesInBf16StopsAt256) {
  constexpr unsigned n = 4096;
  const std::vector<float> ones(n, 1.0f);
  const DeviceBuffer<float> in{std::span<const float>(ones)};
  const auto out = output<float>(2);
  launch(sum_columns<Running<__nv_bfloat16>>, 1, sum_threads, 0, nullptr, in.data(), out.data(), n,
         std::size_t{1});
  launch(sum_columns<Pairwise<__nv_bfloat16>>, 1, sum_threads, 0, nullptr, in.data(),
         out.data() + 1, n, std::size_t{1});
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess) << diagnostic;
  EXPECT_EQ(out.download(), (std::vector<float>{256, n}));
}

TEST_F(Precision, CastsOfAnyLength) {
  for (const std::size_t n : {8u, 264u, 2048u, 4104u}) {
    for (const float scale : {1.0f, 1024.0f}) {
      cast_of<__half>(n, scale);
      cast_of<__nv_bfloat16>(n, scale);
    }
  }
}

TEST_F(Precision, AWrongRoundingIsFound) {
  if (const std::string why = too_old_for({8, 0}); !why.empty()) GTEST_SKIP() << why;
  const double step = gemm_step(GemmType::bf16, compute_capability());
  const Loss loss = library_loss(GemmType::bf16, Contents::uniform, 1024, step);
  const double nearest = error_of([](double x) { return static_cast<__nv_bfloat16>(x); });
  EXPECT_FALSE(found(nearest, loss)) << nearest;
  EXPECT_NEAR(nearest, loss.total(), 0.1 * loss.total());

  const double cut = error_of([](double x) {
    const auto near = static_cast<__nv_bfloat16>(x);
    const double below =
        std::ldexp(std::trunc(std::ldexp(x, 7 - std::ilogb(x))), std::ilogb(x) - 7);
    return x == 0 ? near : static_cast<__nv_bfloat16>(below);
  });
  EXPECT_TRUE(found(cut, loss)) << cut;
  const double fp8 = error_of([](double x) {
    return static_cast<__nv_bfloat16>(static_cast<float>(static_cast<__nv_fp8_e4m3>(x)));
  });
  EXPECT_TRUE(found(fp8, loss)) << fp8;
  // Operands that were not rounded at all: the row computes in another dtype than it says.
  EXPECT_TRUE(found(loss.operands / 8, loss));
}

TEST(PrecisionSample, IsNeverEmpty) {
  for (const std::size_t n : {std::size_t{8}, std::size_t{4096}, std::size_t{1} << 19}) {
    for (const std::size_t most_rows : {std::size_t{0}, std::size_t{64}}) {
      for (const std::size_t parts : {1u, 8u}) {
        const ProductSample sample = ProductSample::of(n, most_rows, parts);
        EXPECT_GE(sample.row_step(), 1u) << n;
        EXPECT_GE(sample.column_step(), 1u) << n;
        EXPECT_GE(sample.rows * sample.columns, 8u) << n;
      }
    }
  }
  EXPECT_EQ(ProductSample::of(8192, 64).rows * ProductSample::of(8192, 64).columns, 512u);
}

TEST_F(Precision, AnElementThatIsLeftOutIsFound) {
  constexpr std::size_t elements = 1000;
  std::vector<float> d(elements, 1.5f);
  const auto check = [&] {
    const DeviceBuffer<float> on_device{std::span<const float>(d)};
    gpubench::require_written(on_device.data(), elements);
  };
  EXPECT_NO_THROW(check());
  std::memset(&d[997], poison_byte, sizeof d[997]);
  EXPECT_THAT(check, testing::ThrowsMessage<std::runtime_error>(
                         "element 997 of the product was not written"));
}

// Some versions of the library may cut operands of tf32 off, but none has operands of bf16.
TEST(PrecisionLaws, Tf32IsRoundedOrCutOff) {
  const Loss loss = library_loss(GemmType::tf32, Contents::uniform, 1024, 4);
  const auto found = [&](double error) {
    return !judge_error(error, loss.operands, loss.sums, loss.operands_at_most).empty();
  };
  EXPECT_NEAR(loss.total(), std::sqrt(2.0 / 7) * u_tf32, 0.02 * u_tf32);
  EXPECT_FALSE(found(loss.total()));
  EXPECT_FALSE(found(cutting_loss_of_product(u_tf32)));
  EXPECT_TRUE(found(0.4 * loss.operands)) << "fp32";
  EXPECT_TRUE(found(std::sqrt(2.0 / 7) * u_bf16)) << "bf16";
}

TEST(PrecisionFormats, Fp4RoundsToNearestEven) {
  const double ties[] = {0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5};
  const unsigned even[] = {0, 2, 2, 4, 4, 6, 6};
  for (unsigned i = 0; i < 7; ++i) {
    EXPECT_EQ(fp4_of(ties[i]), even[i]) << ties[i];
    EXPECT_EQ(fp4_of(ties[i] - 0.01), i) << ties[i];
    EXPECT_EQ(fp4_of(ties[i] + 0.01), i + 1) << ties[i];
    EXPECT_EQ(fp4_of(-ties[i] - 0.01), 8 + i + 1) << ties[i];
  }
}

TEST(PrecisionFormats, EveryScaleHasItsPlace) {
  for (const auto& [rows, blocks] :
       {std::pair<std::size_t, std::size_t>{1, 1}, {130, 9}, {256, 4}}) {
    std::vector<bool> taken(scale_bytes(rows, blocks));
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t block = 0; block < blocks; ++block) {
        const std::size_t offset = scale_offset(row, block, blocks);
        ASSERT_LT(offset, taken.size());
        EXPECT_FALSE(taken[offset]);
        taken[offset] = true;
        const ScalePlace place = scale_place(offset, blocks);
        EXPECT_EQ(place.row, row);
        EXPECT_EQ(place.block, block);
      }
    }
  }
  // The order of cuBLAS's documentation: 32 rows, then the next 32 beside them; then four blocks
  // on.
  EXPECT_EQ(scale_offset(1, 0, 8), 16u);
  EXPECT_EQ(scale_offset(32, 0, 8), 4u);
  EXPECT_EQ(scale_offset(0, 3, 8), 3u);
  EXPECT_EQ(scale_offset(0, 4, 8), 512u);
  EXPECT_EQ(scale_offset(128, 0, 8), 1024u);
}

TEST(PrecisionLaws, AreTheirArithmetic) {
  EXPECT_NEAR(rounding_loss(1), 1 / std::sqrt(7.0), 1e-12);
  EXPECT_NEAR(rounding_loss(1, 2), rounding_loss(1), 1e-12);  // the next binade begins
  EXPECT_DOUBLE_EQ(flushed_share(-24, 0), 14.0 / 32);
  EXPECT_DOUBLE_EQ(flushed_share(-24, 10), 4.0 / 32);
  EXPECT_DOUBLE_EQ(flushed_share(-24, 20), 0);
  EXPECT_DOUBLE_EQ(running_sum_loss(u_bf16, 2048), 0.75);
}

}  // namespace
}  // namespace gpubench
