// Instructions of warps by class: what is counted, and once a warp.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numbers>
#include <string>

#include "tests/model/emulator_fixture.hpp"
#include "tests/model/emulator_kernels.hpp"
#include "tests/model/instructions_kernels.hpp"
#include "tests/model/pipeline_kernels.hpp"

namespace gpubench::model {
namespace {

using InstructionsTest = EmulatorTest;

std::map<std::string, double> by_class(const Counts& counts) {
  const auto instructions = instructions_of(counts);
  return {instructions.begin(), instructions.end()};
}

TEST_F(InstructionsTest, SpecialFunctionsAreIssuedByWarps) {
  const float* in = upload(std::vector<float>(96, 0.5f));
  float* out = make<float>(96);
  const auto special = [&](unsigned split, unsigned threads) {
    return counts_of([&] { kernels::branch_to_special(out, in, split, threads); }).special;
  };
  // tanhf takes two operations, rsqrtf and sqrtf one each: both branches in a warp that diverges.
  EXPECT_EQ(special(32, 32), 2);
  EXPECT_EQ(special(0, 32), 2);
  EXPECT_EQ(special(1, 32), 4);
  EXPECT_EQ(special(31, 32), 4);
  EXPECT_EQ(special(16, 96), 12);
  EXPECT_EQ(special(16, 80), 10 + 2 - 2 * (80 % 32 <= 16));  // the last warp has only the first
  const std::vector<float> values = download(out, 32);
  EXPECT_FLOAT_EQ(values[0], std::tanh(0.5f));
  EXPECT_FLOAT_EQ(values[31], std::sqrt(2.0f) + std::sqrt(0.5f));
}

TEST_F(InstructionsTest, ALoopOfSpecialFunctionsTakesItsLongestLane) {
  const float* in = upload(std::vector<float>(32, 1.0f));
  float* out = make<float>(32);
  EXPECT_EQ(counts_of([&] { kernels::special_by_trips(out, in); }).special, 3);
  EXPECT_FLOAT_EQ(download(out, 32)[7], 3 * std::numbers::e_v<float>);
}

TEST_F(InstructionsTest, EveryNamedFunctionIsCountedAndComputed) {
  float* out = make<float>(kernels::special_functions);
  const auto run = [&](float x) {
    const float* in = upload(std::vector<float>{x});
    return counts_of([&] { kernels::all_special(out, in, 1); }).special;
  };
  double sum = 0;
  const auto take = [&](unsigned operations) { sum += operations; };
#define GPUBENCH_SUM(name, operations) take(operations);
  GPUBENCH_SPECIAL_OF_LIBM(GPUBENCH_SUM)
  GPUBENCH_SPECIAL_OF_LIBM_OF_TWO(GPUBENCH_SUM)
  GPUBENCH_SPECIAL_OF_CUDA(GPUBENCH_SUM)
  GPUBENCH_SPECIAL_OF_CUDA_OF_TWO(GPUBENCH_SUM)
#undef GPUBENCH_SUM
  EXPECT_EQ(run(0.75f), sum);      // erff is a polynomial there
  EXPECT_EQ(run(1.25f), sum + 1);  // and here it is not
  const double x = 1.25;
  const std::vector<double> expected = {std::atan(x),
                                        std::cbrt(x),
                                        std::cosh(x),
                                        std::erfc(x),
                                        std::pow(10, x),
                                        std::exp2(x),
                                        std::exp(x),
                                        std::expm1(x),
                                        std::sinh(x),
                                        std::sqrt(x),
                                        std::tanh(x),
                                        std::atan2(x, 2),
                                        std::hypot(x, 2),
                                        std::pow(x, 2),
                                        std::cos(x),
                                        std::pow(10, x),
                                        std::exp(x),
                                        1 / x,
                                        std::sqrt(x),
                                        std::log10(x),
                                        std::log2(x),
                                        std::log(x),
                                        std::sin(x),
                                        std::tan(x),
                                        1 / std::cbrt(x),
                                        1 / std::sqrt(x),
                                        x / 2,
                                        x / 2,
                                        std::pow(x, 2),
                                        std::erf(x)};
  ASSERT_EQ(expected.size(), kernels::special_functions);
  const std::vector<float> values = download(out, expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(values[i], expected[i], 1e-6 * expected[i]) << "function " << i;
  }
}

TEST_F(InstructionsTest, ByClass) {
  const unsigned blocks = 3;
  const float* in = upload(numbers(blocks * 32));
  double* wide = make<double>(blocks * 32);
  unsigned* bins = upload(std::vector<unsigned>{0});
  const Counts counts = counts_of([&] { kernels::one_of_each(wide, bins, in, blocks); });
  const std::map<std::string, double> a_block = {
      {"global_load", 2},  {"global_store", 1},  {"global_atomic", 1}, {"shared_load", 3},
      {"shared_store", 3}, {"shared_atomic", 1}, {"fma_fp32", 5},      {"fma_fp64", 6},
      {"add_fp32", 3},     {"max_fp32", 2},      {"pack_16x2", 2},     {"shuffle", 4},
      {"vote", 1},         {"barrier", 2},       {"warp_barrier", 1}};
  std::map<std::string, double> expected = a_block;
  for (auto& [name, count] : expected) count *= blocks;
  EXPECT_EQ(by_class(counts), expected);
  EXPECT_EQ(download(bins, 1)[0], blocks * 32);
}

TEST_F(InstructionsTest, AnAsynchronousCopyIsOneInstructionHoweverItIsCut) {
  const float* in = upload(numbers(128));
  float* out = make<float>(128);
  const auto whole = by_class(counts_of([&] { kernels::copy_through_shared(16, out, in); }));
  const auto cut = by_class(counts_of([&] { kernels::copy_through_shared(16, out, in, 4); }));
  EXPECT_EQ(whole, cut);
  EXPECT_EQ(whole.at("async_copy"), 1);
  EXPECT_FALSE(whole.contains("global_load"));
  EXPECT_FALSE(whole.contains("shared_store"));
}

TEST_F(InstructionsTest, VotesOfAPartialWarp) {
  for (const unsigned threads : {32u, 40u, 33u, 7u}) {
    unsigned* out = make<unsigned>(5 * threads);
    const Counts counts = counts_of([&] { kernels::votes_in_part(out, threads); });
    EXPECT_EQ(counts.at(WarpOperation::vote), 5 * ((threads + 31) / 32));
    const unsigned lanes = threads % 32 == 0 ? 32 : threads % 32;
    const std::vector<unsigned> values = download(out, 5 * threads);
    const std::vector<unsigned> of_last(values.end() - 5, values.end());
    EXPECT_EQ(of_last, (std::vector<unsigned>{~0u >> (32 - lanes), 1, 0, 1, 0})) << threads;
  }
}

TEST_F(InstructionsTest, WhoHasEndedIsNotWaitedFor) {
  for (const auto& [first, last] :
       {std::pair{0u, 32u}, {4u, 32u}, {0u, 20u}, {7u, 8u}, {3u, 30u}}) {
    unsigned* out = upload(std::vector<unsigned>(96, 7));
    const Counts counts =
        counts_of([&, f = first, l = last] { kernels::votes_without_the_ended(out, f, l); });
    EXPECT_EQ(counts.at(WarpOperation::vote), 2);
    EXPECT_EQ(counts.at(WarpOperation::warp_barrier), 1);
    EXPECT_EQ(counts.at(WarpOperation::shuffle), 1);
    const std::vector<unsigned> values = download(out, 96);
    unsigned odd = 0;
    for (unsigned lane = first; lane < last; ++lane) odd |= lane % 2 << lane;
    for (unsigned lane = 0; lane < 32; ++lane) {
      const bool within = lane >= first && lane < last;
      EXPECT_EQ(values[lane], within ? odd : 7);
      EXPECT_EQ(values[32 + lane], within ? 1 : 7);
      EXPECT_EQ(values[64 + lane], !within ? 7 : lane + 1 < last ? lane + 1 : lane);
    }
  }
}

// --- races between blocks ---

TEST_F(InstructionsTest, BlocksThatComeByTheSameBytes) {
  constexpr unsigned blocks = 8;
  unsigned* words = upload(std::vector<unsigned>(1024));
  using kernels::Sharing;
  const auto line = [](int number) { return "instructions_kernels.cpp:" + std::to_string(number); };
  const std::string stored =
      fault_of([&] { kernels::share(Sharing::one_word_stored, words, blocks); });
  EXPECT_NE(stored.find("race between blocks: bytes 28..31 of an allocation of 4096 bytes are "
                        "written by block ("),
            std::string::npos)
      << stored;
  EXPECT_NE(stored.find(line(kernels::stored_line)), std::string::npos) << stored;
  const std::string loaded =
      fault_of([&] { kernels::share(Sharing::neighbours_loaded, words, blocks); });
  EXPECT_NE(loaded.find("race between blocks: bytes 128..159"), std::string::npos) << loaded;
  // Whichever block came later, it says where it was.
  EXPECT_TRUE(loaded.find(line(kernels::loaded_line)) != std::string::npos ||
              loaded.find(line(kernels::loaded_line - 2)) != std::string::npos)
      << loaded;
  for (const Sharing fine :
       {Sharing::bytes_of_a_sector, Sharing::one_word_loaded, Sharing::ordered_by_atomics}) {
    counts_of([&] { kernels::share(fine, words, blocks); });
  }
  // One block is in nobody's way, and launches of a stream are in order.
  counts_of([&] { kernels::share(Sharing::one_word_stored, words, 1); });
  counts_of([&] { kernels::share(Sharing::one_word_stored, words, 1); });
}

}  // namespace
}  // namespace gpubench::model
