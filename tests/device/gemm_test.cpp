// cuBLASLt's results at ragged shapes, or on the model those of the operation in its place.
#include "harness/platform/gemm.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "tests/kernels/kernel_test.hpp"

namespace gpubench {
namespace {

class GemmOnDevice : public KernelTest {
 protected:
  // Why nothing of this type can be multiplied here; "" if it can.
  static std::string missing(GemmType type) {
    try {
      const Gemm gemm(GemmShape::dense(type, 64, 64, 64));
      return "";
    } catch (const GemmUnavailable& why) {
      return why.what();
    }
  }

  // Small whole numbers, of which every type holds products' sums exactly.
  template <class T>
  static std::vector<T> matrix(std::size_t elements, unsigned seed) {
    std::vector<T> values;
    for (std::size_t i = 0; i < std::max(elements, std::size_t{1}); ++i) {
      values.push_back(static_cast<T>(static_cast<float>((i * 7 + seed * 5) % 3) - 1));
    }
    return values;
  }

  // `scales`: of A and B, powers of two.
  template <class In, class Out>
  void expect_product(const GemmShape& s, bool tuned = false,
                      const std::vector<float>& scales = {}) {
    SCOPED_TRACE(testing::Message() << s.m << " x " << s.n << " x " << s.k);
    const std::vector<In> a = matrix<In>((s.a_is_k_by_m ? s.k : s.m) * s.lda, 1),
                          b = matrix<In>(s.b_elements(), 2);
    std::vector<Out> before(std::max(s.m * s.ldd, std::size_t{1}));
    std::memset(static_cast<void*>(before.data()), 0x11, before.size() * sizeof(Out));
    const DeviceBuffer<In> on_a{std::span<const In>(a)}, on_b{std::span<const In>(b)};
    const DeviceBuffer<Out> on_d{std::span<const Out>(before)};
    CUDA_CHECK(cudaDeviceSynchronize());  // tune() has a stream of its own
    Gemm gemm(s);
    if (tuned) gemm.tune(on_a.data(), on_b.data(), on_d.data());
    const DeviceBuffer<float> on_scales{std::span<const float>(scales)};
    GemmScales given;
    if (!scales.empty()) given = {on_scales.data(), on_scales.data() + 1};
    gemm.queue(nullptr, on_a.data(), on_b.data(), on_d.data(), given);
    const double scale = scales.empty() ? 1 : double{scales[0]} * double{scales[1]};
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess) << diagnostic;
    const std::vector<Out> d = on_d.download();
    for (std::size_t i = 0; i < d.size(); ++i) {
      const std::size_t row = i / std::max(s.ldd, std::size_t{1}), column = i - row * s.ldd;
      double want = static_cast<double>(before[i]);  // beyond a row's end
      if (row < s.m && column < s.n) {
        want = 0;
        for (std::size_t k = 0; k < s.k; ++k) {
          const In& of_b = b[s.b_is_k_by_n ? k * s.ldb + column : column * s.ldb + k];
          const In& of_a = a[s.a_is_k_by_m ? k * s.lda + row : row * s.lda + k];
          want += scale * static_cast<double>(of_a) * static_cast<double>(of_b);
        }
      }
      ASSERT_EQ(static_cast<double>(d[i]), want) << "element " << i;
    }
  }
};

TEST_F(GemmOnDevice, Bf16AtRaggedShapes) {
  if (const std::string why = missing(GemmType::bf16); !why.empty()) GTEST_SKIP() << why;
  for (const std::size_t size : {1u, 7u, 64u, 127u}) {
    expect_product<__nv_bfloat16, __nv_bfloat16>(GemmShape::dense(GemmType::bf16, size, 61, 33));
  }
}

TEST_F(GemmOnDevice, Fp16AtRaggedShapes) {
  if (const std::string why = missing(GemmType::fp16); !why.empty()) GTEST_SKIP() << why;
  for (const std::size_t size : {1u, 7u, 64u, 127u}) {
    expect_product<__half, __half>(GemmShape::dense(GemmType::fp16, 3, size, 129));
  }
  // What lies between rows is left alone.
  expect_product<__half, __half>({GemmType::fp16, 17, 19, 23, 24, 29, 21});
}

TEST_F(GemmOnDevice, Tf32AtRaggedShapes) {
  if (const std::string why = missing(GemmType::tf32); !why.empty()) GTEST_SKIP() << why;
  for (const std::size_t size : {1u, 7u, 64u, 127u}) {
    expect_product<float, float>(GemmShape::dense(GemmType::tf32, 31, 128, size));
  }
}

TEST_F(GemmOnDevice, Fp32AtRaggedShapes) {
  if (const std::string why = missing(GemmType::fp32); !why.empty()) GTEST_SKIP() << why;
  for (const std::size_t size : {1u, 7u, 64u, 127u}) {
    expect_product<float, float>(GemmShape::dense(GemmType::fp32, 31, size, 65));
    expect_product<float, float>(GemmShape::textbook(GemmType::fp32, 31, 129, size));
    expect_product<float, float>(GemmShape::textbook(GemmType::fp32, 31, size, 61));
  }
}

TEST_F(GemmOnDevice, SumsOverTheRowsOfBothOperands) {
  if (const std::string why = missing(GemmType::fp32); !why.empty()) GTEST_SKIP() << why;
  for (const std::size_t size : {1u, 7u, 64u, 127u}) {
    expect_product<float, float>(GemmShape::over_rows(GemmType::fp32, 31, size, 65));
    expect_product<float, float>(GemmShape::over_rows(GemmType::fp32, size, 33, 61));
  }
}

TEST_F(GemmOnDevice, AlgorithmsThatWereTimedMultiplyToo) {
  for (const GemmType type : {GemmType::fp32, GemmType::tf32}) {
    if (const std::string why = missing(type); !why.empty()) GTEST_SKIP() << why;
    expect_product<float, float>(GemmShape::dense(type, 129, 61, 33), true);
    expect_product<float, float>(GemmShape::textbook(type, 128, 64, 96), true);
  }
}

TEST_F(GemmOnDevice, Fp8) {
  if (const std::string why = missing(GemmType::fp8); !why.empty()) GTEST_SKIP() << why;
  // On an H100, cuBLASLt 13.0 names an algorithm for 5 x 32 x 48, and then refuses to run it.
  expect_product<__nv_fp8_e4m3, __nv_bfloat16>(GemmShape::dense(GemmType::fp8, 5, 64, 128));
  expect_product<__nv_fp8_e4m3, __nv_bfloat16>(GemmShape::dense(GemmType::fp8, 80, 128, 256));
  const GemmShape small = GemmShape::dense(GemmType::fp8, 16, 64, 128);
  expect_product<__nv_fp8_e4m3, __nv_bfloat16>(small, false, {0.5f, 8});
}

TEST_F(GemmOnDevice, Int8) {
  if (const std::string why = missing(GemmType::int8); !why.empty()) GTEST_SKIP() << why;
  expect_product<std::int8_t, std::int32_t>(GemmShape::dense(GemmType::int8, 5, 20, 44));
  expect_product<std::int8_t, std::int32_t>(GemmShape::dense(GemmType::int8, 80, 48, 112));
}

TEST_F(GemmOnDevice, ABatchIsSoManyProducts) {
  if (const std::string why = missing(GemmType::bf16); !why.empty()) GTEST_SKIP() << why;
  // Two of 3 x 8 by 5 x 8, with a gap between the matrices of each operand.
  const GemmShape s = GemmShape::dense(GemmType::bf16, 3, 5, 8);
  const GemmBatch batch{2, 32, 48, 20};
  const auto a = matrix<__nv_bfloat16>(batch.count * batch.a, 1),
             b = matrix<__nv_bfloat16>(batch.count * batch.b, 2);
  const DeviceBuffer<__nv_bfloat16> on_a{std::span<const __nv_bfloat16>(a)},
      on_b{std::span<const __nv_bfloat16>(b)}, on_d(batch.count * batch.d);
  const Gemm gemm(s, batch);
  gemm.queue(nullptr, on_a.data(), on_b.data(), on_d.data());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess) << diagnostic;
  const auto d = on_d.download();
  for (std::size_t i = 0; i < batch.count; ++i) {
    for (std::size_t at = 0; at < s.m * s.n; ++at) {
      float want = 0;
      for (std::size_t k = 0; k < s.k; ++k) {
        want += static_cast<float>(a[i * batch.a + at / s.n * s.k + k]) *
                static_cast<float>(b[i * batch.b + at % s.n * s.k + k]);
      }
      EXPECT_EQ(static_cast<float>(d[i * batch.d + at]), want) << i << ", " << at;
    }
  }
}

TEST_F(GemmOnDevice, AnEmptySumIsZeroAndAnEmptyResultNothing) {
  if (const std::string why = missing(GemmType::tf32); !why.empty()) GTEST_SKIP() << why;
  expect_product<float, float>({GemmType::tf32, 4, 8, 0, 4, 4, 8});
  expect_product<float, float>(GemmShape::dense(GemmType::tf32, 0, 8, 8));
  expect_product<float, float>(GemmShape::dense(GemmType::tf32, 8, 0, 8));
}

}  // namespace
}  // namespace gpubench
