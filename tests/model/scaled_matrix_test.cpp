// mma.sync with block scales: each element and each scale where the PTX ISA has it, written out
// here once more, against sums in double.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "harness/platform/model/emulator/matrices.hpp"
#include "tests/model/emulator_fixture.hpp"
#include "tests/model/scaled_matrix_kernels.hpp"

namespace gpubench::model {
namespace {

using kernels::ScaledWords, kernels::Selected;
using Words = std::vector<unsigned>;

// One of the two types: bits of an element, elements along k, and scales of a row.
struct ScaledType {
  Tensor type;
  unsigned bits, depth, scales;
};
constexpr ScaledType mxfp8{Tensor::mxfp8, 8, 32, 1}, nvfp4{Tensor::nvfp4, 4, 64, 4};

double exponent_and_mantissa(unsigned bits, int exponent_bits, int mantissa_bits, int bias) {
  const int mantissa = static_cast<int>(bits & ((1u << mantissa_bits) - 1));
  const int exponent = static_cast<int>(bits >> mantissa_bits & ((1u << exponent_bits) - 1));
  const double size =
      exponent == 0 ? std::ldexp(mantissa, 1 - bias - mantissa_bits)
                    : std::ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
  return (bits >> (exponent_bits + mantissa_bits) & 1) != 0 ? -size : size;
}

class ScaledMatrixTest : public EmulatorTest {
 protected:
  ScaledMatrixTest() : EmulatorTest("rtx-5090") {}

  // No encoding of 7 bits that are all ones, which is E4M3's NaN, and scales near 1.
  Words random(std::size_t count, bool are_scales) {
    Words words(count);
    for (unsigned& word : words) {
      word = 0;
      for (unsigned byte = 0; byte < 4; ++byte) {
        const unsigned bits = static_cast<unsigned>(random_() & 0xff);
        const unsigned element = (bits & 0x7f) == 0x7f ? bits - 1 : bits;
        word |= (are_scales ? scale_base_ + bits % 16 : element) << 8 * byte;
      }
    }
    return words;
  }
  void use(const ScaledType& format) {
    format_ = format;
    scale_base_ = format.bits == 8 ? 120 : 0x30;
    a_ = random(128, false);
    b_ = random(64, false);
    scales_a_ = random(32, true);
    scales_b_ = random(32, true);
    d_ = make<float>(128);
  }
  ScaledWords words() { return {upload(a_), upload(b_), upload(scales_a_), upload(scales_b_)}; }

  double element(const Words& words, unsigned word, unsigned lane, unsigned at) const {
    const unsigned bits = words[word * 32 + lane] >> format_.bits * at;
    return format_.bits == 8 ? exponent_and_mantissa(bits & 0xff, 4, 3, 7)
                             : exponent_and_mantissa(bits & 0xf, 2, 1, 1);
  }
  double scale(const Words& words, unsigned lane, unsigned byte) const {
    const unsigned bits = words[lane] >> 8 * byte & 0xff;
    return format_.bits == 8 ? std::ldexp(1, static_cast<int>(bits) - 127)
                             : exponent_and_mantissa(bits, 4, 3, 7);
  }
  // Each of a row's registers holds 32 / bits neighbours; four lanes hold half of k.
  double product(unsigned row, unsigned column, unsigned byte_a, unsigned thread_a, unsigned byte_b,
                 unsigned thread_b) const {
    const unsigned in_word = 32 / format_.bits, together = format_.depth / format_.scales;
    double sum = 0;
    for (unsigned k = 0; k < format_.depth; ++k) {
      const unsigned t = k / in_word % 4, half = k / (4 * in_word), at = k % in_word;
      const unsigned block = k / together;
      sum += element(a_, 2 * half + row / 8, row % 8 * 4 + t, at) *
             scale(scales_a_, row % 8 * 4 + 2 * thread_a + row / 8, byte_a + block) *
             element(b_, half, column * 4 + t, at) *
             scale(scales_b_, column * 4 + thread_b, byte_b + block);
    }
    return sum;
  }
  template <class Multiply>
  void expect_products(Multiply&& multiply, unsigned byte_a, unsigned thread_a, unsigned byte_b,
                       unsigned thread_b) {
    const std::vector<float> before = numbers(128);
    memory.write(d_, before.data(), before.size() * sizeof(float));
    const Counts counts = counts_of([&] { multiply(d_, words()); });
    const auto after = download(d_, 128);
    for (unsigned i = 0; i < 128; ++i) {
      const unsigned lane = i % 32, word = i / 32;
      const unsigned row = lane / 4 + word / 2 * 8, column = lane % 4 * 2 + word % 2;
      const double added = product(row, column, byte_a, thread_a, byte_b, thread_b);
      ASSERT_EQ(after[i], static_cast<float>(before[i] + added)) << row << ", " << column;
    }
    EXPECT_EQ(counts.tensor_flops[static_cast<std::size_t>(format_.type)], 2 * 128 * format_.depth);
    EXPECT_EQ(counts.at(WarpOperation::matrices), 1);
  }
  float* d_ = nullptr;

