// Asynchronous copies to shared memory.
#include <gtest/gtest.h>

#include <array>

#include "tests/model/emulator_fixture.hpp"
#include "tests/model/pipeline_kernels.hpp"

namespace gpubench::model {
namespace {

class PipelineTest : public EmulatorTest {
 protected:
  double waits() const {
    const Waiting& of_slowest = emulator.runs()[0].profile.waits;
    return of_slowest.load_groups + of_slowest.copy_waits;
  }
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
    EXPECT_EQ(waits(), 1);
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
    EXPECT_EQ(waits(), zeros == 16 ? 0 : 1);
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
    EXPECT_NEAR(waits(), static_cast<double>(tiles) / stages, 1e-9);
    const auto out = download(to, 32);
    for (unsigned lane = 0; lane < 32; ++lane) {
      float sum = 0;
      for (unsigned tile = 0; tile < tiles; ++tile) sum += in[tile * 32 + 31 - lane];
      EXPECT_EQ(out[lane], sum);
    }
  }
}

TEST_F(PipelineTest, MistakesAreNamed) {
  const std::array<std::pair<kernels::CopyMistake, const char*>, 6> mistakes = {{
      {kernels::CopyMistake::size, "copy of 12 bytes (it takes 4, 8 or 16)"},
      {kernels::CopyMistake::zeros, "copy of 8 bytes with more zeros"},
      {kernels::CopyMistake::target, "copy of 8 bytes to a misaligned address"},
      {kernels::CopyMistake::source, "copy of 8 bytes from a misaligned address"},
      {kernels::CopyMistake::to_global, "to what is not shared memory"},
      {kernels::CopyMistake::from_shared, "from what is not global memory"},
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

TEST_F(PipelineTest, WhatHasNotBeenWaitedForIsNotThere) {
  using kernels::Early;
  const float* in = upload(numbers(32));
  float* out = make<float>(32);
  counts_of([&] { kernels::read_early(Early::not_at_all, out, in); });
  EXPECT_EQ(download(out, 32)[0], 62);

  const auto fault = [&](Early early) {
    return fault_of([&] { kernels::read_early(early, out, in); });
  };
  for (const Early early : {Early::no_wait, Early::no_commit, Early::short_wait}) {
    const std::string words = fault(early);
    const unsigned stage = early == Early::no_wait ? 0 : 128;  // the first, or the second
    EXPECT_NE(words.find("asynchronous copy that has not been waited for: 4 bytes to bytes " +
                         std::to_string(stage + 124) + ".."),
              std::string::npos)
        << words;
    EXPECT_NE(words.find("by thread (31,0,0) at "), std::string::npos) << words;
    EXPECT_NE(words.find("and 4-byte load at bytes " + std::to_string(stage + 124) + ".."),
              std::string::npos)
        << words;
    EXPECT_NE(words.find("by thread (0,0,0) of block"), std::string::npos) << words;
  }
  // A wait is a store at that moment: others see it behind the next barrier only.
  EXPECT_NE(fault(Early::no_barrier).find("race: 4-byte load"), std::string::npos);
  EXPECT_NE(fault(Early::barrier_first).find("has not been waited for"), std::string::npos);
  const std::string store = fault(Early::store);
  EXPECT_NE(store.find("and 4-byte store at bytes 128..131"), std::string::npos) << store;
}

TEST_F(PipelineTest, WaitingIsAStore) {
  // Lane 0 has waited long before lane 1 reads, but nothing orders the two.
  const float* in = upload(numbers(32));
  float* out = make<float>(32);
  const std::string words = fault_of([&] { kernels::read_of_first(out, in); });
  EXPECT_NE(words.find("race: 4-byte store at bytes 0..3"), std::string::npos) << words;
  EXPECT_NE(words.find("by thread (0,0,0) at"), std::string::npos) << words;
}

TEST_F(PipelineTest, BulkCopiesArriveAtTheirBarrier) {
  using kernels::Bulk;
  const float* in = upload(numbers(64));
  float* out = make<float>(64);
  for (const Bulk fine : {Bulk::all_wait, Bulk::one_waits_for_all}) {
    const Counts counts = counts_of([&] { kernels::copy_in_bulk(fine, out, in); });
    EXPECT_EQ(download(out, 64)[0], 63);
    EXPECT_EQ(counts.bulk_loads.sectors, 8);
    EXPECT_EQ(counts.bulk_loads.bytes, 256);
    EXPECT_EQ(counts.at(Space::shared, Access::store).wavefronts, 2);
    EXPECT_EQ(waits(), 1);  // of the slower warp
  }
  const std::pair<Bulk, const char*> mistakes[] = {
      {Bulk::one_waits, "has not been waited for: 256 bytes to bytes 0..255 of"},
      {Bulk::wrong_phase, "waits for a phase of an mbarrier"},
      {Bulk::no_barrier, "arrival at an mbarrier that nobody has initialised"},
      {Bulk::unmet_barrier,
       "wait for an mbarrier that another thread initialised, with no barrier"},
      {Bulk::lost_bytes, "waits for a phase of an mbarrier"},
      {Bulk::second_arrival, "mbarrier that arrives twice"},
      {Bulk::size, "bulk copy of 12 bytes (it takes multiples of 16)"},
      {Bulk::misaligned, "bulk copy of 256 bytes from a misaligned address"},
      {Bulk::beyond, "out of bounds: 256-byte load of an asynchronous copy at byte 16"},
  };
  expect_faults(mistakes,
                [&](Bulk mistake) { kernels::copy_in_bulk(mistake, out, upload(numbers(64))); });
}

TEST_F(PipelineTest, StagesAreUsedAgainInTurns) {
  constexpr unsigned tiles = 7;
  const std::vector<float> in = numbers(64 * tiles);
  const float* from = upload(in);
  float* to = make<float>(64);
  const Counts counts = counts_of([&] { kernels::sum_bulk_tiles(to, from, tiles); });
  EXPECT_EQ(counts.bulk_loads.bytes, 64 * 4 * tiles);
  const auto out = download(to, 64);
  for (unsigned thread = 0; thread < 64; ++thread) {
    float sum = 0;
    for (unsigned tile = 0; tile < tiles; ++tile) sum += in[tile * 64 + 63 - thread];
    EXPECT_EQ(out[thread], sum);
  }
}

}  // namespace
}  // namespace gpubench::model
