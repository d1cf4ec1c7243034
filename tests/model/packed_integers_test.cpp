// CUDA's functions of integers against what its manual says of them, part by part.
#include "harness/platform/model/include/packed_integers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "harness/contents/random.hpp"
#include "harness/platform/model/include/integer_functions.h"

namespace gpubench::model {
namespace {

using Packed = unsigned (*)(unsigned, unsigned);
using OfParts = std::int64_t (*)(std::int64_t, std::int64_t, std::int64_t least, std::int64_t most);

// Numbers at the edges of their parts, and others.
std::vector<unsigned> words() {
  std::vector<unsigned> all = {0,          ~0u,        0x80008000, 0x7fff7fff, 0x80808080,
                               0x7f7f7f7f, 0x00ff8001, 0x01fe807f, 0x12345678, 0xfedcba98};
  for (unsigned i = 0; i < 50; ++i) all.push_back(static_cast<unsigned>(random_bits(7, i)));
  return all;
}

struct Function {
  const char* name;
  Packed halves, bytes;
  bool is_signed;
  OfParts of;
};

std::int64_t part_of(unsigned word, unsigned at, unsigned bits, bool is_signed) {
  const std::int64_t part = word >> at & ((1u << bits) - 1);
  return is_signed && part >> (bits - 1) != 0 ? part - (1 << bits) : part;
}

void expect_by_part(const Function& f, Packed function, unsigned bits) {
  const std::int64_t least = f.is_signed ? -(1 << (bits - 1)) : 0;
  const std::int64_t most = (1 << (f.is_signed ? bits - 1 : bits)) - 1;
  for (const unsigned x : words()) {
    for (const unsigned y : words()) {
      unsigned expected = 0;
      for (unsigned at = 0; at < 32; at += bits) {
        const std::int64_t part =
            f.of(part_of(x, at, bits, f.is_signed), part_of(y, at, bits, f.is_signed), least, most);
        expected |= (static_cast<unsigned>(part) & ((1u << bits) - 1)) << at;
      }
      ASSERT_EQ(function(x, y), expected) << f.name << bits << ' ' << std::hex << x << ' ' << y;
    }
  }
}

#define OF(result)                                                        \
  [](std::int64_t a, std::int64_t b, [[maybe_unused]] std::int64_t least, \
     [[maybe_unused]] std::int64_t most) -> std::int64_t { return result; }
#define FUNCTION(name, is_signed, result) \
  Function { #name, __v##name##2, __v##name##4, is_signed, OF(result) }
#define COMPARED(name, is_signed, comparison)              \
  FUNCTION(cmp##name, is_signed, a comparison b ? -1 : 0), \
      FUNCTION(set##name, is_signed, a comparison b ? 1 : 0)

TEST(PackedIntegers, AreComputedPartByPart) {
  const Function functions[] = {
      FUNCTION(add, false, a + b),
      FUNCTION(addss, true, std::clamp(a + b, least, most)),
      FUNCTION(addus, false, std::clamp(a + b, least, most)),
      FUNCTION(sub, false, a - b),
      FUNCTION(subss, true, std::clamp(a - b, least, most)),
      FUNCTION(subus, false, std::clamp(a - b, least, most)),
      FUNCTION(absdiffs, true, std::llabs(a - b)),
      FUNCTION(absdiffu, false, std::llabs(a - b)),
      FUNCTION(maxs, true, std::max(a, b)),
      FUNCTION(maxu, false, std::max(a, b)),
      FUNCTION(mins, true, std::min(a, b)),
      FUNCTION(minu, false, std::min(a, b)),
      FUNCTION(haddu, false, (a + b) / 2),
      FUNCTION(avgs, true, a + b < 0 ? (a + b - 1) / 2 : (a + b + 1) / 2),
      FUNCTION(avgu, false, (a + b + 1) / 2),
      COMPARED(eq, false, ==),
      COMPARED(ne, false, !=),
      COMPARED(ges, true, >=),
      COMPARED(gts, true, >),
      COMPARED(les, true, <=),
      COMPARED(lts, true, <),
      COMPARED(geu, false, >=),
      COMPARED(gtu, false, >),
      COMPARED(leu, false, <=),
      COMPARED(ltu, false, <),
  };
  for (const Function& f : functions) {
    expect_by_part(f, f.halves, 16);
    expect_by_part(f, f.bytes, 8);
  }
}

TEST(PackedIntegers, HaveASignToTakeAway) {
  EXPECT_EQ(__vneg2(0x80000001), 0x8000ffffu);
  EXPECT_EQ(__vneg4(0x80007f01), 0x800081ffu);
  EXPECT_EQ(__vnegss2(0x80000001), 0x7fffffffu);
  EXPECT_EQ(__vnegss4(0x80007f01), 0x7f0081ffu);
  EXPECT_EQ(__vabs2(0x8000fffe), 0x80000002u);
  EXPECT_EQ(__vabs4(0x80ff7f01), 0x80017f01u);
  EXPECT_EQ(__vabsss2(0x8000fffe), 0x7fff0002u);
  EXPECT_EQ(__vabsss4(0x80ff7f01), 0x7f017f01u);
}

TEST(PackedIntegers, AreAddedUp) {
  EXPECT_EQ(__vsads2(0x7fff8000, 0x80007fff), 2 * 65535u);
  EXPECT_EQ(__vsadu2(0xffff0001, 0x00000002), 65536u);
  EXPECT_EQ(__vsads4(0x7f800001, 0x807f0100), 2 * 255u + 1 + 1);
  EXPECT_EQ(__vsadu4(0xff00ff01, 0x00ff0002), 3 * 255u + 1);
  EXPECT_EQ(__dp2a_lo(0x00038000, 0x0000ff02, 7), 7 - 2 * 32768 - 3);
  EXPECT_EQ(__dp2a_hi(0x00038000, static_cast<int>(0xff020000), 7), 7 - 2 * 32768 - 3);
  EXPECT_EQ(__dp2a_lo(0x00038000u, 0x0000ff02u, 7u), 7u + 2 * 32768 + 3 * 255);
  EXPECT_EQ(__dp2a_hi(0x00038000u, 0xff020000u, 7u), 7u + 2 * 32768 + 3 * 255);
}

TEST(IntegerFunctions, TakeDifferencesMeansAndPairsOfWords) {
  EXPECT_EQ(__sad(-2147483647 - 1, 2147483647, 2), 1u);
  EXPECT_EQ(__sad(3, -4, 2), 9u);
  EXPECT_EQ(__usad(3, 0xffffffff, 2), 0xfffffffeu);
  EXPECT_EQ(__hadd(2147483647, 2147483646), 2147483646);
  EXPECT_EQ(__rhadd(2147483647, 2147483646), 2147483647);
  EXPECT_EQ(__hadd(-3, 0), -2);
  EXPECT_EQ(__rhadd(-3, 0), -1);
  EXPECT_EQ(__uhadd(~0u, ~0u - 1), ~0u - 1);
  EXPECT_EQ(__urhadd(~0u, ~0u - 1), ~0u);
  EXPECT_EQ(__funnelshift_lc(0x89abcdef, 0x01234567, 8), 0x23456789u);
  EXPECT_EQ(__funnelshift_lc(0x89abcdef, 0x01234567, 40), 0x89abcdefu);
  EXPECT_EQ(__funnelshift_rc(0x89abcdef, 0x01234567, 8), 0x6789abcdu);
  EXPECT_EQ(__funnelshift_rc(0x89abcdef, 0x01234567, 32), 0x01234567u);
}

TEST(IntegerFunctions, ConvertAndTakeApart) {
  EXPECT_EQ(__float2ull_rn(2.5f), 2u);
  EXPECT_EQ(__float2ull_rz(-1), 0u);
  EXPECT_EQ(__double2ull_ru(1e30), ~0ull);
  EXPECT_EQ(__ull2double_rn(~0ull), 0x1p64);
  EXPECT_EQ(__uint2double_rn(~0u), 4294967295.0);
  EXPECT_EQ(__ll2float_rn(-16777217), -16777216.0f);
  EXPECT_EQ(__hiloint2double(0x3ff80000, -1), 1.5 + 0x1p-20 - 0x1p-52);
  EXPECT_EQ(__double2hiint(-2.0), static_cast<int>(0xc0000000));
  EXPECT_EQ(__double2loint(1 + 0x1p-52), 1);
}

}  // namespace
}  // namespace gpubench::model