 private:
  std::mt19937 random_{5};
  ScaledType format_ = mxfp8;
  unsigned scale_base_ = 0;
  Words a_, b_, scales_a_, scales_b_;
};

TEST_F(ScaledMatrixTest, Mxfp8TakesOneScaleOfEachRowAndColumn) {
  use(mxfp8);
  const auto with = [](Selected which) {
    return [which](float* d, ScaledWords words) { kernels::multiply_mxfp8(which, d, words); };
  };
  expect_products(with(Selected::first), 0, 0, 0, 0);
  expect_products(with(Selected::others), 3, 1, 1, 2);
}

TEST_F(ScaledMatrixTest, Nvfp4TakesFourScalesOfEachRowAndColumn) {
  use(nvfp4);
  const auto with = [](Selected which) {
    return [which](float* d, ScaledWords words) { kernels::multiply_nvfp4(which, d, words); };
  };
  expect_products(with(Selected::first), 0, 0, 0, 0);
  expect_products(with(Selected::others), 0, 1, 0, 3);
}

TEST_F(ScaledMatrixTest, LanesChooseTheSameScales) {
  use(mxfp8);
  const std::string fault =
      fault_of([&] { kernels::multiply_mxfp8(Selected::disagreeing, d_, words()); });
  EXPECT_NE(fault.find("mma.sync of whose lanes some choose other scales"), std::string::npos)
      << fault;
}

TEST_F(ScaledMatrixTest, ScalesOfNvfp4BeginWithTheirFirstByte) {
  use(nvfp4);
  const std::string fault = fault_of([&] { kernels::multiply_nvfp4_from_byte_1(d_, words()); });
  EXPECT_NE(fault.find("mma.sync that chooses scales which there are not"), std::string::npos)
      << fault;
}

// A NaN among the scales is one in the sums of its row, and 254 is the largest power of two.
TEST(ScaleValue, KnowsTheEndsOfBothFormats) {
  EXPECT_EQ(scale_value(Tensor::mxfp8, 0), 0x1p-127);
  EXPECT_EQ(scale_value(Tensor::mxfp8, 254), 0x1p127);
  EXPECT_TRUE(std::isnan(scale_value(Tensor::mxfp8, 255)));
  EXPECT_EQ(scale_value(Tensor::nvfp4, 0x01), 0x1p-9);
  EXPECT_EQ(scale_value(Tensor::nvfp4, 0x7e), 448);
  EXPECT_TRUE(std::isnan(scale_value(Tensor::nvfp4, 0x7f)));
  EXPECT_EQ(scale_value(Tensor::nvfp4, 0x80 | 0x7e), 448);  // it has no sign
}

}  // namespace
}  // namespace gpubench::model
