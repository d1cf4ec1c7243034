// Kernels on half and bfloat16: what they compute, and that an access stays one access.
#include <gtest/gtest.h>

#include "tests/model/emulator_fixture.hpp"
#include "tests/model/types_kernels.hpp"

namespace gpubench::model {
namespace {

class TypesTest : public EmulatorTest {
 protected:
  static constexpr unsigned lanes = 32;
  std::vector<__half2> pairs() {
    std::vector<__half2> values;
    for (unsigned i = 0; i < lanes; ++i) values.push_back(__floats2half2_rn(i, -0.25f * i));
    return values;
  }
  // One request for all lanes, of `bytes` a lane.
  static void expect_one_access(const AccessCounts& counts, double bytes) {
    expect_access(counts, 1, lanes, lanes * bytes);
    EXPECT_EQ(counts.sectors, counts.requests == 0 ? 0 : counts.bytes / sector_bytes);
  }
};

TEST_F(TypesTest, AHalfIsOneAccessOfTwoBytes) {
  std::vector<__half> in;
  for (unsigned i = 0; i < lanes; ++i) in.push_back(i);
  const __half* from = upload(in);
  __half* to = make<__half>(lanes);
  const Counts counts = counts_of([&] { kernels::copy_halves(to, from); });
  for (const Access kind : {Access::load, Access::store}) {
    expect_one_access(counts.at(Space::global, kind), 2);
  }
  const auto out = download(to, lanes);
  for (unsigned i = 0; i < lanes; ++i) EXPECT_EQ(out[i].bits(), in[i].bits());
}

TEST_F(TypesTest, APairIsOneAccessOfFourBytes) {
  const auto in = pairs();
  const __half2* from = upload(in);
  __half2* to = make<__half2>(lanes);
  // Also when a kernel wants its members.
  for (const auto kernel : {kernels::copy_pairs, kernels::swap_pairs}) {
    const Counts counts = counts_of([&] { kernel(to, from); });
    for (const Access kind : {Access::load, Access::store}) {
      expect_one_access(counts.at(Space::global, kind), 4);
    }
  }
  const auto out = download(to, lanes);
  for (unsigned i = 0; i < lanes; ++i) {
    EXPECT_EQ(out[i].x.bits(), in[i].y.bits());
    EXPECT_EQ(out[i].y.bits(), in[i].x.bits());
  }
}

TEST_F(TypesTest, PairsInSharedMemory) {
  const auto in = pairs();
  __half2* to = make<__half2>(lanes);
  const __half2* from = upload(in);
  const Counts counts = counts_of([&] { kernels::stage_pairs(to, from); });
  for (const Access kind : {Access::load, Access::store}) {
    expect_access(counts.at(Space::shared, kind), 1, lanes, 4 * lanes);
    EXPECT_EQ(counts.at(Space::shared, kind).wavefronts, 1);
  }
  const auto out = download(to, lanes);
  for (unsigned i = 0; i < lanes; ++i) EXPECT_EQ(out[i].bits(), in[lanes - 1 - i].bits());
}

TEST_F(TypesTest, InstructionsOfTheHalfUnitAreCounted) {
  constexpr unsigned trips = 10;
  const auto in = pairs();
  const __half2* from = upload(in);
  __half2* to = make<__half2>(lanes);
  // x -> x / 2 + 1 ends near 2; the halves of these inputs are exact for ten steps to 11 bits.
  const auto expected = [](float x) {
    __half h = x;
    for (unsigned k = 0; k < trips; ++k) h = __hfma(h, __half(0.5f), __half(1.0f));
    return h.bits();
  };
  Counts counts = counts_of([&] { kernels::fuse_pairs(to, from, trips); });
  EXPECT_EQ(counts.fma_fp16x2, trips * lanes);  // one for both
  EXPECT_EQ(counts.fma_fp32, 0);
  auto out = download(to, lanes);
  for (unsigned i = 0; i < lanes; ++i) {
    EXPECT_EQ(out[i].x.bits(), expected(in[i].x));
    EXPECT_EQ(out[i].y.bits(), expected(in[i].y));
  }

  // Multiplication and addition apart are an instruction each, on one half as on two.
  auto* halves = reinterpret_cast<const __half*>(from);
  auto* out_halves = make<__half>(lanes);
  counts = counts_of([&] { kernels::fuse_halves(out_halves, halves, trips); });
  EXPECT_EQ(counts.fma_fp16x2, 2 * trips * lanes);
  const auto results = download(out_halves, lanes);
  for (unsigned i = 0; i < lanes; ++i) {
    const __half x = i % 2 == 0 ? in[i / 2].x : in[i / 2].y;
    EXPECT_EQ(results[i].bits(), expected(x)) << i;  // a halved number is exact: the same
  }

  std::vector<__nv_bfloat162> wide(lanes, __nv_bfloat162(3.0f, 1.0f));
  const __nv_bfloat162* wide_from = upload(wide);
  __nv_bfloat162* wide_to = make<__nv_bfloat162>(lanes);
  counts = counts_of([&] { kernels::fuse_bfloats(wide_to, wide_from, 1); });
  EXPECT_EQ(counts.fma_bf16x2, lanes);
  EXPECT_EQ(counts.fma_fp16x2, 0);
  EXPECT_EQ(float{download(wide_to, lanes)[5].x}, 2.5f);
  EXPECT_EQ(float{download(wide_to, lanes)[5].y}, 1.5f);
}

// Device functions without an access: the host may call them too.
TEST(MinAndMax, ConvertAsCudasDo) {
  EXPECT_EQ(min(3, -5), -5);
  EXPECT_EQ(max(3, -5), 3);
  EXPECT_EQ(max(-1, 1u), 0xffffffffu);  // both are unsigned
  EXPECT_EQ(min(1ull << 40, -1ll), 1ull << 40);
  EXPECT_EQ(max(0.5f, NAN), 0.5f);
  EXPECT_EQ(min(NAN, 0.5), 0.5);
  EXPECT_EQ(min(1.0f, 0.25), 0.25);
}

TEST_F(TypesTest, Shuffles) {
  const auto in = pairs();
  __half2* to = make<__half2>(lanes);
  __half* low = make<__half>(lanes);
  const __half2* from = upload(in);
  kernels::exchange_pairs(to, low, from);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess) << diagnostic;
  const auto out = download(to, lanes);
  const auto lows = download(low, lanes);
  for (unsigned i = 0; i < lanes; ++i) {
    EXPECT_EQ(out[i].bits(), in[i ^ 1].bits());
    EXPECT_EQ(lows[i].bits(), in[std::min(i + 1, lanes - 1)].x.bits());
  }
}

}  // namespace
}  // namespace gpubench::model
