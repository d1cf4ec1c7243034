// Products with block scales by tcgen05: steps that go round the stages, tiles that take turns in
// tensor memory, and every scale another one than its neighbours.
#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/bench/precision/tcgen05_row.hpp"
#include "tests/kernels/kernel_test.hpp"

namespace gpubench {
namespace {

using namespace precision;

class PrecisionOwnKernels : public KernelTest {
 protected:
  // What a format makes of a matrix.
  template <class Format>
  static std::vector<double> held(const Matrix<Format>& matrix) {
    const Held<Format> element(matrix.fill);
    std::vector<double> all(matrix.rows * matrix.fill.values.k);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = element(i);
    return all;
  }

  template <GemmType type, class Format>
  void expect_product(std::size_t m, std::size_t n, std::size_t k, unsigned blocks) {
    SCOPED_TRACE(testing::Message() << m << " x " << n << " x " << k);
    const Matrix<Format> of_a{{{Contents::outliers, 1, k}}, m, type};
    const Matrix<Format> of_b{{{Contents::outliers, 2, k}}, n, type};
    const DeviceBuffer<typename Matrix<Format>::Element> a(of_a.elements()), b(of_b.elements());
    const DeviceBuffer<std::uint8_t> scales_a(of_a.scales()), scales_b(of_b.scales());
    fill_random(a.data(), a.size(), of_a.fill);
    fill_random(b.data(), b.size(), of_b.fill);
    fill_random(scales_a.data(), scales_a.size(), of_a.scale_values());
    fill_random(scales_b.data(), scales_b.size(), of_b.scale_values());
    const auto d = output<float>(m * n);
    const auto unscale = static_cast<float>(of_a.fill.unscale() * of_b.fill.unscale());
    Tcgen05Product<Format>{m, n, k, unscale}.queue(nullptr, a.data(), b.data(), scales_a.data(),
                                                   scales_b.data(), d.data(), blocks);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess) << diagnostic;
    const std::vector<float> all = d.download();
    const std::vector<double> got(all.begin(), all.end());
    const std::vector<double> left = held(of_a), right = held(of_b);
    const GemmTolerance tolerance = gemm_tolerance<float>(shape_of(type, m, n, k));
    for (std::size_t i = 0; i < got.size(); ++i) {
      double want = 0, magnitudes = 0;
      for (std::size_t j = 0; j < k; ++j) {
        const double product = left[i / n * k + j] * right[i % n * k + j];
        want += product;
        magnitudes = std::max(magnitudes, std::abs(product));
      }
      const double off = std::max(magnitudes, 1.0) * tolerance.absolute;
      ASSERT_TRUE(is_right(got[i], want, tolerance.relative, off))
          << describe_wrong(i, got[i], want);
    }
  }
  // One step of a tile each for two blocks; and steps that go round the stages in three
  // tiles of one block, the last of which has the columns of the first.
  template <GemmType type, class Format>
  void expect_products() {
    constexpr std::size_t step = tcgen05_parts::Step<Format>::k;
    expect_product<type, Format>(128, 512, step, 2);
    expect_product<type, Format>(384, 256, 2 * step, 1);
  }
};

TEST_F(PrecisionOwnKernels, Mxfp8ByTcgen05) {
  if (const std::string why = why_no_tcgen05(); !why.empty()) GTEST_SKIP() << why;
  expect_products<GemmType::mxfp8, Mxfp8>();
}

TEST_F(PrecisionOwnKernels, Nvfp4ByTcgen05) {
  if (const std::string why = why_no_tcgen05(); !why.empty()) GTEST_SKIP() << why;
  expect_products<GemmType::nvfp4, Nvfp4>();
}

}  // namespace
}  // namespace gpubench
