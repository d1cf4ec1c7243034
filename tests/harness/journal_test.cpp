// What is read again of a run that was broken off: journals, which may be damaged.
#include "harness/program/journal.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "harness/records/row_json.hpp"
#include "harness/system/error.hpp"

namespace gpubench {
namespace {

using nlohmann::ordered_json;
using ::testing::HasSubstr;

std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "no error";
}

TEST(DamagedRow, NumbersThatDoNotFitAreRefused) {
  Row row;
  row.name = "a/b";
  row.arguments.emplace_back("n", std::int64_t{1});
  row.launches.emplace_back();
  const ordered_json good = whole_row_json(row);
  EXPECT_EQ(row_of_json(good).name, "a/b");
  for (const char* place : {"/repetition", "/outcome", "/arguments/0/1", "/launches/0/times"}) {
    for (const ordered_json& wrong :
         {ordered_json(1e300), ordered_json(-1e300), ordered_json(1.5), ordered_json()}) {
      ordered_json damaged = good;
      damaged[ordered_json::json_pointer(place)] = wrong;
      EXPECT_NE(refusal([&] { row_of_json(damaged); }), "no error") << place << " " << wrong;
    }
  }
  ordered_json damaged = good;
  damaged["repetition"] = ~std::uint64_t{0};
  EXPECT_EQ(refusal([&] { row_of_json(damaged); }), "not a whole number that fits");
  damaged = good;
  damaged["outcome"] = 3;
  EXPECT_EQ(refusal([&] { row_of_json(damaged); }), "no outcome has this number");
  damaged = good;
  damaged["samples"] = "none";
  EXPECT_EQ(refusal([&] { row_of_json(damaged); }), "not a list");
}

TEST(DamagedJournal, NoLineIsNestedDeeperThanTheStack) {
  const std::filesystem::path out = std::filesystem::path(::testing::TempDir()) / "nested.json";
  const std::string deep(200'000, '[');
  const std::string closed = deep + std::string(deep.size(), ']');
  for (const std::string& value : {deep, closed}) {
    std::ofstream(Journal::path_of(out))
        << R"({"journal":1,"command":[],"context":{},"same":{"filter":)" << value << "}}\n";
    EXPECT_THAT(refusal([&] { Journal::open_left(out).read(); }),
                HasSubstr("line 1: not written by this version"));
  }
  std::filesystem::remove(Journal::path_of(out));
}

// As helpers do, which end a moment after the run that was killed.
TEST(Journal, ACopyOfTheProcessThatHasLeftItHoldsNoLock) {
  const std::filesystem::path out = std::filesystem::path(::testing::TempDir()) / "left.json";
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  pid_t copy = 0;
  {
    Journal journal = Journal::open(out);
    journal.note_started("a/b", 0);
    copy = fork();
    if (copy == 0) {
      journal.leave();
      static_cast<void>(!write(ends[1], "x", 1));
      pause();
    }
    char left = 0;
    ASSERT_EQ(read(ends[0], &left, 1), 1);
  }
  EXPECT_EQ(refusal([&] { Journal::open_left(out); }), "no error");
  kill(copy, SIGKILL);
  waitpid(copy, nullptr, 0);
  for (const int end : ends) close(end);
  std::filesystem::remove(Journal::path_of(out));
}

}  // namespace
}  // namespace gpubench
