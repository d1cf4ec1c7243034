// Rows as lines for people.
#include "harness/program/row_table.hpp"

#include <gtest/gtest.h>

namespace gpubench {
namespace {

TEST(RowTable, AReasonIsOneLineThatATerminalOnlyShows) {
  Row row;
  row.name = "own/row";
  row.reason = "no \033]0;title\007 and\nno second line";
  const std::string plain = "no  ]0;title  and no second line\n";
  row.outcome = Outcome::failed;
  EXPECT_EQ(RowTable(8).line(row), "own/row   FAILED: " + plain);
  row.outcome = Outcome::skipped;
  EXPECT_EQ(RowTable(8).line(row), "own/row   skipped: " + plain);
}

TEST(RowTable, ALineEndsWithWhatItsDtypeLoses) {
  const RowTable table(8);
  Row row;
  row.name = "own/row";
  row.median_seconds = 1e-3;
  row.bound = "tensor";
  const auto ends_with = [&](const std::string& end) {
    const std::string line = table.line(row);
    EXPECT_TRUE(line.ends_with(end)) << line;
  };
  ends_with("  tensor\n");
  row.counters = {{"relative_error", 2.04e-3}};
  ends_with("  tensor        error 2.0e-3\n");
  row.counters = {{"relative_error", 5.3e-17}};
  ends_with("  error 5.3e-17\n");
  row.counters = {{"relative_error", 0.75}};
  ends_with("  error 7.5e-1\n");
  row.counters = {{"flushed_fraction", 0.4375}};
  ends_with("  flushed 44 %\n");
}

TEST(RowTable, SlowerThanItsLawIsBelowAllOfIt) {
  Row row;
  row.name = "own/row";
  row.median_seconds = 1e-3;
  row.counters = {{"law_ratio", 1.25}};
  row.headline = {"useful_bytes_per_second", bytes_unit};
  EXPECT_NE(RowTable(8).line(row).find("125.0 %"), std::string::npos);
  row.headline = {"seconds", "s", true};
  EXPECT_NE(RowTable(8).line(row).find("80.0 %"), std::string::npos);
}

TEST(RowTable, EnergyGoesByWhatTheRowIsJudgedBy) {
  const RowTable with(8, 0, false, true), without(8);
  EXPECT_NE(with.header().find("  energy"), std::string::npos);
  EXPECT_EQ(without.header().find("energy"), std::string::npos);
  Row row;
  row.name = "own/row";
  row.median_seconds = 1e-3;
  const auto shows = [&](const Headline& headline, const std::string& energy) {
    row.headline = headline;
    EXPECT_NE(with.line(row).find("  " + energy + "  "), std::string::npos) << with.line(row);
    EXPECT_EQ(without.line(row).find("J"), std::string::npos);
  };
  row.counters = {{"joules", 0.35}, {"joules_per_flop", 0.7e-12}, {"joules_per_byte", 95e-12}};
  shows({"flops_per_second", flops_unit}, "0.7 pJ/FLOP");
  shows({"flops_per_second", integer_unit}, "0.7 pJ/OP");
  shows({"useful_bytes_per_second", bytes_unit}, "95 pJ/B");
  shows({"items_per_second", "/s"}, "350 mJ");
  shows({"seconds", "s", true}, "350 mJ");
  row.counters.clear();
  row.headline = {"flops_per_second", flops_unit};
  EXPECT_EQ(with.line(row).find("J"), std::string::npos);
}

}  // namespace
}  // namespace gpubench
