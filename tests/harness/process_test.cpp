#include "harness/system/child_process.hpp"

#include <gtest/gtest.h>

#include "harness/system/error.hpp"

namespace gpubench {
namespace {

TEST(RunProgram, ReturnsWhatWasWrittenAndTheExitCode) {
  const Ended good = run_program({"/bin/sh", "-c", "echo one; echo two"});
  EXPECT_EQ(good.output, "one\ntwo\n");
  EXPECT_EQ(good.exit_code, 0);
  const Ended bad = run_program({"/bin/sh", "-c", "echo begun; exit 3"});
  EXPECT_EQ(bad.output, "begun\n");
  EXPECT_EQ(bad.exit_code, 3);
}

TEST(RunProgram, SaysWhichSignalEndedIt) {
  EXPECT_EQ(run_program({"/bin/sh", "-c", "kill -9 $$"}).exit_code, 128 + 9);
}

TEST(RunProgram, DoesNotStopAtAFullPipe) {
  EXPECT_EQ(run_program({"/bin/sh", "-c", "head -c 300000 /dev/zero"}).output.size(), 300000);
}

TEST(RunProgram, NamesWhatCannotBeStarted) {
  try {
    run_program({"/nonexistent/program"});
    FAIL() << "nothing was thrown";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("/nonexistent/program"), std::string::npos);
  }
}

}  // namespace
}  // namespace gpubench
