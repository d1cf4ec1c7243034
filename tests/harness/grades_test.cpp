#include "harness/program/grades.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/program/roofs.hpp"

namespace gpubench {
namespace {

using nlohmann::json;
using testing::HasSubstr;

Row graded(const std::string& name, Grade grade, double lost = 0) {
  Row row;
  row.name = name;
  row.median_seconds = 1e-3;
  row.graded = {
      .grade = grade, .share = 1 - lost, .yardstick = "the predicted limit", .lost = lost};
  return row;
}

Row row_of(const json& of) {
  Row row;
  row.topic = of.at("concept");
  row.bound = of.at("label");
  row.median_seconds = of.at("seconds");
  row.headline.lower_is_better = of.at("better") == "lower";
  if (of.at("demonstrates") == true) row.words["demonstrates"] = "what to avoid";
  of.at("counters").get_to(row.counters);
  return row;
}

// The same table that tests/reports/test_grades.py holds against the reports' rules.
TEST(Grades, AreThoseOfTheReport) {
  std::ifstream file(std::filesystem::path(GPUBENCH_SOURCE_DIR) / "tests/data/grades.json");
  const json cases = json::parse(file);
  ASSERT_GT(cases.size(), 20U);
  for (const json& of : cases) {
    SCOPED_TRACE(of.at("why").get<std::string>());
    std::vector<StatedRoof> roofs;
    for (const json& roof : of.at("roofs")) {
      roofs.push_back({.name = roof.at(0),
                       .unit = bytes_unit,
                       .value = 1,
                       .provenance = roof.at(1),
                       .source = ""});
    }
    const DeviceKind kind = of.at("kind") == "model" ? DeviceKind::model : DeviceKind::cuda;
    const Graded found = grade_of(row_of(of), roofs, kind);
    EXPECT_EQ(words_of(found.grade), of.at("grade"));
    if (of.contains("share")) {
      EXPECT_NEAR(found.share, of.at("share").get<double>(), 1e-9);
    }
  }
}

TEST(Grades, TheLastSentenceCountsThemAndNamesTheWorst) {
  const std::vector<Row> rows = {graded("a", Grade::expected), graded("b", Grade::low, 0.2),
                                 graded("c", Grade::low, 0.4), graded("d", Grade::on_purpose, 0.9)};
  EXPECT_EQ(grades_text(rows, "run.html"),
            "1 as expected, 2 low, 1 low on purpose; worst: c, 60 % of the predicted limit; "
            "report: run.html\n");
}

TEST(Grades, ARowThatMeasuresARoofIsWorseThanOthers) {
  std::vector<Row> rows = {graded("a", Grade::low, 0.5), graded("b", Grade::low, 0.2)};
  rows[1].measures = "dram";
  EXPECT_THAT(grades_text(rows, ""), HasSubstr("worst: b, 80 %"));
}

TEST(Grades, OfRepetitionsTheMiddleOneCountsAndOneThatFailedTakesTheName) {
  std::vector<Row> rows = {graded("a", Grade::low, 0.2), graded("a", Grade::expected),
                           graded("a", Grade::high), graded("b", Grade::low, 0.3),
                           graded("b", Grade::low, 0.3)};
  rows[0].median_seconds = 3e-3;
  rows[1].median_seconds = 2e-3;
  rows[4].outcome = Outcome::failed;
  EXPECT_EQ(grades_text(rows, ""), "1 as expected\n");
}

TEST(Grades, ALawThatIsNoPositiveNumberIsSaidOnce) {
  for (const double law : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    std::vector<Row> rows = {graded("a", Grade::expected)};
    rows[0].law = [=](const Roofs&) { return law; };
    judge_rows(rows, {}, DeviceKind::model);
    judge_rows(rows, {}, DeviceKind::model);
    EXPECT_THAT(rows[0].notes, testing::ElementsAre(HasSubstr("judged without one"))) << law;
    EXPECT_FALSE(rows[0].counter("law")) << law;
  }
}

TEST(Grades, NothingMeasuredIsNoSentence) {
  std::vector<Row> rows = {graded("a", Grade::ungraded)};
  rows[0].outcome = Outcome::skipped;
  EXPECT_EQ(grades_text(rows, "run.html"), "");
}

TEST(Grades, WhatLaterRoofsHaveChangedIsSaid) {
  const std::vector<Row> rows = {graded("a", Grade::low, 0.2), graded("b", Grade::expected),
                                 graded("c", Grade::expected)};
  EXPECT_EQ(
      regraded_text(rows, {{"a", Grade::expected}, {"b", Grade::low}, {"c", Grade::ungraded}}),
      "now that all roofs are known:\n  a: low, not as expected\n  b: as expected, not low\n");
  EXPECT_EQ(regraded_text(rows, {{"a", Grade::low}, {"c", Grade::ungraded}}), "");
}

TEST(Grades, OfManyChangesAFewAreNamed) {
  std::vector<Row> rows;
  std::map<std::string, Grade> before;
  for (int i = 0; i < 8; ++i) {
    rows.push_back(graded(std::to_string(i), Grade::low, 0.2));
    before[rows.back().name] = Grade::expected;
  }
  EXPECT_THAT(regraded_text(rows, before), HasSubstr("  and 3 more\n"));
}

}  // namespace
}  // namespace gpubench
