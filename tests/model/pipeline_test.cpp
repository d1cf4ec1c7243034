// Asynchronous copies to shared memory.
#include <gtest/gtest.h>

#include <array>

#include "tests/model/emulator_fixture.hpp"
#include "tests/model/pipeline_kernels.hpp"

namespace gpubench::model {
namespace {

class PipelineTest : public EmulatorTest {
 protected:
  double load_groups() const { return emulator.runs()[0].profile.load_groups; }
};

TEST_F(PipelineTest, ACopyIsALoadAndAStoreOfItsWidth) {
  const std::vector<float> in = numbers(32 * 4);
  const float* from = upload(in);
  float* to = make<float>(32 * 4);
  for (const unsigned width : {4u, 8u, 16u}) {
    const Counts counts = counts_of([&] { kernels::copy_through_shared(width, to, from); });
    expect_access(counts.at(Space::global, Access::load), 1, 32, 32 * width);
    expect_access(counts.at(Space::shared, Access::store), 1, 32, 32 * width);
    EXPECT_EQ(counts.at(Space::global, Access::load).sectors, width);
    EXPECT_EQ(counts.at(Space::shared, Access::store).wavefronts, width / 4);
    EXPECT_EQ(counts.async_copies, 1);
    EXPECT_EQ(load_groups(), 1);
    const auto out = download(to, 8 * width);
    EXPECT_TRUE(std::equal(out.begin(), out.end(), in.begin())) << width;
  }
}

TEST_F(PipelineTest, TheEndOfACopyIsZeros) {
  const std::vector<float> in(32 * 4, 7);
  const float* from = upload(in);
  float* to = make<float>(32 * 4);
  for (const std::size_t zeros : {0u, 4u, 8u, 12u, 16u}) {
    const Counts counts = counts_of([&] { kernels::copy_through_shared(16, to, from, zeros); });
    EXPECT_EQ(counts.at(Space::global, Access::load).bytes, 32.0 * (16 - zeros));
    expect_access(counts.at(Space::shared, Access::store), 1, 32, 32 * 16);
    EXPECT_EQ(load_groups(), zeros == 16 ? 0 : 1);
    const auto out = download(to, 32 * 4);
    for (std::size_t i = 0; i < out.size(); ++i) {
      EXPECT_EQ(out[i], i % 4 * 4 < 16 - zeros ? 7 : 0) << zeros << ' ' << i;
    }
  }
  // What is not read may lie beyond the end.
  const float* short_of = upload(std::vector<float>(31 * 4 + 1, 7));
  counts_of([&] { kernels::copy_through_shared(16, to, short_of, 12); });
  EXPECT_NE(fault_of([&] {
              kernels::copy_through_shared(16, to, short_of);
            }).find("out of bounds: 16-byte load of an asynchronous copy"),
            std::string::npos);
}

TEST_F(PipelineTest, WaitsShrinkAsTilesAreUnderWay) {
  constexpr unsigned tiles = 8;
  const std::vector<float> in = numbers(32 * tiles);
  const float* from = upload(in);
  float* to = make<float>(32);
  for (const unsigned stages : {1u, 2u, 4u}) {
    const Counts counts = counts_of([&] { kernels::sum_tiles(stages, to, from, tiles); });
    EXPECT_EQ(counts.async_copies, tiles);
    // Each tile is waited for once, by the share of the latency that its successors leave.
    EXPECT_NEAR(load_groups(), static_cast<double>(tiles) / stages, 1e-9);
    const auto out = download(to, 32);
    for (unsigned lane = 0; lane < 32; ++lane) {
      float sum = 0;
      for (unsigned tile = 0; tile < tiles; ++tile) sum += in[tile * 32 + 31 - lane];
      EXPECT_EQ(out[lane], sum);
    }
  }
}

TEST_F(PipelineTest, MistakesAreNamed) {
  const std::array<std::pair<kernels::Mistake, const char*>, 6> mistakes = {{
      {kernels::Mistake::size, "copy of 12 bytes (it takes 4, 8 or 16)"},
      {kernels::Mistake::zeros, "copy of 8 bytes with more zeros"},
      {kernels::Mistake::target, "copy of 8 bytes to a misaligned address"},
      {kernels::Mistake::source, "copy of 8 bytes from a misaligned address"},
      {kernels::Mistake::to_global, "to what is not shared memory"},
      {kernels::Mistake::from_shared, "from what is not global memory"},
  }};
  for (const auto& [mistake, words] : mistakes) {
    const float* in = upload(numbers(32));
    float* out = make<float>(32);
    const std::string fault = fault_of([&] { kernels::copy_wrongly(mistake, out, in); });
    EXPECT_NE(fault.find(words), std::string::npos) << fault;
    EXPECT_NE(fault.find("pipeline_kernels.cpp:" + std::to_string(kernels::copy_line)),
              std::string::npos)
        << fault;
  }
}

}  // namespace
}  // namespace gpubench::model
