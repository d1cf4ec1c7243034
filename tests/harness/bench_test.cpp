// The bench layer on the model device, with programs of copies only: what they cost is known.
#include "harness/bench/bench.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <device_clock.hpp>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "harness/bench/gemm_row.hpp"
#include "harness/bench/row_keys.hpp"

namespace gpubench {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Key;
using testing::Not;

constexpr std::size_t words = 1 << 18;
constexpr std::size_t bytes = words * sizeof(float);

struct Half {
  float operator()(std::size_t i) const { return 0.5f * static_cast<float>(i % 1024); }
};

// A copy to the device and back, `times` times, and what is claimed of it.
struct Program {
  Work work{.useful_bytes = 2.0 * bytes, .items = 7};
  int times = 1;
  float spoil = 0;  // added to one element that comes back
};
Program program;  // a bench function is a plain function: it finds its settings here

void there_and_back(Bench& bench) {
  const auto on_device = bench.output<float>(words);
  const PinnedBuffer<float> from(words), to(words);
  for (std::size_t i = 0; i < words; ++i) from[i] = Half{}(i);
  bench.verify(on_device, Half{});
  bench.verify_host(to.span(), Half{});
  bench.work(program.work);
  const auto once = [&](cudaStream_t s) {
    CUDA_CHECK(cudaMemcpyAsync(on_device.data(), from.data(), bytes, cudaMemcpyHostToDevice, s));
    CUDA_CHECK(cudaMemcpyAsync(to.data(), on_device.data(), bytes, cudaMemcpyDeviceToHost, s));
  };
  bench.run([&](cudaStream_t s) {
    for (int i = 0; i < program.times; ++i) once(s);
    CUDA_CHECK(cudaStreamSynchronize(s));
    to[words / 2] += program.spoil;
  });
  bench.counter("times_longer", bench.seconds() / bench.time(once));
  bench.counter("not_known", std::nan(""));
}

void counts_twice(Bench& bench) {
  there_and_back(bench);
  bench.counter("times_longer", 1);
}

std::string own_key;
void notes_words(Bench& bench) { bench.note(own_key, "words"); }
void notes_a_number(Bench& bench) { bench.note(own_key, 1); }
void counts_too(Bench& bench) {
  there_and_back(bench);
  bench.counter(own_key, 1);
}

void compares_too_early(Bench& bench) {
  bench.counter("seconds", bench.time([](cudaStream_t) {}));
}

// Buffers of two kinds, an operand and one of the row's own, of which a run touches half of L2
// each.
struct Seen {
  std::size_t half_of_l2 = 0;
  std::set<const void*> operands, own;
};
Seen sets_seen;
void alternates(Bench& bench) {
  const auto operand = bench.output<char>(sets_seen.half_of_l2);
  const auto own = bench.per_set(sets_seen.half_of_l2,
                                 [n = sets_seen.half_of_l2] { return DeviceBuffer<char>(n); });
  bench.check([](bool) { return std::string(); });
  bench.work({.useful_bytes = 2.0 * static_cast<double>(sets_seen.half_of_l2)});
  bench.run([&](cudaStream_t s) {
    sets_seen.operands.insert(operand.data());
    sets_seen.own.insert(own->data());
    CUDA_CHECK(cudaMemsetAsync(operand.data(), 0, operand.size(), s));
    CUDA_CHECK(cudaMemsetAsync(own->data(), 0, own->bytes(), s));
  });
}

// Before the operands hold anything.
void asks_for_kernels_too_early(Bench& bench) {
  const auto out = bench.output<float>(words);
  bench.note_kernels([&](cudaStream_t s) { CUDA_CHECK(cudaMemsetAsync(out.data(), 0, bytes, s)); });
}

// A fault that no later call gets past: the model's SMs have no clock.
[[maybe_unused]] __global__ void read_clock(long long* out) { *out = sm_cycles(); }
void breaks_the_device(Bench&) {
  const DeviceBuffer<long long> out(1);
  launch(read_clock, 1, 1, 0, nullptr, out.data());
  CUDA_CHECK(cudaDeviceSynchronize());
}

// As a row whose library tries its algorithms on the operands.
std::size_t launches_to_tune = 0;
void tunes(Bench& bench) {
  const auto out = bench.output<float>(words);
  tune_on_operands(bench, out, [] { ++launches_to_tune; });
  const PinnedBuffer<float> from(words);
  for (std::size_t i = 0; i < words; ++i) from[i] = Half{}(i);
  bench.verify(out, Half{});
  bench.work({.items = 1});
  bench.run([&](cudaStream_t s) {
    CUDA_CHECK(cudaMemcpyAsync(out.data(), from.data(), bytes, cudaMemcpyHostToDevice, s));
  });
}

struct SaysNothing : std::exception {
  const char* what() const noexcept override { return nullptr; }
};
void throws_without_a_word(Bench&) { throw SaysNothing(); }

class BenchTest : public testing::Test {
 protected:
  BenchTest() { program = {}; }
  Row row(BenchFunction function = there_and_back) {
    return run_row({.name = function == breaks_the_device ? "test/faulty" : "test/row",
                    .topic = "test",
                    .kernel = "row",
                    .arguments = {},
                    .function = function},
                   *platform_, settings_);
  }
  double copy_seconds() const {
    const DeviceSpec& d = platform_->device();
    return 2 * d["pcie_latency_seconds"] + bytes / d["pcie_h2d_bytes_per_second"] +
           bytes / d["pcie_d2h_bytes_per_second"];
  }

