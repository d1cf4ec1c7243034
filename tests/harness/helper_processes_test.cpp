// Copies of this process that do pieces of work.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <functional>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "harness/system/helper_processes.hpp"

namespace gpubench {
namespace {

using testing::Optional;

// A helper's own word, of its begin().
std::string begun = "not begun";

HelperProcesses::Work work(std::function<std::optional<std::string>(std::size_t)> piece) {
  return {[] { begun = "begun"; }, std::move(piece)};
}

TEST(HelperProcesses, DoEveryPieceInProcessesOfTheirOwn) {
  const pid_t caller = getpid();
  HelperProcesses helpers(3, 20, work([caller](std::size_t piece) {
                            usleep(piece % 3 == 0 ? 3000 : 0);  // so that they end out of order
                            return begun + " " + std::to_string(piece) + " " +
                                   std::to_string(getpid() == caller) +
                                   std::string(piece * 10'000, '.');
                          }));
  for (std::size_t piece = 0; piece < 20; ++piece) {
    EXPECT_THAT(helpers.take(piece), Optional("begun " + std::to_string(piece) + " 0" +
                                              std::string(piece * 10'000, '.')));
  }
  EXPECT_EQ(begun, "not begun");  // here
}

TEST(HelperProcesses, GiveWhatWasDoneInAnyOrderAsked) {
  HelperProcesses helpers(2, 6, work([](std::size_t piece) { return std::to_string(piece); }));
  for (const std::size_t piece : {5, 0, 3, 1, 4, 2}) {
    EXPECT_THAT(helpers.take(piece), Optional(std::to_string(piece)));
  }
}

TEST(HelperProcesses, TellWhatIsDoneWhileAnEarlierPieceIsNot) {
  std::array<int, 2> pipe_of_both{};
  ASSERT_EQ(pipe(pipe_of_both.data()), 0);
  std::vector<std::size_t> heard;
  // The first piece waits for the last, which the other helper does after its second and fourth.
  HelperProcesses::Work slow_at_first = work([pipe_of_both](std::size_t piece) {
    char word = 0;
    const bool is_done = (piece != 0 || read(pipe_of_both[0], &word, 1) == 1) &&
                         (piece != 4 || write(pipe_of_both[1], &word, 1) == 1);
    return is_done ? std::to_string(piece) : "cannot";
  });
  slow_at_first.heard = [&](std::size_t piece, const std::string& result) {
    EXPECT_EQ(result, std::to_string(piece));
    heard.push_back(piece);
  };
  HelperProcesses helpers(2, 5, slow_at_first);
  EXPECT_THAT(helpers.take(0), Optional(std::string("0")));
  EXPECT_THAT(heard, testing::IsSupersetOf({0U, 1U, 3U}));
  for (const int end : pipe_of_both) close(end);
}

// Whoever dies takes along what it was doing: the caller does that, and others do the rest.
TEST(HelperProcesses, LoseOnlyThePieceInWhichOneEnds) {
  HelperProcesses helpers(2, 12, work([](std::size_t piece) {
                            if (piece == 3) raise(SIGKILL);
                            return std::to_string(piece);
                          }));
  for (std::size_t piece = 0; piece < 12; ++piece) {
    const auto answer = helpers.take(piece);
    if (piece == 3) {
      EXPECT_EQ(answer, std::nullopt);
    } else {
      EXPECT_THAT(answer, Optional(std::to_string(piece)));
    }
  }
}

// What a kernel prints is for whoever runs its row: the caller.
TEST(HelperProcesses, LeaveWhatPrintsToTheCaller) {
  HelperProcesses helpers(2, 8, work([](std::size_t piece) {
                            if (piece == 2) std::printf("from a kernel");
                            if (piece == 5) std::cout << "from a bench file\n";
                            return std::to_string(piece);
                          }));
  for (std::size_t piece = 0; piece < 8; ++piece) {
    const auto answer = helpers.take(piece);
    EXPECT_EQ(answer.has_value(), piece != 2 && piece != 5) << piece;
  }
}

// A process that a piece has started has the helper's socket too, and may keep it for long.
TEST(HelperProcesses, AreMissedWhenTheyEndThoughAChildOfTheirsLives) {
  const auto started = std::chrono::steady_clock::now();
  HelperProcesses helpers(2, 6, work([](std::size_t piece) {
                            if (piece == 2) {
                              if (fork() == 0) {
                                sleep(20);
                                _exit(0);
                              }
                              raise(SIGKILL);
                            }
                            return std::to_string(piece);
                          }));
  for (std::size_t piece = 0; piece < 6; ++piece) {
    EXPECT_EQ(helpers.take(piece).has_value(), piece != 2) << piece;
  }
  EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(10));
}

TEST(HelperProcesses, AreGivenUpWhenTheySayNothingForTooLong) {
  constexpr double limit_seconds = 1;
  HelperProcesses helpers(2, 6, work([](std::size_t piece) {
                            if (piece == 2) raise(SIGSTOP);
                            return std::to_string(piece);
                          }),
                          limit_seconds);
  for (std::size_t piece = 0; piece < 6; ++piece) {
    EXPECT_EQ(helpers.take(piece).has_value(), piece != 2) << piece;
  }
}

TEST(HelperProcesses, LeaveAllToTheCallerOnceTheLastHasEnded) {
  HelperProcesses helpers(1, 5, work([](std::size_t piece) {
                            if (piece == 2) raise(SIGKILL);
                            return std::to_string(piece);
                          }));
  EXPECT_THAT(helpers.take(0), Optional(std::string("0")));
  EXPECT_THAT(helpers.take(1), Optional(std::string("1")));
  EXPECT_EQ(helpers.take(2), std::nullopt);
  EXPECT_EQ(helpers.take(3), std::nullopt);
}

TEST(HelperProcesses, GoOnAfterAPieceOfWhichNothingCame) {
  const auto throws = [](std::size_t piece) -> std::optional<std::string> {
    if (piece == 2) throw std::runtime_error("no");
    return std::to_string(piece);
  };
  const auto gives_nothing = [](std::size_t piece) -> std::optional<std::string> {
    if (piece == 2) return std::nullopt;
    return std::to_string(piece);
  };
  for (const auto& piece : {work(throws), work(gives_nothing)}) {
    HelperProcesses helpers(1, 4, piece);
    EXPECT_THAT(helpers.take(1), Optional(std::string("1")));
    EXPECT_EQ(helpers.take(2), std::nullopt);
    EXPECT_THAT(helpers.take(3), Optional(std::string("3")));
  }
}

TEST(HelperProcesses, AreGoneWithTheirOwner) {
  pid_t helper = 0;
  {
    HelperProcesses helpers(1, 1, work([](std::size_t) { return std::to_string(getpid()); }));
    helper = std::stoi(helpers.take(0).value());
    EXPECT_EQ(kill(helper, 0), 0);
  }
  EXPECT_EQ(kill(helper, 0), -1);
}

// The request to end is for the process that they work for.
TEST(HelperProcesses, GoOnWhenTheirGroupIsAskedToEnd) {
  HelperProcesses helpers(1, 1, work([](std::size_t) {
                            for (const int signal : {SIGINT, SIGTERM, SIGHUP}) raise(signal);
                            return std::string("still here");
                          }));
  EXPECT_THAT(helpers.take(0), Optional(std::string("still here")));
}

}  // namespace
}  // namespace gpubench
