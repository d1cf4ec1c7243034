// The small formats against an independent reference: a search among all numbers of a format, by
// exact integer comparison.
#include "harness/platform/model/include/small_float.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "harness/platform/model/include/cuda_bf16.h"
#include "harness/platform/model/include/cuda_fp16.h"

namespace gpubench::model {
namespace {

// integer * 2^exponent.
struct Exact {
  __int128 integer = 0;
  int exponent = 0;
};

int bit_length(__int128 magnitude) {
  int bits = 0;
  for (; magnitude != 0; magnitude >>= 1) ++bits;
  return bits;
}

// Whether a < b, both at least 0.
bool less(Exact a, Exact b) {
  if (a.integer == 0 || b.integer == 0) return a.integer == 0 && b.integer != 0;
  const int top_a = bit_length(a.integer) + a.exponent;
  const int top_b = bit_length(b.integer) + b.exponent;
  if (top_a != top_b) return top_a < top_b;
  // The same leading bit: the finer one has at most the integer's own length to give.
  return a.exponent > b.exponent ? (a.integer << (a.exponent - b.exponent)) < b.integer
                                 : a.integer < (b.integer << (b.exponent - a.exponent));
}

// a + b, in which a part far too small to matter is replaced by a bit that says that it is there.
// For integers of 26 bits, what is replaced lies 2^-74 and more below the lowest bit of the other.
Exact sum(Exact a, Exact b) {
  if (a.integer == 0 || b.integer == 0) return a.integer == 0 ? b : a;
  if (a.exponent < b.exponent) std::swap(a, b);
  constexpr int far = 100;
  if (a.exponent - b.exponent > far) b = {b.integer > 0 ? 1 : -1, a.exponent - far};
  return {(a.integer << (a.exponent - b.exponent)) + b.integer, b.exponent};
}

Exact exact(double x) {
  int exponent = 0;
  const double significand = std::frexp(x, &exponent);
  return {static_cast<__int128>(std::ldexp(significand, 53)), exponent - 53};
}

// What the `k`-th number from zero upwards is; beyond the largest, what would come next.
Exact value(SmallFloat f, std::uint32_t k) {
  const std::uint32_t per_exponent = 1u << f.mantissa_bits;
  const int lowest = 2 - (1 << (f.exponent_bits - 1)) - f.mantissa_bits;
  if (k < per_exponent) return {k, lowest};
  return {per_exponent + k % per_exponent, lowest + static_cast<int>(k / per_exponent) - 1};
}

std::uint32_t nearest(SmallFloat f, Exact x, bool negative, Overflow overflow) {
  const std::uint32_t sign = negative ? 1u << (f.bits() - 1) : 0;
  if (x.integer < 0) x.integer = -x.integer;
  const std::uint32_t beyond =
      f.infinity ? ((1u << f.exponent_bits) - 1) << f.mantissa_bits : (1u << (f.bits() - 1)) - 1;
  std::uint32_t low = 0, high = beyond;  // value(low) <= x < value(high), or x is beyond all
  while (high - low > 1) {
    const std::uint32_t middle = (low + high) / 2;
    (less(x, value(f, middle)) ? high : low) = middle;
  }
  const Exact two_x = {x.integer, x.exponent + 1};
  const Exact two_middles = sum(value(f, low), value(f, low + 1));
  std::uint32_t k = low;
  if (less(two_middles, two_x)) {
    k = low + 1;
  } else if (!less(two_x, two_middles)) {
    k = low + low % 2;
  }
  if (k == beyond && overflow == Overflow::finite) --k;
  return sign | k;
}

struct Format {
  const char* name;
  SmallFloat format;
  int largest_exponent;  // of a finite number
};
class SmallFloatTest : public testing::TestWithParam<Format> {
 protected:
  const SmallFloat f = GetParam().format;
  const std::uint32_t encodings = 1u << f.bits();

