// CUDA as people write it: what a call by one name is, and what it counts.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "harness/platform/model/emulator/vain_wait.hpp"
#include "tests/model/emulator_fixture.hpp"
#include "tests/model/language_kernels.hpp"

namespace gpubench::model {
namespace {

using LanguageTest = EmulatorTest;

TEST_F(LanguageTest, AbsIsOfEveryType) {
  auto* const out = upload<kernels::Numbers>({{-1.5f, -2.25, -(1ll << 40)}});
  kernels::absolutes(out);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess) << diagnostic;
  const auto numbers = download(out, 1);
  EXPECT_EQ(numbers[0].single, 1.5f);
  EXPECT_EQ(numbers[0].twice, 2.25);
  EXPECT_EQ(numbers[0].whole, 1ll << 40);
}

TEST_F(LanguageTest, FunctionsOfFloatsAreCountedByWhateverName) {
  const float* in = upload(std::vector<float>(32, 0.25f));
  float* out = make<float>(32);
  const Counts counts = counts_of([&] { kernels::functions_by_plain_names(out, in); });
  EXPECT_EQ(counts.special, 1 + 1 + 1 + 2);  // two roots, an exponential; tanhf takes two
  EXPECT_EQ(counts.issues(Arithmetic::fma_fp32), 2);
  EXPECT_EQ(counts.issues(Arithmetic::max_fp32), 1);
  EXPECT_FLOAT_EQ(download(out, 1)[0], 1 + std::exp(0.25f) + std::tanh(0.25f) + 2 * 0.3125f + 0.5f);
}

TEST_F(LanguageTest, NumbersAreClassified) {
  using Limits = std::numeric_limits<float>;
  const float* in = upload<float>({1, Limits::quiet_NaN(), Limits::infinity(), -1});
  int* out = make<int>(16);
  kernels::classes(out, in);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess) << diagnostic;
  EXPECT_EQ(download(out, 16), (std::vector<int>{0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1}));
}

// nvcc knows no alignment at a memcpy, and moves single bytes.
TEST_F(LanguageTest, BytesAreMovedAndCounted) {
  using kernels::Bytes;
  for (const std::size_t bytes : {4, 16, 17, 64}) {
    std::vector<unsigned char> values(32 * bytes);
    std::iota(values.begin(), values.end(), static_cast<unsigned char>(3));
    const unsigned char* in = upload(values);
    for (const Bytes how : {Bytes::by_memcpy, Bytes::by_std_memcpy, Bytes::by_memmove,
                            Bytes::through_shared, Bytes::by_memset}) {
      unsigned char* out = make<unsigned char>(values.size());
      const Counts counts = counts_of([&] { kernels::move_bytes(how, out, in, bytes); });
      const auto each = static_cast<double>(bytes);
      expect_access(counts.at(Space::global, Access::store), each, 32 * each, 32 * each);
      const double loads = how == Bytes::by_memset ? 0 : each;
      expect_access(counts.at(Space::global, Access::load), loads, 32 * loads, 32 * loads);
      const double shared = how == Bytes::through_shared ? each : 0;
      EXPECT_EQ(counts.at(Space::shared, Access::store).requests, 2 * shared);
      EXPECT_EQ(counts.at(Space::shared, Access::load).requests, shared);
      const std::vector<unsigned char> set(values.size(), 0x11);
      EXPECT_EQ(download(out, values.size()), how == Bytes::by_memset ? set : values);
    }
  }
}

TEST_F(LanguageTest, BytesThatOverlapAreMovedWhole) {
  for (const bool shared : {false, true}) {
    auto* const bytes = upload<unsigned char>({1, 2, 3, 4, 5});
    kernels::shift_bytes(bytes, 5, shared);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess) << diagnostic;
    EXPECT_EQ(download(bytes, 5), (std::vector<unsigned char>{1, 1, 2, 3, 4}));
  }
}

TEST_F(LanguageTest, MovedBytesStayWithinBounds) {
  unsigned char* out = make<unsigned char>(32 * 20 - 1);
  const auto* in = upload(std::vector<unsigned char>(32 * 20, 1));
  const std::string fault =
      fault_of([&] { kernels::move_bytes(kernels::Bytes::by_memcpy, out, in, 20); });
  EXPECT_NE(fault.find("out of bounds: 1-byte store at byte 639"), std::string::npos) << fault;
  EXPECT_NE(fault.find("language_kernels.cpp:"), std::string::npos) << fault;
}

