#include "harness/system/child_process.hpp"

#include <gtest/gtest.h>

#include "harness/system/error.hpp"

namespace gpubench {
namespace {

TEST(RunChild, ReturnsWhatWasWrittenAndTheExitCode) {
  const ChildResult good = run_child({"/bin/sh", "-c", "echo one; echo two"});
  EXPECT_EQ(good.output, "one\ntwo\n");
  EXPECT_EQ(good.exit_code, 0);
  const ChildResult bad = run_child({"/bin/sh", "-c", "echo begun; exit 3"});
  EXPECT_EQ(bad.output, "begun\n");
  EXPECT_EQ(bad.exit_code, 3);
}

TEST(RunChild, SaysWhichSignalEndedIt) {
  EXPECT_EQ(run_child({"/bin/sh", "-c", "kill -9 $$"}).exit_code, 128 + 9);
}

TEST(RunChild, DoesNotStopAtAFullPipe) {
  EXPECT_EQ(run_child({"/bin/sh", "-c", "head -c 300000 /dev/zero"}).output.size(), 300000);
}

TEST(RunChild, NamesWhatCannotBeStarted) {
  try {
    run_child({"/nonexistent/program"});
    FAIL() << "nothing was thrown";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("/nonexistent/program"), std::string::npos);
  }
}

}  // namespace
}  // namespace gpubench
