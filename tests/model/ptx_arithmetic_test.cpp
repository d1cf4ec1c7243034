// Instructions by themselves, as the PTX ISA has them.
#include <cmath>
#include <limits>

#include "tests/model/ptx_fixture.hpp"

namespace gpubench::model {
namespace {

using PtxArithmetic = PtxTest;
constexpr std::int32_t largest_int = std::numeric_limits<std::int32_t>::max();
constexpr std::int32_t smallest_int = std::numeric_limits<std::int32_t>::min();
constexpr float nan_of_float = std::numeric_limits<float>::quiet_NaN();
constexpr double nan_of_double = std::numeric_limits<double>::quiet_NaN();

TEST_F(PtxArithmetic, SumsSaturate) {
  EXPECT_EQ(evaluate<std::int32_t>("add.sat.s32 %x, %a, %b;", largest_int, 1), largest_int);
  EXPECT_EQ(evaluate<std::int32_t>("add.sat.s32 %x, %a, %b;", smallest_int, -1), smallest_int);
  EXPECT_EQ(evaluate<std::int32_t>("sub.sat.s32 %x, %a, %b;", smallest_int, 1), smallest_int);
  EXPECT_EQ(evaluate<std::int32_t>("sub.sat.s32 %x, %a, %b;", 5, 7), -2);
  EXPECT_EQ(evaluate<std::int32_t>("add.s32 %x, %a, %b;", largest_int, 1), smallest_int);
}

TEST_F(PtxArithmetic, SumsOfHalvesStopAtZeroAndOne) {
  const std::uint32_t pair = 0x3c00bc00, other = 0x3c003800;  // -1 and 1, 0.5 and 1
  EXPECT_EQ(evaluate<std::uint32_t>("add.sat.f16x2 %x, %a, %b;", pair, other), 0x3c000000u);
  EXPECT_EQ(evaluate<std::uint16_t>("fma.rn.sat.f16 %x, %a, %a, %b;", std::uint16_t{0x3800},
                                    std::uint16_t{0}),
            0x3400);
  EXPECT_NE(refusal("add.sat.bf16 %h1, %h2, %h3;").find(".sat"), std::string::npos);
}

TEST_F(PtxArithmetic, ExtremesStopAtZeroWithRelu) {
  EXPECT_EQ(evaluate<std::int32_t>("max.relu.s32 %x, %a, %b;", -5, -3), 0);
  EXPECT_EQ(evaluate<std::int32_t>("max.relu.s32 %x, %a, %b;", -5, 3), 3);
  EXPECT_EQ(evaluate<std::int32_t>("min.relu.s32 %x, %a, %b;", -5, 3), 0);
  EXPECT_EQ(evaluate<std::int32_t>("min.s32 %x, %a, %b;", -5, 3), -5);
}

TEST_F(PtxArithmetic, AnUnknownModifierIsRefusedByName) {
  const std::pair<const char*, const char*> unknown[] = {
      {"add.sat.u32 %r1, 1, 2;", ".sat"},
      {"neg.cc.s32 %r1, 1;", ".cc"},
      {"min.relu.u32 %r1, 1, 2;", ".relu"},
      {"mul.lo.sat.s32 %r1, 1, 2;", ".sat"},
      {"mad.hi.sat.s32 %r1, 1, 2, 3;", ".sat"},
      {"shl.wrap.b32 %r1, 1, 2;", ".wrap"},
      {"prmt.b32.f4e %r1, 1, 2, 3;", ".f4e"},
      {"clz.sat.b32 %r1, 1;", ".sat"},
      {"fma.rn.relu.f16 %h1, %h1, %h2, %h3;", ".relu"},
      {"add.sat.f64 %l1, %l2, %l3;", ".sat"},
      {"max.xorsign.abs.f32 %r1, 0f00000000, 0f00000000;", ".xorsign"},
      {"cvt.rn.relu.f16.f32 %h1, 0f00000000;", ".relu"},
      {"cvt.rn.sat.f32.s32 %r1, 1;", ".sat"},
      {"shfl.sync.weird.b32 %r1, 1, 2, 3, -1;", ".weird"},
      {"bar.sync.weird 0;", ".weird"},
      {"mov.sat.b32 %r1, 1;", ".sat"},
      {"selp.sat.b32 %r1, 1, 2, %p1;", ".sat"},
      {"activemask.weird.b32 %r1;", ".weird"},
      {"atom.global.add.noftz.u32 %r1, [%out], 1;", ".noftz"},
      {"bra.weird after; after:", ".weird"},
  };
  for (const auto& [instruction, modifier] : unknown) {
    const std::string why = refusal(instruction);
    EXPECT_NE(why.find(std::string("the modifier ") + modifier), std::string::npos) << why;
  }
}

TEST_F(PtxArithmetic, AnUnknownOperandIsRefused) {
  for (const char* instruction :
       {"cvt.u32.u16 %r1, %h1, %h2;", "bfi.b32 %r1, 1, 2, 3, 4, 5;", "trap 1;",
        "ld.global.b32 %r1, [%in], 3;", "setp.eq.u32 %p1, 1, 2, %p2;", "add.u32 %r1, 1, 2, 3;"}) {
    EXPECT_NE(refusal(instruction).find("operand"), std::string::npos) << error;
  }
  EXPECT_NE(refusal("add.u32 %r1, %p1, 2;").find("a predicate where it needs a number"),
            std::string::npos);
  EXPECT_NE(refusal("selp.b32 %r1, 1, 2, %r2;").find("a number where it needs a predicate"),
            std::string::npos);
  EXPECT_NE(refusal("selp.b32 %r1, 1, 2, !%p1;").find("'!'"), std::string::npos);
}

TEST_F(PtxArithmetic, IntegersBecomeFloatsInTheDirectionAskedFor) {
  const std::int64_t odd = (std::int64_t{1} << 60) + 1;
  const double below = std::ldexp(1, 60), above = std::nextafter(below, INFINITY);
  EXPECT_EQ(evaluate<double>("cvt.rn.f64.s64 %x, %a;", odd), below);
  EXPECT_EQ(evaluate<double>("cvt.rz.f64.s64 %x, %a;", odd), below);
  EXPECT_EQ(evaluate<double>("cvt.rm.f64.s64 %x, %a;", odd), below);
  EXPECT_EQ(evaluate<double>("cvt.rp.f64.s64 %x, %a;", odd), above);
  EXPECT_EQ(evaluate<double>("cvt.rz.f64.s64 %x, %a;", -odd), -below);
  EXPECT_EQ(evaluate<double>("cvt.rm.f64.s64 %x, %a;", -odd), -above);
  const std::uint64_t largest = ~std::uint64_t{0};
  EXPECT_EQ(evaluate<double>("cvt.rn.f64.u64 %x, %a;", largest), std::ldexp(1, 64));
  EXPECT_EQ(evaluate<double>("cvt.rz.f64.u64 %x, %a;", largest),
            std::nextafter(std::ldexp(1, 64), 0));
  EXPECT_EQ(evaluate<float>("cvt.rz.f32.s32 %x, %a;", largest_int), std::nextafterf(0x1p31f, 0));
  EXPECT_EQ(evaluate<float>("cvt.rp.f32.s32 %x, %a;", largest_int), 0x1p31f);
  EXPECT_EQ(evaluate<float>("cvt.rm.f32.u64 %x, %a;", std::uint64_t{0x1000001}), 0x1p24f);
  // 257 halfway between 256 and 258, and a little more than that far beyond a double's digits.
  EXPECT_EQ(evaluate<std::uint16_t>("cvt.rn.bf16.s64 %x, %a;", std::int64_t{257} << 50), 0x5c80);
  EXPECT_EQ(evaluate<std::uint16_t>("cvt.rn.bf16.s64 %x, %a;", (std::int64_t{257} << 50) + 1),
            0x5c81);
}

TEST_F(PtxArithmetic, PackingSaturatesBoth) {
  EXPECT_EQ(evaluate<std::uint32_t>("cvt.pack.sat.u16.s32 %x, %a, %b;", 70000, -1), 0xffff0000u);
  EXPECT_EQ(evaluate<std::uint32_t>("cvt.pack.sat.s16.s32 %x, %a, %b;", -70000, 5), 0x80000005u);
  EXPECT_EQ(evaluate<std::uint32_t>("cvt.pack.sat.u8.s32.b32 %x, %a, %b, %c;", 300, 2, 0x12345678),
            0x5678ff02u);
  EXPECT_EQ(evaluate<std::uint32_t>("cvt.pack.sat.s8.s32.b32 %x, %a, %b, 0;", -300, -2), 0x80feu);
}

TEST_F(PtxArithmetic, WhatIsNoNumberIsZeroOrTheHighestBit) {
  EXPECT_EQ(evaluate<std::int32_t>("cvt.rzi.s32.f32 %x, %a;", nan_of_float), 0);
  EXPECT_EQ(evaluate<std::uint32_t>("cvt.rzi.u32.f32 %x, %a;", nan_of_float), 0u);
  EXPECT_EQ(evaluate<std::int64_t>("cvt.rzi.s64.f32 %x, %a;", nan_of_float),
            std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(evaluate<std::uint64_t>("cvt.rzi.u64.f32 %x, %a;", nan_of_float),
            std::uint64_t{1} << 63);
  EXPECT_EQ(evaluate<std::int32_t>("cvt.rzi.s32.f64 %x, %a;", nan_of_double), smallest_int);
  EXPECT_EQ(evaluate<std::uint32_t>("cvt.rzi.u32.f64 %x, %a;", nan_of_double), 0x80000000u);
  EXPECT_EQ(evaluate<std::uint64_t>("cvt.rzi.u64.f64 %x, %a;", nan_of_double),
            std::uint64_t{1} << 63);
  EXPECT_EQ(evaluate<std::int32_t>("cvt.rzi.s32.f16 %x, %a;", std::uint16_t{0x7fff}), 0);
}

TEST_F(PtxArithmetic, ASumOfNothingIsMinusZeroRoundedDown) {
  const auto sign = [](float x) { return x == 0 ? std::signbit(x) ? '-' : '+' : '?'; };
  EXPECT_EQ(sign(evaluate<float>("sub.rm.f32 %x, %a, %b;", 3.0f, 3.0f)), '-');
  EXPECT_EQ(sign(evaluate<float>("add.rm.f32 %x, %a, %b;", 0.0f, -0.0f)), '-');
  EXPECT_EQ(sign(evaluate<float>("add.rm.f32 %x, %a, %b;", 0.0f, 0.0f)), '+');
  EXPECT_EQ(sign(evaluate<float>("add.rz.f32 %x, %a, %b;", -0.0f, -0.0f)), '-');
  EXPECT_EQ(sign(evaluate<float>("add.rp.f32 %x, %a, %b;", 3.0f, -3.0f)), '+');
  EXPECT_EQ(sign(evaluate<float>("add.rz.f32 %x, %a, %b;", 3.0f, -3.0f)), '+');
  EXPECT_EQ(sign(evaluate<float>("fma.rm.f32 %x, %a, %b, %c;", 2.0f, 3.0f, -6.0f)), '-');
  EXPECT_EQ(sign(evaluate<float>("fma.rp.f32 %x, %a, %b, %c;", 2.0f, 3.0f, -6.0f)), '+');
  EXPECT_EQ(sign(evaluate<float>("mul.rm.f32 %x, %a, %b;", 0.0f, 3.0f)), '+');
}

// Directions, the nearest number to a result that no double is, and the other side of it.
TEST_F(PtxArithmetic, DoublesAreRoundedInTheDirectionAskedFor) {
  const auto above = [](double x) { return std::nextafter(x, INFINITY); };
  const auto below = [](double x) { return std::nextafter(x, -INFINITY); };
  const auto add = [&](const std::string& direction, double a, double b) {
    return evaluate<double>("add." + direction + ".f64 %x, %a, %b;", a, b);
  };
  const double least = std::numeric_limits<double>::denorm_min();
  const double most = std::numeric_limits<double>::max();
  EXPECT_EQ(add("rz", 1, least), 1);
  EXPECT_EQ(add("rm", 1, least), 1);
  EXPECT_EQ(add("rp", 1, least), above(1));
  EXPECT_EQ(add("rz", 1, -least), below(1));
  EXPECT_EQ(add("rz", -1, -least), -1);
  EXPECT_EQ(add("rm", -1, -least), below(-1));
  EXPECT_EQ(add("rn", 1, least), 1);
  EXPECT_EQ(add("rz", most, most), most);
  EXPECT_EQ(add("rm", most, most), most);
  EXPECT_EQ(add("rp", most, most), INFINITY);
  EXPECT_TRUE(std::signbit(add("rm", 3, -3)));
  EXPECT_FALSE(std::signbit(add("rp", 3, -3)));
  EXPECT_EQ(evaluate<double>("sub.rp.f64 %x, %a, %b;", 1.0, -least), above(1));
  EXPECT_EQ(evaluate<double>("mul.rp.f64 %x, %a, %b;", least, 0.25), least);
  EXPECT_EQ(evaluate<double>("mul.rz.f64 %x, %a, %b;", -least, 0.75), -0.0);
  const double tenth = 0.1;  // above 1 / 10: its tenfold is above 1, and 1 nearest
  EXPECT_EQ(evaluate<double>("mul.rn.f64 %x, %a, %b;", tenth, 10.0), 1);
  EXPECT_EQ(evaluate<double>("mul.rp.f64 %x, %a, %b;", tenth, 10.0), above(1));
  EXPECT_EQ(evaluate<double>("mul.rm.f64 %x, %a, %b;", tenth, 10.0), 1);
  EXPECT_EQ(evaluate<double>("fma.rz.f64 %x, %a, %b, %c;", tenth, 10.0, -1.0), 0x1p-54);
  EXPECT_EQ(evaluate<double>("fma.rm.f64 %x, %a, %b, %c;", 1.0, 1.0, -least), below(1));
  EXPECT_EQ(evaluate<double>("mad.rp.f64 %x, %a, %b, %c;", 1.0, 1.0, least), above(1));
  EXPECT_EQ(evaluate<double>("div.rp.f64 %x, %a, %b;", 1.0, 10.0), tenth);
  EXPECT_EQ(evaluate<double>("div.rz.f64 %x, %a, %b;", 1.0, 10.0), below(tenth));
  EXPECT_EQ(evaluate<double>("div.rm.f64 %x, %a, %b;", -1.0, 10.0), -tenth);
  EXPECT_EQ(evaluate<double>("rcp.rm.f64 %x, %a;", 10.0), below(tenth));
  EXPECT_EQ(evaluate<double>("rcp.rp.f64 %x, %a;", 10.0), tenth);
  const double root = std::sqrt(2.0);  // the nearest is above
  EXPECT_EQ(evaluate<double>("sqrt.rn.f64 %x, %a;", 2.0), root);
  EXPECT_EQ(evaluate<double>("sqrt.rp.f64 %x, %a;", 2.0), root);
  EXPECT_EQ(evaluate<double>("sqrt.rz.f64 %x, %a;", 2.0), below(root));
}

TEST_F(PtxArithmetic, FloatsAreRoundedInTheDirectionAskedFor) {
  const auto below = [](float x) { return std::nextafterf(x, -INFINITY); };
  const float tenth = 0.1f, root = std::sqrt(2.0f);  // above 1 / 10, and below the root of 2
  EXPECT_EQ(evaluate<float>("div.rp.f32 %x, %a, %b;", 1.0f, 10.0f), tenth);
  EXPECT_EQ(evaluate<float>("div.rz.f32 %x, %a, %b;", 1.0f, 10.0f), below(tenth));
  EXPECT_EQ(evaluate<float>("rcp.rm.f32 %x, %a;", 10.0f), below(tenth));
  EXPECT_EQ(evaluate<float>("rcp.rp.ftz.f32 %x, %a;", 0x1p127f), 0);
  EXPECT_EQ(evaluate<float>("sqrt.rm.f32 %x, %a;", 2.0f), root);
  EXPECT_EQ(evaluate<float>("sqrt.rp.f32 %x, %a;", 2.0f), std::nextafterf(root, 2));
  EXPECT_EQ(evaluate<float>("mul.rp.f32 %x, %a, %b;", 1e-30f, 1e-30f),
            std::numeric_limits<float>::denorm_min());
  EXPECT_EQ(evaluate<float>("add.rz.sat.f32 %x, %a, %b;", 1.0f, 1.0f), 1.0f);
  EXPECT_EQ(evaluate<float>("fma.rz.f32 %x, %a, %b, %c;", 3e38f, 3e38f, 0.0f),
            std::numeric_limits<float>::max());
  // What comes behind is to nearest again.
  EXPECT_EQ(evaluate<float>("div.rz.f32 %x, %a, %b; div.rn.f32 %x, %a, %b;", 1.0f, 10.0f), tenth);
  EXPECT_NE(refusal("sqrt.approx.rz.f32 %r1, %r2;").find(".rz"), std::string::npos);
  EXPECT_NE(refusal("add.rz.f16 %h1, %h1, %h1;").find(".rz"), std::string::npos);
}

TEST_F(PtxArithmetic, SmallFloatsBecomeIntegersAndWholeNumbers) {
  const std::uint16_t half = 0xc100, bfloat = 0x4020;  // -2.5 and 2.5
  EXPECT_EQ(evaluate<std::int32_t>("cvt.rzi.s32.f16 %x, %a;", half), -2);
  EXPECT_EQ(evaluate<std::int32_t>("cvt.rmi.s32.f16 %x, %a;", half), -3);
  EXPECT_EQ(evaluate<std::uint16_t>("cvt.rni.f16.f16 %x, %a;", half), 0xc000);
  EXPECT_EQ(evaluate<std::int32_t>("cvt.rpi.s32.bf16 %x, %a;", bfloat), 3);
  EXPECT_EQ(evaluate<double>("cvt.f64.f16 %x, %a;", half), -2.5);
  EXPECT_EQ(evaluate<std::uint16_t>("cvt.rm.f16.f32 %x, %a;", -1.0001f), 0xbc01);
  EXPECT_EQ(evaluate<std::uint32_t>("cvt.rna.tf32.f32 %x, %a;", std::uint32_t{0x3f801000}),
            0x3f802000u);
}

TEST_F(PtxArithmetic, NumbersTooSmallAreFlushedWhereThatIsAskedFor) {
  EXPECT_EQ(evaluate<std::int32_t>("cvt.rpi.s32.f32 %x, %a;", 1e-40f), 1);
  EXPECT_EQ(evaluate<std::int32_t>("cvt.rpi.ftz.s32.f32 %x, %a;", 1e-40f), 0);
  EXPECT_EQ(evaluate<double>("cvt.ftz.f64.f32 %x, %a;", 1e-40f), 0);
  EXPECT_EQ(evaluate<float>("cvt.rn.ftz.f32.f64 %x, %a;", 1e-40), 0);
  EXPECT_EQ(evaluate<float>("add.rz.ftz.f32 %x, %a, %b;", 1e-40f, 1e-40f), 0);
}

TEST_F(PtxArithmetic, CarriesGoFromWordToWord) {
  const std::uint64_t ones = ~std::uint64_t{0};
  const std::string halves =
      ".reg .b32 %al, %ah, %bl, %bh; mov.b64 {%al, %ah}, %a;"
      "mov.b64 {%bl, %bh}, %b;";
  const auto words = [&](const std::string& low, const std::string& high, std::uint64_t a,
                         std::uint64_t b) {
    return evaluate<std::uint64_t>(
        halves + low + " %r1, %al, %bl;" + high + " %r2, %ah, %bh; mov.b64 %x, {%r1, %r2};", a, b);
  };
  EXPECT_EQ(words("add.cc.u32", "addc.u32", 0xffffffff, 1), std::uint64_t{1} << 32);
  EXPECT_EQ(words("add.cc.u32", "addc.u32", ones, ones), ones - 1);
  EXPECT_EQ(words("sub.cc.u32", "subc.u32", 0, 1), ones);
  EXPECT_EQ(words("sub.cc.s32", "subc.s32", std::uint64_t{5} << 32, 7),
            (std::uint64_t{5} << 32) - 7);
  EXPECT_EQ(evaluate<std::uint64_t>(
                halves + "mul.lo.u32 %r1, %al, %bl; mul.hi.u32 %r2, %al, %bl;"
                         "mad.lo.cc.u32 %r2, %ah, %bl, %r2; madc.hi.u32 %r3, %ah, %bl, 0;"
                         "mad.lo.cc.u32 %r2, %al, %bh, %r2; madc.hi.cc.u32 %r3, %al, %bh, %r3;"
                         "mov.b64 %x, {%r1, %r2};",
                std::uint64_t{0x123456789abcdef}, std::uint64_t{0xfedcba987654321}),
            std::uint64_t{0x123456789abcdef} * std::uint64_t{0xfedcba987654321});
  EXPECT_EQ(evaluate<std::uint64_t>("add.cc.u64 %l1, %a, %b; addc.u64 %x, 0, 0;", ones, ones), 1u);
  EXPECT_NE(refusal("addc.u16 %h1, %h2, %h3;"), "");
}

TEST_F(PtxArithmetic, FieldsOfBits) {
  EXPECT_EQ(evaluate<std::uint32_t>("bfe.u32 %x, %a, 4, 8;", 0x12345678), 0x67u);
  EXPECT_EQ(evaluate<std::int32_t>("bfe.s32 %x, %a, 4, 4;", 0x000000f0), -1);
  EXPECT_EQ(evaluate<std::int32_t>("bfe.s32 %x, %a, 28, 8;", smallest_int), -8);
  EXPECT_EQ(evaluate<std::int32_t>("bfe.s32 %x, %a, 40, 8;", smallest_int), -1);
  EXPECT_EQ(evaluate<std::uint32_t>("bfe.u32 %x, %a, 0, 0;", -1), 0u);
  EXPECT_EQ(evaluate<std::int64_t>("bfe.s64 %x, %a, 0, 64;", std::int64_t{-7}), -7);
  EXPECT_EQ(evaluate<std::uint32_t>("bfind.u32 %x, %a;", 0x00010000), 16u);
  EXPECT_EQ(evaluate<std::uint32_t>("bfind.shiftamt.u32 %x, %a;", 0x00010000), 15u);
  EXPECT_EQ(evaluate<std::uint32_t>("bfind.s32 %x, %a;", -2), 0u);
  EXPECT_EQ(evaluate<std::uint32_t>("bfind.u64 %x, %a;", std::uint64_t{0}), ~0u);
  EXPECT_EQ(evaluate<std::uint32_t>("lop3.b32 %x, %a, %b, %c, 0x96;", 12, 10, 7), 12u ^ 10u ^ 7u);
  EXPECT_EQ(evaluate<std::uint32_t>("lop3.b32 %x, %a, %b, %c, 0xE8;", 12, 10, 7), 14u);
}

TEST_F(PtxArithmetic, FunnelShifts) {
  const std::uint32_t low = 0x89abcdef, high = 0x01234567;
  EXPECT_EQ(evaluate<std::uint32_t>("shf.l.wrap.b32 %x, %a, %b, 8;", low, high), 0x23456789u);
  EXPECT_EQ(evaluate<std::uint32_t>("shf.r.wrap.b32 %x, %a, %b, 8;", low, high), 0x6789abcdu);
  EXPECT_EQ(evaluate<std::uint32_t>("shf.l.wrap.b32 %x, %a, %b, 40;", low, high), 0x23456789u);
  EXPECT_EQ(evaluate<std::uint32_t>("shf.l.clamp.b32 %x, %a, %b, 40;", low, high), low);
  EXPECT_EQ(evaluate<std::uint32_t>("shf.r.clamp.b32 %x, %a, %b, 40;", low, high), high);
}

TEST_F(PtxArithmetic, DotProductsAndDifferences) {
  const std::uint32_t a = 0xff020304, b = 0x01020304;
  EXPECT_EQ(evaluate<std::int32_t>("dp4a.s32.s32 %x, %a, %b, %c;", a, b, 100), 100 - 1 + 29);
  EXPECT_EQ(evaluate<std::int32_t>("dp4a.u32.u32 %x, %a, %b, %c;", a, b, 100), 100 + 255 + 29);
  EXPECT_EQ(evaluate<std::int32_t>("dp2a.lo.s32.s32 %x, %a, %b, %c;", 0xfffe0003, b, 10),
            10 + 3 * 4 - 2 * 3);
  EXPECT_EQ(evaluate<std::int32_t>("dp2a.hi.s32.s32 %x, %a, %b, %c;", 0xfffe0003, b, 10),
            10 + 3 * 2 - 2 * 1);
  EXPECT_EQ(evaluate<std::uint32_t>("sad.s32 %x, %a, %b, %c;", -3, 4, 10), 17u);
  EXPECT_EQ(evaluate<std::uint32_t>("sad.u32 %x, %a, %b, %c;", 3, 4, 10), 11u);
}

TEST_F(PtxArithmetic, ComparisonsJoinPredicates) {
  const auto both = [&](const std::string& modifier, int a, int b, const std::string& c) {
    return evaluate<std::uint32_t>("setp.ne.u32 %p3, " + c + ", 0; setp.lt" + modifier +
                                       ".s32 %p1|%p2, %a, %b" +
                                       (modifier.empty() ? ";" : ", !%p3;") +
                                       "selp.b32 %x, 1, 0, %p1; @%p2 add.u32 %x, %x, 2;",
                                   a, b);
  };
  EXPECT_EQ(both("", 1, 2, "0"), 1u);
  EXPECT_EQ(both("", 2, 1, "0"), 2u);
  EXPECT_EQ(both(".and", 1, 2, "1"), 0u);
  EXPECT_EQ(both(".and", 1, 2, "0"), 1u);
  EXPECT_EQ(both(".or", 2, 1, "0"), 3u);
  EXPECT_EQ(both(".xor", 1, 2, "0"), 2u);
  EXPECT_EQ(evaluate<float>("set.lt.f32.s32 %x, %a, %b;", 1, 2), 1.0f);
  EXPECT_EQ(evaluate<std::uint32_t>("set.ge.u32.f32 %x, %a, %b;", 2.0f, 1.0f), ~0u);
  const std::uint32_t pair = 0x3c004000, other = 0x3c003c00;  // 2 and 1, 1 and 1
  EXPECT_EQ(evaluate<std::uint32_t>("set.eq.f16x2.f16x2 %x, %a, %b;", pair, other), 0x3c000000u);
  EXPECT_EQ(evaluate<std::uint32_t>("set.gt.bf16x2.bf16x2 %x, %a, %b;", pair, other), 0x3f80u);
  const std::uint16_t nan = 0x7fff, half = 0x3c00;
  EXPECT_EQ(evaluate<std::uint16_t>("set.nan.f16.f16 %x, %a, %b;", nan, half), 0x3c00);
  EXPECT_EQ(evaluate<std::uint16_t>("set.eq.bf16.bf16 %x, %a, %b;", half, half), 0x3f80);
  EXPECT_EQ(evaluate<std::int32_t>("slct.s32.f32 %x, %a, %b, %c;", 5, 6, -0.0f), 5);
  EXPECT_EQ(evaluate<std::int32_t>("slct.s32.s32 %x, %a, %b, %c;", 5, 6, -1), 6);
}

TEST_F(PtxArithmetic, ConstantsOfAByteAreStored) {
  const std::string body =
      "st.global.u8 [%out], 200; st.global.u8 [%out+1], 7; mov.u32 %r1, 0x01020304;"
      "ld.global.u8 %h1, [%out+1]; cvt.u32.u16 %r2, %h1; st.global.b32 [%out+4], %r2;"
      "st.global.b32 [%out+8], %r1; st.global.u16 [%out+2], 9;";
  EXPECT_EQ(run(body, std::vector<std::uint32_t>(1), 3),
            (std::vector<std::uint32_t>{0x000907c8, 7, 0x01020304}));
  EXPECT_EQ(error, "");
}

TEST_F(PtxArithmetic, ReciprocalRootsOfDoubles) {
  EXPECT_DOUBLE_EQ(evaluate<double>("rsqrt.approx.f64 %x, %a;", 9.0), 1.0 / 3);
  EXPECT_NEAR(evaluate<double>("rsqrt.approx.ftz.f64 %x, %a;", 9.0), 1.0 / 3, 1e-5);
}

}  // namespace
}  // namespace gpubench::model