  void expect_nearest(double x) {
    for (const Overflow overflow : {Overflow::infinite, Overflow::finite}) {
      const std::uint32_t expected = nearest(f, exact(x), std::signbit(x), overflow);
      ASSERT_EQ(encode(f, x, overflow), expected) << std::hexfloat << x;
    }
  }
};

TEST_P(SmallFloatTest, EveryEncodingMeansWhatTheFormatSays) {
  const std::uint32_t sign = encodings / 2;
  std::uint32_t nans = 0, infinities = 0;
  for (std::uint32_t k = 0; k < encodings; ++k) {
    const double x = decode(f, k);
    if (std::isnan(x)) {
      ++nans;
      continue;
    }
    if (std::isinf(x)) {
      ++infinities;
      EXPECT_EQ(encode(f, x), k);
      continue;
    }
    const Exact v = value(f, k % sign);
    const double magnitude = std::ldexp(static_cast<double>(v.integer), v.exponent);
    ASSERT_EQ(x, k < sign ? magnitude : -magnitude) << k;
    ASSERT_EQ(std::signbit(x), k >= sign) << k;
    ASSERT_EQ(encode(f, x), k);
    ASSERT_LT(std::abs(x), std::ldexp(1.0, GetParam().largest_exponent + 1));
  }
  EXPECT_EQ(infinities, f.infinity ? 2 : 0);
  EXPECT_EQ(nans, f.infinity ? 2 * ((1u << f.mantissa_bits) - 1) : 2);
}

TEST_P(SmallFloatTest, RoundsToTheNearest) {
  // At every number, every point half-way between two, and the doubles next to these.
  for (std::uint32_t k = 0; k < encodings / 2; ++k) {
    const Exact v = value(f, k), next = value(f, k + 1);
    const double at = std::ldexp(static_cast<double>(v.integer), v.exponent);
    const double after = std::ldexp(static_cast<double>(next.integer), next.exponent);
    for (const double x : {at, (at + after) / 2}) {
      for (const double y : {x, std::nextafter(x, 0.0), std::nextafter(x, INFINITY)}) {
        expect_nearest(y);
        expect_nearest(-y);
      }
    }
    if (HasFatalFailure()) return;
  }
  std::mt19937_64 random(1);
  for (int i = 0; i < 100'000; ++i) {
    // Half of them of any exponent, half of the format's own range.
    double x = std::bit_cast<double>(random());
    if (i % 2 == 0) {
      int exponent = 0;
      x = std::ldexp(std::frexp(x, &exponent), static_cast<int>(random() % 300) - 160);
    }
    if (std::isfinite(x)) expect_nearest(x);
    if (HasFatalFailure()) return;
  }
}

TEST_P(SmallFloatTest, EndsOfTheScale) {
  EXPECT_EQ(encode(f, NAN), encodings / 2 - 1);
  EXPECT_EQ(encode(f, -NAN, Overflow::finite), encodings / 2 - 1);
  const double largest = decode(f, f.largest());
  EXPECT_EQ(decode(f, encode(f, INFINITY, Overflow::finite)), largest);
  EXPECT_EQ(decode(f, encode(f, -1e300, Overflow::finite)), -largest);
  const double beyond = decode(f, encode(f, 1e300));
  EXPECT_TRUE(f.infinity ? beyond == INFINITY : std::isnan(beyond));
  EXPECT_EQ(encode(f, -0.0), encodings / 2);
  EXPECT_EQ(encode(f, 4.9e-324), 0);
}

INSTANTIATE_TEST_SUITE_P(All, SmallFloatTest,
                         testing::Values(Format{"half", half_format, 15},
                                         Format{"bfloat16", bfloat16_format, 127},
                                         Format{"e4m3", e4m3_format, 8},
                                         Format{"e5m2", e5m2_format, 15}),
                         [](const auto& of) { return of.param.name; });

TEST(SmallFloat, LargestNumbersArePublished) {
  EXPECT_EQ(decode(half_format, half_format.largest()), 65504);
  EXPECT_EQ(decode(e4m3_format, e4m3_format.largest()), 448);
  EXPECT_EQ(decode(e5m2_format, e5m2_format.largest()), 57344);
  EXPECT_EQ(decode(bfloat16_format, bfloat16_format.largest()), 0x1.fep127);
}

// --- arithmetic ---

template <SmallFloat f>
class Numbers {
 public:
  // Any finite numbers; often near each other's exponents, where rounding is hard.
  Float16<f> any() {
    for (;;) {
      const auto bits = static_cast<std::uint32_t>(random_());
      const auto x = Float16<f>::of_bits(bits);
      if (std::isfinite(static_cast<float>(x))) return x;
    }
  }
  // c such that a * b + c is hard: next to minus the product, next to half of its last bit, tiny.
  Float16<f> hard(Float16<f> a, Float16<f> b) {
    const double product = static_cast<double>(a) * static_cast<double>(b);
    double c = -product;
    if (random_() % 2 == 0) {
      c = std::ldexp(product, -static_cast<int>(random_() % 30));
    } else if (random_() % 3 == 0) {
      c = std::ldexp(product, static_cast<int>(random_() % 30));
    }
    if (random_() % 4 == 0) c = decode(f, 1 + static_cast<std::uint32_t>(random_() % 3));
    const auto bits =
        encode(f, c, Overflow::finite) + static_cast<std::uint32_t>(random_() % 3) - 1;
    const auto x = Float16<f>::of_bits(random_() % 2 == 0 ? bits : bits ^ f.sign());
    return std::isfinite(static_cast<float>(x)) ? x : Float16<f>{};
  }