  std::unique_ptr<Platform> platform_ = open_platform("h200-sxm");
  BenchSettings settings_;
};

TEST_F(BenchTest, ItemsAreTheHeadlineUnlessThereAreFlops) {
  const Row items = row();
  ASSERT_EQ(items.outcome, Outcome::measured) << items.reason;
  EXPECT_EQ(items.headline.name, "items_per_second");
  EXPECT_DOUBLE_EQ(items.counters.at("items_per_second"), 7 / items.median_seconds);
  EXPECT_DOUBLE_EQ(items.counters.at("useful_bytes_per_second"),
                   2.0 * bytes / items.median_seconds);
  program.work.items = 0;
  const Row only_bytes = row();
  EXPECT_EQ(only_bytes.headline.name, "useful_bytes_per_second");
  EXPECT_THAT(only_bytes.counters, Not(Contains(Key("items_per_second"))));
  program.work.items = program.work.flops = 1;
  EXPECT_EQ(row().headline.name, "flops_per_second");
}

TEST_F(BenchTest, AProgramIsComparedWithAnother) {
  program.times = 3;
  const Row r = row();
  ASSERT_EQ(r.outcome, Outcome::measured) << r.reason;
  const double host = 20e-6;  // what synchronising and launching add, at most
  EXPECT_GT(r.counters.at("times_longer"), 3 * copy_seconds() / (copy_seconds() + host));
  EXPECT_LT(r.counters.at("times_longer"), (3 * copy_seconds() + host) / copy_seconds());
  EXPECT_THAT(r.counters, Not(Contains(Key("not_known"))));
}

TEST_F(BenchTest, WhatComesBackToTheHostIsChecked) {
  program.spoil = 1;
  const Row r = row();
  EXPECT_EQ(r.outcome, Outcome::failed);
  EXPECT_THAT(r.reason, HasSubstr("element 131072 is 1, expected 0"));
  EXPECT_TRUE(r.samples.empty()) << "wrong results are not timed";
}

TEST_F(BenchTest, WhatIsPreparedIsThereBeforeTheBodyWhateverTheDeviceMayDo) {
  for (const char* name : {"kind", "late", "one-queue", "slow-host", "all-at-once"}) {
    platform_.reset();
    platform_ = open_platform(
        "h200-sxm", std::string(GPUBENCH_SOURCE_DIR "/tests/data/conditions/") + name + ".json");
    const Row r = row();
    EXPECT_EQ(r.outcome, Outcome::measured) << name << ": " << r.reason;
  }
}

TEST_F(BenchTest, AMistakeInABenchFunctionFailsItsRow) {
  EXPECT_THAT(row(counts_twice).reason, HasSubstr("'times_longer' already"));
  EXPECT_THAT(row(compares_too_early).reason, HasSubstr("no time before run()"));
  EXPECT_THAT(row(asks_for_kernels_too_early).reason, HasSubstr("no time before run()"));
}

TEST_F(BenchTest, ABenchFileNotesNothingUnderAKeyOfTheProgram) {
  for (const char* key : {"real_time", "verified", "samples", "law", "flops_per_second"}) {
    own_key = key;
    for (const BenchFunction function : {notes_words, notes_a_number, counts_too}) {
      EXPECT_THAT(row(function).reason, HasSubstr("key '" + own_key + "' is reserved"));
    }
  }
  for (const char* key : {"", "two words", "caf\u00e9", "line\n"}) {
    own_key = key;
    EXPECT_THAT(row(counts_too).reason, HasSubstr("may have only letters, digits and _"));
  }
  own_key = "my_own";
  EXPECT_EQ(row(counts_too).counters.at("my_own"), 1);
}

TEST_F(BenchTest, EveryKeyOfARowIsTheProgramsOrABenchFiles) {
  const std::set<std::string> noted = {"algorithm_bytes_per_second",
                                       "average_power_w",
                                       "bus_bytes_per_second",
                                       "claimed_flops_per_second",
                                       "claimed_items_per_second",
                                       "claimed_useful_bytes_per_second",
                                       "demonstrates",
                                       "energy_run_seconds",
                                       "error_law",
                                       "fit_bytes_per_second",
                                       "fit_half_bandwidth_bytes",
                                       "fit_latency_seconds",
                                       "joules",
                                       "joules_error_fraction",
                                       "joules_per_byte",
                                       "joules_per_flop",
                                       "joules_per_token",
                                       "latency_cycles",
                                       "latency_seconds",
                                       "load_cycles",
                                       "local_bytes",
                                       "occupancy",
                                       "registers",
                                       "relative_error",
                                       "resident_blocks",
                                       "rule"};
  std::ifstream text(GPUBENCH_SOURCE_DIR "/docs/result-file.schema.json");
  const auto schema = nlohmann::json::parse(text);
  for (const auto& [key, meaning] : schema.at("$defs").at("row").at("properties").items()) {
    EXPECT_NE(is_key_of_every_row(key), noted.contains(key)) << key;
  }
  program.work.law = law_of_roof("dram");
  const Row measured = row();
  for (const auto& [key, value] : measured.counters) {
    EXPECT_TRUE(is_key_of_every_row(key) || key == "times_longer") << key;
  }
}

TEST_F(BenchTest, AmountsThatNoRunComesToFailTheRow) {
  for (const double flops : {1e22, -1.0, std::nan(""), HUGE_VAL}) {
    program.work.flops = flops;
    EXPECT_THAT(row().reason, HasSubstr("its work has flops = ")) << flops;
  }
  program.work.flops = 1e21;
  EXPECT_EQ(row().outcome, Outcome::measured);
  program.work.measures = "dramm";
  EXPECT_THAT(row().reason, HasSubstr("measures 'dramm', a roof that no device has"));
}

TEST_F(BenchTest, ALawOfARoofThatNoDeviceHasFailsItsRow) {
  program.work.law = law_of_roof("dram");
  EXPECT_EQ(row().outcome, Outcome::measured);
  program.work.law = law_of_roof("dramm");
  const Row misspelt = row();
  EXPECT_EQ(misspelt.outcome, Outcome::failed);
  EXPECT_THAT(misspelt.reason, HasSubstr("asks for a roof that no device has; there are dram, l2"));
}

TEST_F(BenchTest, ColdBuffersOfEveryKindGoRoundFiveTimesL2) {
  sets_seen = {static_cast<std::size_t>(platform_->device()["l2_bytes"] / 2), {}, {}};
  const Row r = row(alternates);
  ASSERT_EQ(r.outcome, Outcome::measured) << r.reason;
  EXPECT_EQ(sets_seen.operands.size(), 5u);
  EXPECT_EQ(sets_seen.own.size(), 5u);
  EXPECT_THAT(r.notes, Not(Contains(HasSubstr("sets of buffers"))));
}

TEST_F(BenchTest, FurtherSetsTakeAQuarterOfTheFreeMemoryAndTheRowSaysSo) {
  sets_seen = {static_cast<std::size_t>(platform_->device()["l2_bytes"] / 2), {}, {}};
  std::size_t free = 0, total = 0;
  CUDA_CHECK(cudaMemGetInfo(&free, &total));
  // One set, and beside it nine times as much: a quarter of that is two sets.
  const DeviceBuffer<char> others(free - 20 * sets_seen.half_of_l2);
  const Row r = row(alternates);
  ASSERT_EQ(r.outcome, Outcome::measured) << r.reason;
  EXPECT_EQ(sets_seen.operands.size(), 3u);
  EXPECT_THAT(r.notes, Contains(HasSubstr("L2 may remember: memory for 3 of 5 sets of buffers")));
}

TEST_F(BenchTest, HotBuffersStay) {
  sets_seen = {static_cast<std::size_t>(platform_->device()["l2_bytes"] / 2), {}, {}};
  settings_.mode = Mode::hot;
  ASSERT_EQ(row(alternates).outcome, Outcome::measured);
  EXPECT_EQ(sets_seen.operands.size(), 1u);
  EXPECT_EQ(sets_seen.own.size(), 1u);
}

TEST_F(BenchTest, AFaultLosesTheDeviceUntilItIsOpenedAnew) {
  EXPECT_FALSE(is_device_lost());
  ASSERT_EQ(row(breaks_the_device).outcome, Outcome::failed);
  EXPECT_TRUE(is_device_lost());
  EXPECT_TRUE(is_device_lost()) << "asking does not mend it";
  platform_.reset();
  platform_ = open_platform("h200-sxm");
  EXPECT_FALSE(is_device_lost());
  EXPECT_EQ(row().outcome, Outcome::measured);
}

TEST_F(BenchTest, AnExceptionWithoutAWordCostsOnlyItsRow) {
  const Row silent = row(throws_without_a_word);
  EXPECT_EQ(silent.outcome, Outcome::failed);
  EXPECT_EQ(silent.error_kind, error_kind::exception);
  EXPECT_EQ(silent.reason, "an exception that says nothing");
  EXPECT_EQ(row().outcome, Outcome::measured);
}

TEST_F(BenchTest, LibrariesAreTunedOnceAndNotUnderAProfiler) {
  launches_to_tune = 0;
  const Row timed = row(tunes);
  ASSERT_EQ(timed.outcome, Outcome::measured) << timed.reason;
  EXPECT_EQ(launches_to_tune, 1U) << "not for every set of buffers";
  settings_.profile = true;
  const Row profiled = row(tunes);
  ASSERT_EQ(profiled.outcome, Outcome::measured) << profiled.reason;
  EXPECT_EQ(launches_to_tune, 1U);
}

TEST_F(BenchTest, TheLawOfARowIsKnownWithoutRunningIt) {
  program.work.law = law_of_roof("dram", 0.5);
  program.spoil = 1;  // had it run, it would have failed
  const Instance instance{.name = "test/row",
                          .topic = "test",
                          .kernel = "row",
                          .arguments = {},
                          .function = there_and_back};
  const Law law = law_of_row(instance, *platform_, settings_);
  ASSERT_TRUE(law);
  EXPECT_EQ(law({{"dram", 8.0}}), 4.0);
}

TEST(CheckOnHost, WhatNothingHasWrittenIsWrong) {
  std::vector<float> got(4);
  std::memset(got.data(), poison_byte, got.size() * sizeof(float));
  const auto check = [&](bool only_written) {
    return check_on_host(std::span<float>(got), Half{}, 0, 0, only_written);
  };
  EXPECT_THAT(check(true), HasSubstr("nothing came back"));
  got[1] = 0.5f;
  EXPECT_EQ(check(true), "");
  EXPECT_THAT(check(false), HasSubstr("element 0 is -nan, expected 0"));
  got[2] = 0.5f;
  EXPECT_THAT(check(true), HasSubstr("element 2 is 0.5, expected 1"));
}

}  // namespace
}  // namespace gpubench