TEST_F(LanguageTest, FunctionsStoreTheirOtherResults) {
  float* out = make<float>(6);
  const Counts counts = counts_of([&] { kernels::store_two_results(out, upload<float>({2.75f})); });
  EXPECT_EQ(counts.at(Space::global, Access::store).requests, 6);
  EXPECT_EQ(download(out, 6),
            (std::vector<float>{std::sin(2.75f), std::cos(2.75f), 2, 0.75f, 2, 0.6875f}));
}

TEST_F(LanguageTest, NoKernelReadsAClock) {
  for (const auto which : {kernels::Clock::of_the_host, kernels::Clock::of_the_sm}) {
    const std::string fault = fault_of([&] { kernels::read_clock(which, make<long long>(1)); });
    EXPECT_NE(fault.find("the SM's clock, which the model does not have, read"), std::string::npos)
        << fault;
  }
}

// Nobody would count it, nor keep blocks apart there.
TEST_F(LanguageTest, NoKernelChangesAVariableOfTheProgram) {
  for (const auto& [how, access] : {std::pair(kernels::Change::by_store, "4-byte store"),
                                    std::pair(kernels::Change::by_atomic, "4-byte atomic")}) {
    const std::string fault = fault_of([&, which = how] { kernels::change_variable(which); });
    EXPECT_NE(fault.find(std::string(access) + " to a variable of the program"), std::string::npos)
        << fault;
    EXPECT_NE(fault.find("language_kernels.cpp:"), std::string::npos) << fault;
  }
}

class StructTest : public EmulatorTest {
 protected:
  // Requests of a warp's loads, each thread a struct of `bytes`, the first at byte `offset`.
  template <class Struct>
  double loads_at(std::size_t offset) {
    std::vector<unsigned char> values(32 * sizeof(Struct) + offset);
    std::iota(values.begin(), values.end(), static_cast<unsigned char>(1));
    const unsigned char* in = upload(values);
    unsigned char* out = make<unsigned char>(values.size());
    const AccessCounts loads = loads_of([&] {
      kernels::copy_structs(reinterpret_cast<Struct*>(out + offset),
                            reinterpret_cast<const Struct*>(in + offset));
    });
    const auto after = static_cast<std::ptrdiff_t>(offset);
    const auto copied = download(out, values.size());
    EXPECT_TRUE(std::equal(values.begin() + after, values.end(), copied.begin() + after));
    EXPECT_EQ(loads.bytes, 32.0 * sizeof(Struct));
    return loads.requests;
  }
  bool guesses() { return emulator.runs()[0].profile.has_guessed_structs; }
};

TEST_F(StructTest, OfSixteenBytesMayLieAtMultiplesOfEight) {
  EXPECT_EQ(loads_at<kernels::Complex>(8), 2);
  EXPECT_FALSE(guesses());
  EXPECT_EQ(loads_at<kernels::Complex>(0), 1);  // or two: nobody tells that it is aligned to 8
  EXPECT_TRUE(guesses());
  EXPECT_EQ(loads_at<kernels::Aligned>(0), 1);
  EXPECT_TRUE(guesses());
}

TEST_F(StructTest, OfManyBytesAreWords) {
  EXPECT_EQ(loads_at<kernels::Doubles>(0), 12);  // or six
  EXPECT_TRUE(guesses());
}

TEST_F(StructTest, OfLettersMayLieAnywhere) {
  EXPECT_EQ(loads_at<kernels::Letters>(4), 2);
  EXPECT_EQ(loads_at<kernels::Letters>(1), 8);
  EXPECT_EQ(loads_at<kernels::Letters>(2), 4);
}

TEST_F(StructTest, OfTwoOrFourBytesAreMadeOfLetters) {
  EXPECT_EQ(loads_at<kernels::TwoBytes>(0), 2);
  EXPECT_FALSE(guesses());
  EXPECT_EQ(loads_at<kernels::Pixel>(0), 4);
  EXPECT_TRUE(guesses());  // they might be two of `short`
}

TEST_F(StructTest, ThatAreCudasVectorsAreKnown) {
  EXPECT_EQ(loads_at<double4>(0), 2);
  EXPECT_FALSE(guesses());
}

// The last block runs first.
TEST_F(LanguageTest, AWaitForABlockThatDoesNotRunMeanwhileEnds) {
  const std::string fault = fault_of([&] { kernels::wait_for_flag(upload<int>({0}), 1); });
  EXPECT_NE(fault.find("as if to wait for another thread or block"), std::string::npos) << fault;
  EXPECT_NE(fault.find("language_kernels.cpp:"), std::string::npos) << fault;
}

