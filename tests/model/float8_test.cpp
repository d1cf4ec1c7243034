// The types of eight bits.
#include <gtest/gtest.h>

#include <cmath>

#include "harness/platform/model/include/cuda_bf16.h"
#include "harness/platform/model/include/cuda_fp16.h"
#include "harness/platform/model/include/cuda_fp8.h"

namespace gpubench::model {
namespace {

TEST(Float8, EveryEncodingRoundTrips) {
  for (unsigned bits = 0; bits < 256; ++bits) {
    __nv_fp8_e4m3 a;
    __nv_fp8_e5m2 b;
    a.__x = b.__x = static_cast<__nv_fp8_storage_t>(bits);
    const auto expect_same = [](auto x, auto finite) {
      using Type = decltype(x);
      const auto value = static_cast<float>(x);
      if (!finite(value)) return;
      EXPECT_EQ(Type(value).__x, x.__x);
      EXPECT_EQ(Type(static_cast<__half>(x)).__x, x.__x);
      EXPECT_EQ(Type(static_cast<__nv_bfloat16>(x)).__x, x.__x);
      EXPECT_EQ(Type(static_cast<double>(value)).__x, x.__x);
    };
    expect_same(a, [](float x) { return std::isfinite(x); });
    expect_same(b, [](float x) { return std::isfinite(x); });
  }
}

TEST(Float8, SaturatesAsDocumented) {
  EXPECT_EQ(__nv_fp8_e4m3(1e9f).__x, 0x7E);
  EXPECT_EQ(__nv_fp8_e4m3(-INFINITY).__x, 0xFE);
  EXPECT_EQ(__nv_fp8_e5m2(1e9f).__x, 0x7B);
  EXPECT_EQ(__nv_fp8_e5m2(-INFINITY).__x, 0xFB);
  EXPECT_EQ(__nv_fp8_e4m3(NAN).__x, 0x7F);
  EXPECT_EQ(__nv_fp8_e5m2(NAN).__x, 0x7F);
  EXPECT_EQ(__nv_cvt_float_to_fp8(1e9f, __NV_NOSAT, __NV_E4M3), 0x7F);
  EXPECT_EQ(__nv_cvt_float_to_fp8(-1e9f, __NV_NOSAT, __NV_E5M2), 0xFC);
  EXPECT_EQ(__nv_cvt_float_to_fp8(464.0f, __NV_NOSAT, __NV_E4M3), 0x7E);  // half-way: even
  EXPECT_EQ(__nv_cvt_double_to_fp8(464.1, __NV_NOSAT, __NV_E4M3), 0x7F);
  EXPECT_EQ(__nv_cvt_double_to_fp8(464.1, __NV_SATFINITE, __NV_E4M3), 0x7E);
  EXPECT_EQ(static_cast<int>(__nv_fp8_e4m3(-3)), -3);
}

TEST(Float8, SeveralInAWord) {
  const __nv_fp8x2_e4m3 two(float2(1.0f, -2.0f));
  EXPECT_EQ(two.__x, 0xC038);
  EXPECT_EQ(static_cast<float2>(two).y, -2.0f);
  EXPECT_EQ(static_cast<__half2>(two).bits(), __half2(1.0f, -2.0f).bits());
  EXPECT_EQ(__nv_fp8x2_e4m3(__half2(1.0f, -2.0f)).__x, two.__x);
  const __nv_fp8x4_e5m2 four(float4(1.0f, -2.0f, 0.5f, 57344.0f));
  EXPECT_EQ(four.__x, 0x7B38'C03Cu);
  const auto values = static_cast<float4>(four);
  EXPECT_EQ(values.x, 1.0f);
  EXPECT_EQ(values.y, -2.0f);
  EXPECT_EQ(values.z, 0.5f);
  EXPECT_EQ(values.w, 57344.0f);
}

}  // namespace
}  // namespace gpubench::model
