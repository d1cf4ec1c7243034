// The check of products, against sums as Tensor Cores make them: with no GPU, so that a correct
// product never fails where one first meets it.
#include "harness/bench/gemm_row.hpp"

#include <cuda_fp8.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <vector>

namespace gpubench {
namespace {

// Factors are multiples of 2^-10: products are whole numbers of 2^-20.
constexpr double of_products = 0x1p-20;

// A unit's sum: products of one step are shifted to the largest exponent, and lose the bits beyond
// `bits` + `guard`; their sum loses those beyond `bits`. `parts` sums of neighbours are made apart.
struct Unit {
  unsigned step;
  int bits, guard;
  unsigned parts = 1;
};

std::int64_t cut(std::int64_t number, std::int64_t largest, int bits) {
  const int exponent = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(largest)));
  const int lost = std::max(exponent - bits, 0);
  const std::int64_t kept = std::abs(number) >> lost << lost;
  return number < 0 ? -kept : kept;
}

std::int64_t sum_of(const Unit& unit, const std::int64_t* products, std::size_t k) {
  std::int64_t sum = 0;
  for (std::size_t begin = 0; begin < k; begin += unit.step) {
    const std::size_t end = std::min(begin + unit.step, k);
    std::int64_t largest = std::abs(sum);
    for (std::size_t i = begin; i < end; ++i) largest = std::max(largest, std::abs(products[i]));
    sum = cut(sum, largest, unit.bits + unit.guard);
    for (std::size_t i = begin; i < end; ++i) {
      sum += cut(products[i], largest, unit.bits + unit.guard);
    }
    sum = cut(sum, std::abs(sum), unit.bits);
  }
  return sum;
}

double product_of(const Unit& unit, const std::vector<std::int64_t>& products) {
  const std::size_t part = (products.size() + unit.parts - 1) / unit.parts;
  std::int64_t sum = 0;
  for (std::size_t begin = 0; begin < products.size(); begin += part) {
    const std::size_t count = std::min(part, products.size() - begin);
    sum += sum_of(unit, products.data() + begin, count);
    sum = cut(sum, std::abs(sum), 24);
  }
  return static_cast<double>(sum) * of_products;
}

// Products of row `i` of A and row `j` of B.
template <class In>
std::vector<std::int64_t> products_of(std::size_t k, std::size_t i, std::size_t j) {
  const Generator<In> a{1}, b{2};
  std::vector<std::int64_t> products(k);
  for (std::size_t x = 0; x < k; ++x) {
    products[x] = static_cast<std::int64_t>(static_cast<double>(static_cast<float>(a(i * k + x))) *
                                            static_cast<double>(static_cast<float>(b(j * k + x))) /
                                            of_products);
  }
  return products;
}
double exact(const std::vector<std::int64_t>& products) {
  return static_cast<double>(std::accumulate(products.begin(), products.end(), std::int64_t{0})) *
         of_products;
}

template <class Out>
bool passes(const GemmTolerance& tolerance, double sum, double shall) {
  const double is = static_cast<double>(static_cast<Out>(static_cast<float>(sum)));
  return is_right(is, shall, tolerance.relative, tolerance.absolute);
}

template <class In, class Out>
void no_correct_sample_fails(GemmType type, const std::vector<Unit>& units,
                             std::size_t most = 400'000) {
  for (const std::size_t k : {225u, 1000u, 1024u, 4033u, 4096u, 8192u, 16384u, 50257u}) {
    const GemmTolerance tolerance = gemm_tolerance<Out>(GemmShape::dense(type, 64, 64, k));
    const std::size_t samples = std::clamp<std::size_t>(most / k, 10, 300);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < samples; ++i) {
      const auto products = products_of<In>(k, i, 7 * i + 3);
      const double shall = exact(products);
      for (const Unit& unit : units) {
        wrong += passes<Out>(tolerance, product_of(unit, products), shall) ? 0 : 1;
      }
    }
    EXPECT_EQ(wrong, 0u) << gemm_type_name(type) << ", k " << k;
  }
}

// Volta, Ampere and Hopper as the papers found them; and a sum in four parts.
const std::vector<Unit> units_of_16_bits{{4, 24, 0}, {8, 24, 1}, {16, 24, 2}, {16, 24, 2, 4}};