TEST_F(LanguageTest, AWaitIsALoopThatLoadsTheSameWords) {
  const auto load = make_event(&memory, EventKind::load, 4);
  const auto trace_of = [&](Event another, std::uint64_t step) {
    auto trace = std::make_unique<LaneTrace>();
    for (std::uint64_t i = 0; i < 1000; ++i) {
      for (const Event e : {load, another}) {
        trace->events.push(e);
        if (is_access(e)) trace->addresses.push(4096 + i * step);
      }
    }
    return trace;
  };
  const auto block = make_event(&memory, EventKind::block);
  EXPECT_TRUE(is_vain_wait(*trace_of(block, 0)));
  EXPECT_FALSE(is_vain_wait(*trace_of(block, 4)));
  EXPECT_FALSE(is_vain_wait(*trace_of(make_event(&memory, EventKind::store, 4), 0)));
  EXPECT_FALSE(is_vain_wait(*trace_of(make_event(&memory, EventKind::atomic, 4), 0)));
  EXPECT_FALSE(is_vain_wait(*trace_of(make_event(&memory, EventKind::collective), 0)));
  EXPECT_FALSE(is_vain_wait(*trace_of(make_event(&memory, EventKind::arithmetic, 8), 0)));
}

TEST_F(LanguageTest, ALoopThatEndsIsNoWait) {
  float* out = make<float>(1);
  kernels::load_one_word(out, upload<float>({1}), 1 << 20);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess) << diagnostic;
  EXPECT_EQ(download(out, 1)[0], 1 << 20);
}

TEST_F(LanguageTest, AThreadHasAsMuchLocalMemoryAsCudasHas) {
  int* out = make<int>(1);
  kernels::use_local_array(out, kernels::most_local_bytes);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess) << diagnostic;
  EXPECT_EQ(download(out, 1)[0], 1000);
}

TEST_F(LanguageTest, AtomicsFindAndLeaveWhatCudasDo) {
  int* words = upload<int>({100, 5, 7, -1, 0, 0, 0, 0, -1, 0});
  unsigned* found = make<unsigned>(128);
  const Counts counts = counts_of([&] { kernels::atomics(words, found); });
  EXPECT_EQ(counts.at(Space::global, Access::atomic).requests, 10);
  unsigned toggled = 0;
  for (unsigned lane = 0; lane < 32; ++lane) toggled ^= 3u << lane;
  EXPECT_EQ(download(words, 10), (std::vector<int>{100 - 31 * 16, -31, 31, 0, -1,
                                                   static_cast<int>(toggled), 32 % 5, 3, 31, 32}));
  const auto values = download(found, 128);
  for (unsigned lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(values[lane], lane % 5);
    EXPECT_EQ(values[32 + lane], (5 - lane % 5) % 5);
    EXPECT_EQ(values[64 + lane], lane - 1);
    EXPECT_EQ(values[96 + lane], lane);
  }
}

TEST_F(LanguageTest, BlocksVote) {
  int* out = make<int>(6 * 64);
  const Counts counts = counts_of([&] { kernels::block_votes(out); });
  EXPECT_EQ(counts.barriers, 6 * 2);
  const auto values = download(out, 6 * 64);
  for (std::size_t i = 0; i < values.size(); i += 6) {
    EXPECT_EQ(std::vector<int>(values.begin() + static_cast<std::ptrdiff_t>(i),
                               values.begin() + static_cast<std::ptrdiff_t>(i) + 6),
              (std::vector<int>{22, 0, 1, 64, 1, 0}));
  }
}

TEST_F(LanguageTest, WarpsMatchAndReduce) {
  unsigned* out = make<unsigned>(6 * 32);
  const Counts counts = counts_of([&] { kernels::matches(out); });
  EXPECT_EQ(counts.at(WarpOperation::vote), 3);
  EXPECT_EQ(counts.at(WarpOperation::shuffle), 3);
  const auto values = download(out, 6 * 32);
  for (unsigned lane = 0; lane < 32; ++lane) {
    const unsigned* const mine = &values[6 * lane];
    EXPECT_EQ(mine[0], 0x11111111u << lane % 4);
    EXPECT_EQ(mine[1], 0u);
    EXPECT_EQ(mine[2], ~0u);
    EXPECT_EQ(mine[3], 31u * 16);
    EXPECT_EQ(static_cast<int>(mine[4]), -31);
    EXPECT_EQ(mine[5], ~0u);
  }
}

}  // namespace
}  // namespace gpubench::model
