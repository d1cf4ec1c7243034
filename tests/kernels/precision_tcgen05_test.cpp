// Products with block scales by tcgen05: steps that go round the stages, tiles that take turns in
// tensor memory, and every scale another one than its neighbours.
#include "harness/bench/precision/tcgen05_row.hpp"
#include "tests/kernels/kernel_test.hpp"

namespace gpubench {
namespace {

using namespace precision;

class PrecisionOwnKernels : public KernelTest {
 protected:
  // `most`: blocks or pairs.
  template <GemmType type, class Format, unsigned blocks>
  void expect_product(std::size_t m, std::size_t n, std::size_t k, unsigned most) {
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
    using Product = Tcgen05Product<Format, blocks>;
    Product{m, n, k, unscale}.queue(nullptr, a.data(), b.data(), scales_a.data(), scales_b.data(),
                                    d.data(), most);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess) << diagnostic;
    EXPECT_EQ(check_written_tiles(shape_of(type, m, n, k), d.data(), Held<Format>(of_a.fill),
                                  Held<Format>(of_b.fill), Product::tile_m, Product::tile_n),
              "");
  }
  // One step of a tile each for two blocks or pairs; and steps that go round the stages in three
  // tiles of one, the last of which has the columns of the first. Every element of up to four tiles
  // is compared.
  template <GemmType type, class Format, unsigned blocks>
  void expect_products() {
    constexpr std::size_t step = tcgen05_parts::Step<Format>::k, tile_m = 128 * blocks;
    expect_product<type, Format, blocks>(tile_m, 512, step, 2);
    expect_product<type, Format, blocks>(3 * tile_m, 256, (blocks + 1) * step, 1);
  }
};

TEST_F(PrecisionOwnKernels, Mxfp8ByTcgen05) {
  if (const std::string why = why_no_tcgen05(); !why.empty()) GTEST_SKIP() << why;
  expect_products<GemmType::mxfp8, Mxfp8, 1>();
}

TEST_F(PrecisionOwnKernels, Nvfp4ByTcgen05) {
  if (const std::string why = why_no_tcgen05(); !why.empty()) GTEST_SKIP() << why;
  expect_products<GemmType::nvfp4, Nvfp4, 1>();
}

TEST_F(PrecisionOwnKernels, Mxfp8OfPairsByTcgen05) {
  if (const std::string why = why_no_tcgen05(); !why.empty()) GTEST_SKIP() << why;
  expect_products<GemmType::mxfp8, Mxfp8, 2>();
}

TEST_F(PrecisionOwnKernels, Nvfp4OfPairsByTcgen05) {
  if (const std::string why = why_no_tcgen05(); !why.empty()) GTEST_SKIP() << why;
  expect_products<GemmType::nvfp4, Nvfp4, 2>();
}

}  // namespace
}  // namespace gpubench
