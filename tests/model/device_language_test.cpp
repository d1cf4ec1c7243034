#include "harness/platform/model/include/device_language.h"

#include <gtest/gtest.h>

#include <climits>
#include <numbers>

#include "harness/platform/model/include/math_constants.h"

namespace gpubench {
namespace {

TEST(DeviceLanguage, CountsBitsAsCudaDoes) {
  EXPECT_EQ(__popcll(0x8000000000000001u), 2);
  EXPECT_EQ(__clzll(0), 64);
  EXPECT_EQ(__clzll(1), 63);
  EXPECT_EQ(__clzll(-1), 0);
  EXPECT_EQ(__ffsll(0), 0);
  EXPECT_EQ(__ffsll(1ll << 40), 41);
}

TEST(DeviceLanguage, ReversesBits) {
  for (unsigned bit = 0; bit < 32; ++bit) EXPECT_EQ(__brev(1u << bit), 1u << (31 - bit));
  for (unsigned bit = 0; bit < 64; ++bit) EXPECT_EQ(__brevll(1ull << bit), 1ull << (63 - bit));
  EXPECT_EQ(__brev(0x12345678u), 0x1e6a2c48u);
}

TEST(DeviceLanguage, MultipliesTheLow24BitsAndTheHigh32) {
  EXPECT_EQ(__umul24(0xff000003u, 5), 15u);
  EXPECT_EQ(__umul24(0xffffffu, 0xffffffu), 0xfe000001u);
  EXPECT_EQ(__mul24(-3, 5), -15);
  EXPECT_EQ(__mul24(0x00ffffff, 7), -7);  // bit 23 is the sign
  EXPECT_EQ(__mulhi(INT_MIN, 2), -1);
  EXPECT_EQ(__mulhi(1 << 30, 8), 2);
  EXPECT_EQ(__umulhi(0xffffffffu, 0xffffffffu), 0xfffffffeu);
}

TEST(DeviceLanguage, MovesTheSameWordsWhateverTheCachesAreTold) {
  const float4 four = make_float4(1, 2, 3, 4);
  for (const float4& read : {__ldca(&four), __ldcg(&four), __ldcs(&four), __ldlu(&four)}) {
    EXPECT_EQ(read.w, 4);
  }
  const float one = 1;
  EXPECT_EQ(__ldcv(&one), 1);
  float out[4] = {};
  __stwb(out, 1), __stcg(out + 1, 2), __stcs(out + 2, 3.0), __stwt(out + 3, 4.0f);
  EXPECT_EQ(out[0] + 10 * out[1] + 100 * out[2] + 1000 * out[3], 4321);
}

TEST(DeviceLanguage, HasCudasConstants) {
  EXPECT_EQ(CUDART_PI_F, std::numbers::pi_v<float>);
  EXPECT_EQ(CUDART_PIO2_F, std::numbers::pi_v<float> / 2);
  EXPECT_EQ(CUDART_PIO4_F, std::numbers::pi_v<float> / 4);
  EXPECT_EQ(CUDART_SQRT_TWO_F, std::numbers::sqrt2_v<float>);
  EXPECT_EQ(CUDART_L2E_F, std::numbers::log2e_v<float>);
  EXPECT_EQ(CUDART_LN2_F, std::numbers::ln2_v<float>);
  EXPECT_EQ(CUDART_PI, std::numbers::pi);
  EXPECT_EQ(CUDART_PIO2, std::numbers::pi / 2);
  EXPECT_EQ(CUDART_PIO4, std::numbers::pi / 4);
  EXPECT_EQ(CUDART_SQRT_TWO, std::numbers::sqrt2);
  EXPECT_EQ(CUDART_L2E, std::numbers::log2e);
  EXPECT_EQ(CUDART_LN2, std::numbers::ln2);
  EXPECT_GT(CUDART_INF_F, CUDART_MAX_NORMAL_F);
  EXPECT_GT(CUDART_INF, CUDART_PI);
  EXPECT_NE(CUDART_NAN_F, CUDART_NAN_F);
  EXPECT_NE(CUDART_NAN, CUDART_NAN);
}

}  // namespace
}  // namespace gpubench
