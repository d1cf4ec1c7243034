// Which rows a registration makes, in which order and suite.
#include "harness/bench/registry.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "harness/bench/bench.hpp"
#include "harness/records/concepts.hpp"

namespace gpubench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

void nothing(Bench&) {}

Registration registration() { return Registration("topic", "kernel", nothing); }

// The rows of a suite alone, without "topic/kernel/".
std::vector<std::string> names(const Registration& r, Suite suite) {
  std::vector<std::string> found;
  for (const Instance& i : r.instances()) {
    if (i.suite == suite) found.push_back(i.name.substr(std::string("topic/kernel/").size()));
  }
  return found;
}

TEST(Registry, AUnitStandsBehindTheNameOfItsAxis) {
  Registration r = registration();
  r.Axis("layout [order of fields]", {"aos"})->ArgNames({"stride [words]", "n"})->Args({2, 3});
  const Instance row = r.instances().at(0);
  EXPECT_EQ(row.name, "topic/kernel/layout:aos/stride:2/n:3");
  EXPECT_THAT(row.axis_units,
              UnorderedElementsAre(Pair("layout", "order of fields"), Pair("stride", "words")));
  EXPECT_THROW(registration().ArgName("stride [words"), std::logic_error);
}

TEST(Registry, ARowKnowsTheLineThatRegistersIt) {
  EXPECT_EQ((SourceLine{GPUBENCH_SOURCE_DIR "/bench/stream.cu", 7}.text()), "bench/stream.cu:7");
  EXPECT_EQ((SourceLine{GPUBENCH_SOURCE_DIR "/harness/bench/bench.cpp", 7}.text()),
            "harness/bench/bench.cpp:7");
  EXPECT_EQ((SourceLine{"/a/bench/b/bench/own.cu", 7}.text()), "bench/own.cu:7");
  EXPECT_EQ((SourceLine{"/elsewhere/check.cu", 7}.text()), "check.cu:7");
  EXPECT_EQ((SourceLine{"check.cu", 7}.text()), "check.cu:7");
  EXPECT_EQ(SourceLine{}.text(), "");
}

TEST(Registry, TheRestIsWhatIsNotThereYet) {
  Registration r = registration();
  r.Axis("by", {"a", "b"})->ArgName("n")->Arg(1)->Arg(4)->Rest(Suite::full)->DenseRange(1, 4);
  EXPECT_THAT(names(r, Suite::quick), ElementsAre("by:a/n:1", "by:a/n:4", "by:b/n:1", "by:b/n:4"));
  EXPECT_THAT(names(r, Suite::full), ElementsAre("by:a/n:2", "by:a/n:3", "by:b/n:2", "by:b/n:3"));
}

TEST(Registry, TheRestHasTheFirstAxesUntilItIsGivenOthers) {
  Registration r = registration();
  r.Axis("by", {"a", "b", "c"})->ArgName("n")->Arg(1);
  r.Rest(Suite::standard)->Axis("by", {"b"})->Arg(2);
  r.Rest(Suite::full)->Arg(2);
  EXPECT_THAT(names(r, Suite::full), ElementsAre("by:a/n:2", "by:c/n:2"));
}

TEST(Registry, ARangeMultipliesFromItsLowEnd) {
  Registration twofold = registration(), eightfold = registration();
  twofold.ArgName("n")->Range(4, 16);
  eightfold.ArgName("n")->In(Suite::full)->Range(128, 65536, 8);
  EXPECT_THAT(names(twofold, Suite::quick), ElementsAre("n:4", "n:16"));
  EXPECT_THAT(names(twofold, Suite::standard), ElementsAre("n:8"));
  EXPECT_THAT(names(eightfold, Suite::full), ElementsAre("n:128", "n:1024", "n:8192", "n:65536"));
  EXPECT_THROW(registration().ArgName("n")->Range(0, 16), std::logic_error) << "would never end";
  EXPECT_THROW(registration().ArgName("n")->Range(1, 16, 1), std::logic_error);
}