TEST(ProductCheck, NoCorrectSampleOfBf16Fails) {
  // The longest is that of tile_alignment/vocabulary: of bf16 some 250 samples.
  no_correct_sample_fails<__nv_bfloat16, __nv_bfloat16>(GemmType::bf16, units_of_16_bits,
                                                        12'600'000);
}
TEST(ProductCheck, NoCorrectSampleOfFp16Fails) {
  no_correct_sample_fails<__half, __half>(GemmType::fp16, units_of_16_bits);
}
TEST(ProductCheck, NoCorrectSampleOfBf16InFp32Fails) {
  no_correct_sample_fails<__nv_bfloat16, float>(GemmType::bf16, units_of_16_bits);
}
TEST(ProductCheck, NoCorrectSampleOfTf32Fails) {
  no_correct_sample_fails<float, float>(GemmType::tf32, {{4, 24, 0}, {8, 24, 2}, {8, 24, 2, 4}});
}
TEST(ProductCheck, NoCorrectSampleOfFp8Fails) {
  no_correct_sample_fails<__nv_fp8_e4m3, __nv_bfloat16>(GemmType::fp8,
                                                        {{16, 14, 0}, {32, 14, 0}, {32, 14, 0, 4}});
}

TEST(ProductCheck, NoCorrectSampleOfFp32Fails) {
  for (const std::size_t k : {1000u, 8192u}) {
    const auto [relative, absolute] =
        gemm_tolerance<float>(GemmShape::textbook(GemmType::fp32, 64, 64, k));
    for (std::size_t i = 0; i < 300; ++i) {
      const auto products = products_of<float>(k, i, 7 * i + 3);
      float sum = 0;
      for (const std::int64_t product : products) {
        sum += static_cast<float>(static_cast<double>(product) * of_products);
      }
      EXPECT_TRUE(is_right<double>(sum, exact(products), relative, absolute)) << k << ", " << i;
    }
  }
}

TEST(ProductCheck, WholeNumbersAreExact) {
  const auto [relative, absolute] =
      gemm_tolerance<std::int32_t>(GemmShape::dense(GemmType::int8, 64, 64, 50257));
  EXPECT_EQ(relative, 0);
  EXPECT_EQ(absolute, 0);
}

// What a kernel that goes wrong everywhere leaves: how many of so many samples show it.
struct Noticed {
  std::size_t of = 60, last_term = 0, step = 0, other_row = 0, neighbour = 0;
};
template <class In, class Out>
Noticed noticed(GemmType type, std::size_t k, const Unit& unit) {
  const GemmTolerance tolerance = gemm_tolerance<Out>(GemmShape::dense(type, 64, 64, k));
  Noticed counts;
  for (std::size_t i = 0; i < counts.of; ++i) {
    auto products = products_of<In>(k, i, 7 * i + 3);
    const double shall = exact(products), sum = product_of(unit, products);
    const auto shows = [&](double wrong) { return passes<Out>(tolerance, wrong, shall) ? 0u : 1u; };
    counts.neighbour += shows(sum * (1 + 3 * half_unit<Out>()));
    counts.other_row += shows(product_of(unit, products_of<In>(k, i + 1, 7 * i + 3)));
    products.pop_back();
    counts.last_term += shows(product_of(unit, products));
    products.resize(k - unit.step);
    counts.step += shows(product_of(unit, products));
  }
  return counts;
}

TEST(ProductCheck, WhatIsLeftOutShows) {
  for (const std::size_t k : {1024u, 4096u, 50257u}) {
    const Noticed bf16 = noticed<__nv_bfloat16, __nv_bfloat16>(GemmType::bf16, k, {16, 24, 2});
    EXPECT_GT(bf16.last_term, bf16.of / 20) << k;
    EXPECT_GT(bf16.step, bf16.of / 2) << k;
    EXPECT_GT(bf16.other_row, bf16.of * 9 / 10) << k;
    const Noticed tf32 = noticed<float, float>(GemmType::tf32, k, {8, 24, 2});
    EXPECT_GT(tf32.last_term, tf32.of / 3) << k;
    EXPECT_GT(tf32.other_row, tf32.of * 9 / 10) << k;
  }
  const Noticed fp8 = noticed<__nv_fp8_e4m3, __nv_bfloat16>(GemmType::fp8, 4096, {32, 14, 0});
  EXPECT_GT(fp8.step, fp8.of / 5);
  EXPECT_GT(fp8.other_row, fp8.of * 9 / 10);
}

// More than one value of D's type away from the right one.
TEST(ProductCheck, AResultThatWasRoundedWrongShows) {
  const Noticed bf16 = noticed<__nv_bfloat16, __nv_bfloat16>(GemmType::bf16, 1024, {16, 24, 2});
  EXPECT_GT(bf16.neighbour, bf16.of * 9 / 10);
  const Noticed fp16 = noticed<__half, __half>(GemmType::fp16, 256, {16, 24, 2});
  EXPECT_GT(fp16.neighbour, fp16.of * 9 / 10);
}

}  // namespace
}  // namespace gpubench