 private:
  std::mt19937_64 random_{2};
};

template <SmallFloat f>
std::uint32_t exactly_fused(Float16<f> a, Float16<f> b, Float16<f> c) {
  const Exact x = exact(static_cast<double>(a)), y = exact(static_cast<double>(b));
  // Significands of doubles are padded with zeros, which a product has no room for.
  const Exact product = {(x.integer >> 40) * (y.integer >> 40), x.exponent + y.exponent + 80};
  const Exact z = exact(static_cast<double>(c));
  const Exact total = sum(product, {z.integer >> 40, z.exponent + 40});
  bool negative = total.integer < 0;
  if (total.integer == 0) {  // of two zeros the common sign; of what cancels, plus
    const bool product_negative =
        std::signbit(static_cast<float>(a)) != std::signbit(static_cast<float>(b));
    negative = product.integer == 0 && product_negative && std::signbit(static_cast<float>(c));
  }
  return nearest(f, total, negative, Overflow::infinite);
}

template <SmallFloat f>
void expect_fused_once() {
  Numbers<f> numbers;
  for (int i = 0; i < 150'000; ++i) {
    const auto a = numbers.any(), b = numbers.any();
    const auto c = i % 4 == 0 ? numbers.any() : numbers.hard(a, b);
    ASSERT_EQ(__hfma(a, b, c).bits(), exactly_fused(a, b, c))
        << std::hexfloat << float{a} << " * " << float{b} << " + " << float{c};
    ASSERT_EQ(__hadd(a, c).bits(), exactly_fused(a, Float16<f>(1), c));
    ASSERT_EQ(__hmul(a, b).bits(),
              exactly_fused(a, b, Float16<f>::of_bits((a.bits() ^ b.bits()) & f.sign())));
  }
}
TEST(Arithmetic16, HalfIsRoundedOnce) { expect_fused_once<half_format>(); }
TEST(Arithmetic16, Bfloat16IsRoundedOnce) { expect_fused_once<bfloat16_format>(); }

TEST(Arithmetic16, AProductHalfWayIsDecidedByTheSmallestSummand) {
  // 1.0078125^2 = 1 + 2^-6 + 2^-14; 1.5 * 1.0078125 = 1.51171875, half-way between two bfloat16.
  const __nv_bfloat16 a = 1.5f, b = 1.0078125f;
  const float below = 1.5078125f, above = 1.515625f;
  EXPECT_EQ(float{__hfma(a, b, __nv_bfloat16(0x1p-120f))}, above);
  EXPECT_EQ(float{__hfma(a, b, __nv_bfloat16(-0x1p-120f))}, below);
}

template <SmallFloat f>
void expect_quotients_and_roots() {
  // In float both are innocuous too: 24 >= 2 * 11 + 2.
  Numbers<f> numbers;
  for (int i = 0; i < 100'000; ++i) {
    const auto a = numbers.any(), b = numbers.any();
    if (float{b} == 0) continue;
    const float quotient = float{a} / float{b};
    if (std::abs(quotient) < 0x1p-126f || std::isinf(quotient)) continue;  // float's own limits
    ASSERT_EQ(__hdiv(a, b).bits(),
              nearest(f, exact(quotient), std::signbit(quotient), Overflow::infinite));
    const float root = std::sqrt(std::abs(float{a}));
    ASSERT_EQ(hsqrt(__habs(a)).bits(), nearest(f, exact(root), false, Overflow::infinite));
  }
}
TEST(Arithmetic16, QuotientsAndRoots) {
  expect_quotients_and_roots<half_format>();
  expect_quotients_and_roots<bfloat16_format>();
}

TEST(Arithmetic16, NanInfinityAndZero) {
  const __half nan = NAN, infinity = INFINITY, one = 1, zero = 0.0f, minus_zero = -0.0f;
  for (const __half x :
       {__hfma(nan, one, one), __hfma(infinity, zero, one), infinity - infinity, zero / zero,
        hsqrt(-one), __hmax_nan(nan, one), __hmin_nan(one, nan), __hmax(nan, nan)}) {
    EXPECT_EQ(x.bits(), 0x7fff);
    EXPECT_TRUE(__hisnan(x));
  }
  EXPECT_EQ(__hmax(nan, one).bits(), one.bits());
  EXPECT_EQ(__hmin(one, nan).bits(), one.bits());
  EXPECT_EQ(__hmax(minus_zero, zero).bits(), 0);
  EXPECT_EQ(__hmin(zero, minus_zero).bits(), 0x8000);
  EXPECT_EQ((one / zero).bits(), infinity.bits());
  EXPECT_EQ(__hisinf(-infinity), -1);
  EXPECT_EQ(__hisinf(infinity), 1);
  EXPECT_EQ(__hisinf(nan), 0);
  EXPECT_EQ(__hisinf(one), 0);
  EXPECT_EQ((__half(65504.0f) + __half(16.0f)).bits(), infinity.bits());  // half-way: even
  EXPECT_EQ(float{__half(65504.0f) + __half(15.0f)}, 65504);
  EXPECT_FALSE(nan == nan);
  EXPECT_TRUE(nan != nan);
  EXPECT_FALSE(nan < one);
  EXPECT_TRUE(minus_zero == zero);
}

TEST(Arithmetic16, OnBothHalvesOfAPairAsOnEach) {
  Numbers<half_format> numbers;
  for (int i = 0; i < 2000; ++i) {
    const __half2 a(numbers.any(), numbers.any()), b(numbers.any(), numbers.any()),
        c(numbers.any(), numbers.any());
    const auto expect_pair = [](const __half2& pair, __half low, __half high) {
      EXPECT_EQ(pair.x.bits(), low.bits());
      EXPECT_EQ(pair.y.bits(), high.bits());
    };
    expect_pair(__hfma2(a, b, c), __hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y));
    expect_pair(a + b, a.x + b.x, a.y + b.y);
    expect_pair(a - b, a.x - b.x, a.y - b.y);
    expect_pair(a * b, a.x * b.x, a.y * b.y);
    expect_pair(a / b, a.x / b.x, a.y / b.y);
    expect_pair(-a, -a.x, -a.y);
    expect_pair(__habs2(a), __habs(a.x), __habs(a.y));
    expect_pair(__hmax2(a, b), __hmax(a.x, b.x), __hmax(a.y, b.y));
    expect_pair(__hmin2(a, b), __hmin(a.x, b.x), __hmin(a.y, b.y));
    expect_pair(h2sqrt(__habs2(a)), hsqrt(__habs(a.x)), hsqrt(__habs(a.y)));
    expect_pair(__hgt2(a, b), a.x > b.x ? 1 : 0, a.y > b.y ? 1 : 0);
    EXPECT_EQ(a < b, a.x < b.x && a.y < b.y);
    __half2 d = a;
    d += b;
    d *= c;
    expect_pair(d, (a.x + b.x) * c.x, (a.y + b.y) * c.y);
  }
}

TEST(Arithmetic16, ConversionsByName) {
  const __half2 h = __floats2half2_rn(1.5f, -2.0f);
  EXPECT_EQ(h.bits(), 0xC000'3E00u);
  EXPECT_EQ(__low2float(h), 1.5f);
  EXPECT_EQ(__high2float(h), -2.0f);
  EXPECT_EQ(__half22float2(h).y, -2.0f);
  EXPECT_EQ(__float22half2_rn(float2(1.5f, -2.0f)).bits(), h.bits());
  EXPECT_EQ(__lowhigh2highlow(h).bits(), 0x3E00'C000u);
  EXPECT_EQ(__low2half2(h).bits(), 0x3E00'3E00u);
  EXPECT_EQ(__high2half2(h).bits(), 0xC000'C000u);
  EXPECT_EQ(__lows2half2(h, __high2half2(h)).bits(), 0xC000'3E00u);
  EXPECT_EQ(__highs2half2(h, __low2half2(h)).bits(), 0x3E00'C000u);
  EXPECT_EQ(__half_as_ushort(__ushort_as_half(0x1234)), 0x1234);
  EXPECT_EQ(__half2float(__int2half_rn(2049)), 2048);
  EXPECT_EQ(static_cast<int>(__half(-2.75f)), -2);
  const __nv_bfloat162 b = __floats2bfloat162_rn(1.5f, -2.0f);
  EXPECT_EQ(b.bits(), 0xC000'3FC0u);
  EXPECT_EQ(__bfloat1622float2(b).x, 1.5f);
  EXPECT_EQ(__low2float(b), 1.5f);
  EXPECT_EQ(__high2bfloat162(b).bits(), 0xC000'C000u);
  EXPECT_EQ(__bfloat16_as_ushort(__ushort_as_bfloat16(0x1234)), 0x1234);
}

TEST(Arithmetic16, ConstantsAreConstants) {
  static_assert(static_cast<float>(__half(0.1f)) == 0x1.998p-4f);
  static_assert(__half_as_ushort(__float2half(-1.0f)) == 0xBC00);
  static_assert(static_cast<float>(__half2(1, 2).y) == 2);
  static_assert(std::is_trivially_copyable_v<__half> && sizeof(__half) == 2);
  static_assert(sizeof(__half2) == 4 && alignof(__half2) == 4);
}

}  // namespace
}  // namespace gpubench::model