TEST(Registry, RowsAreTheirArguments) {
  Registration r = registration();
  r.ArgNames({"m", "n"})->In(Suite::full)->Rows({{1, 2}, {3, 1}});
  EXPECT_THAT(names(r, Suite::full), ElementsAre("m:1/n:2", "m:3/n:1"));
}

TEST(Registry, WhatIsAlikeIsApplied) {
  Registration r = registration();
  const auto both = [](Registration* to, const char* by, std::int64_t n) {
    to->Rest(Suite::standard)->Axis("by", {by})->Arg(n);
  };
  r.ArgName("n")->Apply(+both, "a", 1)->Apply(+both, "b", 2);
  EXPECT_THAT(names(r, Suite::quick), ElementsAre("by:a/n:1", "by:b/n:2"));
}

TEST(Registry, EndsOfEveryListAreTheQuickSuite) {
  Registration r = registration();
  r.Axis("by", {"a", "b", "c"})->ArgName("n")->DenseRange(1, 3);
  EXPECT_THAT(names(r, Suite::quick), ElementsAre("by:a/n:1", "by:a/n:3", "by:c/n:1", "by:c/n:3"));
}

TEST(Registry, NamesAndValuesMustMatch) {
  Registration r = registration();
  r.ArgNames({"m", "n"})->Arg(1);
  EXPECT_THROW(r.instances(), std::logic_error);
}

std::vector<std::string> called;
template <class T>
void of_type(Bench&) {
  called.push_back(sizeof(T) == sizeof(double) ? "wide" : "narrow");
}

TEST(Registry, ATypedAxisInstantiatesTheBenchFunctionForEachType) {
  const auto call = []<class T>(Bench& bench, const Named<T>&) { of_type<T>(bench); };
  Registration* r =
      TypedRegistration("topic", "kernel", GPUBENCH_HERE, call).Axis<float, double>("dtype");
  const std::vector<Instance> rows = r->instances();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].name, "topic/kernel/dtype:fp32");
  EXPECT_THAT(rows[0].source, testing::MatchesRegex("tests/harness/registry_test.cpp:[0-9]+"));
  EXPECT_EQ(rows[1].name, "topic/kernel/dtype:fp64");
  const std::unique_ptr<Platform> platform = open_platform("h200-sxm");
  const BenchSettings settings;
  called.clear();
  for (const Instance& row : rows) {
    Bench bench(row, *platform, settings);
    row.function(bench);
  }
  EXPECT_THAT(called, ElementsAre("narrow", "wide"));
  Registration misspelt = *r;  // a copy: *r is among the rows of all tests
  misspelt.Axis("dtype", {"fp16"});
  EXPECT_THROW(misspelt.instances(), std::logic_error) << "no type goes by that name";
}

TEST(Laws, TheLowestRoofBinds) {
  const Law law = law_of_lowest({{"dram", 1}, {"shared", 0.5}});
  EXPECT_EQ(law({{"dram", 4}, {"shared", 10}}), 4);
  EXPECT_EQ(law({{"dram", 4}, {"shared", 6}}), 3);
}

TEST(Constants, ComeFromTheValueThatTheyEqual) {
  int seen = 0;
  with_constant<1, 2, 4>(2, [&](auto n) {
    constexpr int constant = n;
    seen = constant;
  });
  EXPECT_EQ(seen, 2);
  EXPECT_THROW((with_constant<1, 2>(3, [](auto) {})), std::logic_error);
}

TEST(Concepts, AskWhatTheirBenchFileSays) {
  EXPECT_EQ(concept_question("coalescing"), "what does a warp pay for touching scattered words?");
  EXPECT_THAT(concept_question("divergence"), HasSubstr("`if`"));
  EXPECT_THAT(concept_question("no_concept"), IsEmpty());
}

}  // namespace
}  // namespace gpubench
