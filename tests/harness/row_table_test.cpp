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

}  // namespace
}  // namespace gpubench
