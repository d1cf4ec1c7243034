// What --explain says of kernels whose every lane is known by arithmetic.
#include "harness/platform/model/emulator/explain.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/model/emulator_fixture.hpp"
#include "tests/model/emulator_kernels.hpp"

namespace gpubench::model {
namespace {

class ExplainTest : public EmulatorTest {
 protected:
  template <class Launch>
  Explanation explain(Launch&& launch) {
    emulator.set_explaining(true);
    counts_of(launch);
    if (emulator.explanations().size() != 1) {
      ADD_FAILURE() << emulator.explanations().size() << " explanations instead of one";
      return {};
    }
    return emulator.explanations()[0];
  }
  static bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }
};

TEST_F(ExplainTest, AStridedLoadNamesEachLanesPlace) {
  const float* in = upload(numbers(1024));
  float* out = make<float>(32);
  const Explanation e = explain([&] { kernels::load_strided(4, out, in, 4, 5); });
  EXPECT_TRUE(has(e.kernel, "load_strided_kernel")) << e.kernel;
  ASSERT_EQ(e.accesses.size(), 2u);
  const ExplainedAccess& load = e.accesses[0];
  EXPECT_EQ(load.kind, "load");
  EXPECT_FALSE(load.shared);
  EXPECT_EQ(load.bytes, 4u);
  EXPECT_EQ(load.place, "an allocation of 4096 bytes");
  EXPECT_TRUE(has(load.where, "emulator_kernels.cpp:")) << load.where;
  EXPECT_EQ(load.requests, 1);
  EXPECT_EQ(load.moved, 16 + 1);  // two lanes a sector; the first and the last sector have one
  EXPECT_EQ(load.ideal, 4);
  ASSERT_EQ(load.lanes.size(), 32u);
  for (unsigned lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(load.lanes[lane].lane, lane);
    EXPECT_EQ(load.lanes[lane].offset, 4 * (5 + 4 * lane));
  }
  const std::string text = explanation_text(e);
  EXPECT_TRUE(has(text, "sectors per request, 4.25 times the minimum of 4")) << text;
  EXPECT_TRUE(has(text, "32        .      1      .      .      .      2      .      .")) << text;
}

TEST_F(ExplainTest, ABankConflictShowsWhoWaitsForWhom) {
  const float* in = upload(numbers(32 * 32));
  float* out = make<float>(32 * 32);
  const auto tile_load = [&](kernels::Tile tile) {
    const Explanation e = explain([&] { kernels::transpose(tile, out, in, 32); });
    const auto found = std::find_if(e.accesses.begin(), e.accesses.end(), [](const auto& access) {
      return access.shared && access.kind == "load";
    });
    EXPECT_NE(found, e.accesses.end());
    return std::pair(*found, explanation_text(e));
  };
  const auto [plain, text] = tile_load(kernels::Tile::plain);
  EXPECT_EQ(plain.place, "'tile'");
  EXPECT_EQ(plain.requests, 4);  // of a warp: rows 0, 8, 16 and 24
  EXPECT_EQ(plain.moved, 4 * 32);
  EXPECT_EQ(plain.ideal, 4);
  ASSERT_EQ(plain.wavefronts.size(), 32u);
  for (int i = 0; i < 32; ++i) {  // column 0 of the tile: one bank, a lane at a time
    ExplainedAccess::Wavefront expected;
    expected.fill(-1);
    expected[0] = i;
    EXPECT_EQ(plain.wavefronts[static_cast<std::size_t>(i)], expected);
  }
  EXPECT_TRUE(has(text, "bank 0 has different words for lanes 0 1 2 3 4 5")) << text;
  EXPECT_TRUE(has(text, "and 16 more wavefronts")) << text;
  for (const kernels::Tile tile : {kernels::Tile::padded, kernels::Tile::swizzled}) {
    const ExplainedAccess access = tile_load(tile).first;
    ASSERT_EQ(access.wavefronts.size(), 1u);
    EXPECT_EQ(access.moved, access.ideal);
    for (int bank = 0; bank < 32; ++bank) {
      EXPECT_EQ(access.wavefronts[0][static_cast<std::size_t>(bank)], bank);
    }
  }
}

TEST_F(ExplainTest, TheTextFitsTheTerminal) {
  const float* in = upload(numbers(32 * 32));
  float* out = make<float>(1 << 16);
  for (const Explanation& e :
       {explain([&] { kernels::transpose(kernels::Tile::plain, out, in, 32); }),
        explain([&] { kernels::load_strided(16, out, in, 7, 1); }),
        explain([&] { kernels::load_shared(8, out, 17, 32, 40 * 1024); }),
        explain([&] { kernels::load_strided(4, out, in, 0, 0); })}) {
    std::istringstream text(explanation_text(e));
    for (std::string line; std::getline(text, line);) EXPECT_LE(line.size(), 100u) << line;
  }
}

TEST_F(ExplainTest, OnlyWhatIsAskedForIsExplained) {
  const float* in = upload(numbers(1024));
  float* out = make<float>(1024);
  counts_of([&] { kernels::copy(out, in, 1024, 4, 256); });
  EXPECT_TRUE(emulator.explanations().empty());
  const Explanation e = explain([&] { kernels::copy(out, in, 1024, 4, 256); });
  EXPECT_EQ(e.block, (std::array<unsigned, 3>{0, 0, 0}));
  EXPECT_EQ(e.accesses.at(0).requests, 1);  // of the first warp of the first block alone
  emulator.forget_runs();
  EXPECT_TRUE(emulator.explanations().empty());
}

TEST_F(ExplainTest, AsJsonAnAbsentLaneIsNull) {
  const float* in = upload(numbers(32 * 32));
  float* out = make<float>(32 * 32);
  const auto json =
      explanation_json(explain([&] { kernels::transpose(kernels::Tile::plain, out, in, 32); }));
  ASSERT_EQ(json.at("accesses").size(), 4u);
  const auto& load = json.at("accesses").at(2);
  EXPECT_EQ(load.at("space"), "shared");
  EXPECT_EQ(load.at("wavefronts_per_request"), 32);
  EXPECT_EQ(load.at("ideal_wavefronts_per_request"), 1);
  EXPECT_EQ(load.at("wavefronts").at(5).at(0), 5);
  EXPECT_TRUE(load.at("wavefronts").at(5).at(1).is_null());
  EXPECT_EQ(load.at("lanes").at(5).at("offset"), 5 * 32 * 4);
  EXPECT_FALSE(json.at("accesses").at(0).contains("wavefronts"));
}

}  // namespace
}  // namespace gpubench::model
