// Rows with values of the user's own.
#include "harness/bench/chosen_axes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "harness/bench/bench.hpp"
#include "harness/system/error.hpp"

namespace gpubench {
namespace {

void nothing(Bench&) {}
GPU_BENCHMARK_AS(axes, strided, nothing)
    ->ArgName("stride [words]", {1, 64})
    ->Range(1, 32)
    ->ForRoofs();
GPU_BENCHMARK_AS(axes, vector, nothing)->ArgName("bytes [per lane]")->Range(4, 16);
GPU_BENCHMARK_AS(axes, records, nothing)
    ->Axis("layout", {"aos", "soa", "aosoa"})
    ->ArgName("fields [words]", {1, 32})
    ->Range(4, 16);
GPU_BENCHMARK_AS(axes, tiles, nothing)
    ->ArgNames({"tile [bytes]", "stages"})
    ->ArgsProduct({{4096, 16384}, {2, 4}})
    ->Rest(Suite::full)
    ->ArgsProduct({{2048, 8192}, {2, 3, 4}});
GPU_BENCHMARK_AS(axes, product, nothing)->ArgName("n", {128, 16384, 8})->Arg(2048);
GPU_BENCHMARK_AS(axes, plain, nothing);

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

std::vector<std::int64_t> numbers(const std::string& values) {
  std::vector<std::int64_t> found;
  for (const Argument& value : parse_axis("a/b/c=" + values).values) {
    found.push_back(std::get<std::int64_t>(value));
  }
  return found;
}

std::vector<std::string> names(const std::vector<std::string>& chosen,
                               Suite suite = Suite::standard) {
  std::vector<ChosenAxis> axes;
  for (const std::string& text : chosen) axes.push_back(parse_axis(text));
  std::vector<std::string> found;
  for (const Instance& row : chosen_rows(axes, suite)) found.push_back(row.name);
  return found;
}

std::string refusal(const std::string& text) {
  try {
    names({text});
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(ChosenAxes, ValuesAreListsAndRanges) {
  EXPECT_THAT(numbers("3,5,7"), ElementsAre(3, 5, 7));
  EXPECT_THAT(numbers("2:5"), ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(numbers("0:10:+4,1"), ElementsAre(0, 4, 8, 1));
  EXPECT_THAT(numbers("1:9:*2"), ElementsAre(1, 2, 4, 8));
  EXPECT_THAT(numbers("4K:1M:*16,2G"), ElementsAre(4096, 65536, 1 << 20, std::int64_t{2} << 30));
  EXPECT_THAT(numbers("9223372036854775806:9223372036854775807"), SizeIs(2));
  EXPECT_THAT(numbers("4611686018427387904:9223372036854775807:*2"), SizeIs(1));
}

TEST(ChosenAxes, WhatIsNoneIsRefusedWithWhatItMustBe) {
  for (const char* text : {"", "stride=3", "a/b/c", "a/b/c=", "a/b/c=3,", "a/b=3", "a/b/c/d=3"}) {
    EXPECT_THAT(refusal(text), HasSubstr("must be CONCEPT/KERNEL/AXIS=VALUES")) << text;
  }
  for (const char* range : {"5:2", "1:", ":4", "1:9:2", "1:9:*1", "0:9:*2", "1:9:+0", "1:9:", "x:9",
                            "1:2:+1:3", "-3:4"}) {
    EXPECT_THAT(refusal(std::string("a/b/c=") + range), HasSubstr("must be LOW:HIGH")) << range;
  }
  EXPECT_THAT(refusal("a/b/c=1:1000000"), HasSubstr("more than 1000 values"));
  EXPECT_THAT(refusal("a/b/c=99999999999G"), HasSubstr("no kernel is called"));  // a word
}

TEST(ChosenAxes, NamesFollowTheGrammarOfAllRows) {
  EXPECT_THAT(names({"axes/strided/stride=3,5"}),
              ElementsAre("axes/strided/stride:3", "axes/strided/stride:5"));
}

TEST(ChosenAxes, OtherAxesKeepTheValuesOfTheSuite) {
  EXPECT_THAT(names({"axes/records/fields=3"}),
              ElementsAre("axes/records/layout:aos/fields:3", "axes/records/layout:soa/fields:3",
                          "axes/records/layout:aosoa/fields:3"));
  EXPECT_THAT(names({"axes/records/fields=3", "axes/records/layout=soa"}),
              ElementsAre("axes/records/layout:soa/fields:3"));
}

TEST(ChosenAxes, ValuesOfTheFullSuiteAreThereInAnyOther) {
  EXPECT_THAT(names({"axes/tiles/stages=3", "axes/tiles/tile=8192"}),
              ElementsAre("axes/tiles/tile:8192/stages:3"));
}

TEST(ChosenAxes, SeveralKernelsAreRunOneAfterTheOther) {
  EXPECT_THAT(names({"axes/vector/bytes=8", "axes/strided/stride=3"}),
              ElementsAre("axes/vector/bytes:8", "axes/strided/stride:3"));
}

TEST(ChosenAxes, ValuesOfAnAxisMayBeGivenOneByOne) {
  EXPECT_THAT(names({"axes/strided/stride=3", "axes/strided/stride=5,3"}),
              ElementsAre("axes/strided/stride:3", "axes/strided/stride:5"));
  EXPECT_THAT(
      names({"axes/records/layout=soa", "axes/records/fields=3", "axes/records/layout=aos"}),
      ElementsAre("axes/records/layout:aos/fields:3", "axes/records/layout:soa/fields:3"));
  // One of them is in the full suite only.
  EXPECT_THAT(names({"axes/tiles/tile=4096", "axes/tiles/tile=8192", "axes/tiles/stages=4"}),
              ElementsAre("axes/tiles/tile:4096/stages:4", "axes/tiles/tile:8192/stages:4"));
}

TEST(ChosenAxes, ARowOfTheSuiteStaysThatRow) {
  EXPECT_THAT(names({"axes/strided/stride=4,4"}), ElementsAre("axes/strided/stride:4"));
  EXPECT_THAT(names({"axes/vector/bytes=4,8,16,8"}),
              ElementsAre("axes/vector/bytes:4", "axes/vector/bytes:8", "axes/vector/bytes:16"));
}

TEST(ChosenAxes, AChosenRowIsNoneThatRoofsNeed) {
  for (const Instance& row : chosen_rows({parse_axis("axes/strided/stride=3,4")}, Suite::full)) {
    EXPECT_FALSE(row.is_roof) << row.name;
  }
}

TEST(ChosenAxes, AValueThatTheKernelCannotTakeIsRefusedWithThoseThatItCan) {
  EXPECT_THAT(refusal("axes/vector/bytes=32"),
              AllOf(HasSubstr("cannot take 32"), HasSubstr("it has 4, 8, 16")));
  EXPECT_THAT(refusal("axes/records/layout=soaa"), HasSubstr("it has aos, soa, aosoa"));
  EXPECT_THAT(refusal("axes/strided/stride=65"), HasSubstr("it takes from 1 to 64"));
  EXPECT_THAT(refusal("axes/strided/stride=three"), HasSubstr("cannot take three"));
  EXPECT_THAT(refusal("axes/product/n=1001"), HasSubstr("multiples of 8 from 128 to 16384"));
}

TEST(ChosenAxes, AKernelOrAnAxisThatIsNotThereIsGuessed) {
  EXPECT_THAT(refusal("axes/stridde/stride=3"), HasSubstr("did you mean axes/strided?"));
  EXPECT_THAT(refusal("nothing/like_it_at_all/stride=3"), HasSubstr("--benchmark_list_tests"));
  EXPECT_THAT(refusal("axes/strided/strid=3"), HasSubstr("it has stride"));
  EXPECT_THAT(refusal("axes/plain/size=3"), HasSubstr("it has none"));
}

TEST(ChosenAxes, AnAxisThatIsSaidToTakeARangeIsOne) {
  Registration r("topic", "kernel", nullptr);
  EXPECT_THROW(r.Takes("stride", {1, 2}), std::logic_error);
  r.ArgName("stride [words]");
  EXPECT_THROW(r.Takes("stride", {3, 2}), std::logic_error);
  r.Takes("stride", {1, 8, 2});
  EXPECT_EQ(r.range_of("topic", "kernel", "stride")->high, 8);
  EXPECT_EQ(r.range_of("topic", "other", "stride"), nullptr);
}

}  // namespace
}  // namespace gpubench
