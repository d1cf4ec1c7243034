// Damaged inputs for every reader of text in the program: each is read, or refused by an exception
// whose line no terminal obeys. Under the preset sanitize this also finds what would not show.
// GPUBENCH_FUZZ_INPUTS=1000000 tries more.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "harness/bench/chosen_axes.hpp"
#include "harness/devices/device.hpp"
#include "harness/platform/model/conditions/conditions.hpp"
#include "harness/program/journal.hpp"
#include "harness/program/options.hpp"
#include "harness/records/row_json.hpp"
#include "tests/harness/device_texts.hpp"

namespace gpubench {
namespace {

using nlohmann::ordered_json;

const std::vector<std::string> spoilers{"\"",
                                        "[",
                                        "{",
                                        "]",
                                        "}",
                                        ",",
                                        ":",
                                        "\\u0000",
                                        "1e999",
                                        "-1",
                                        "0",
                                        "9e307",
                                        "null",
                                        "true",
                                        "\xff",
                                        "\x1b[2J",
                                        "\n",
                                        "-",
                                        "=",
                                        "/",
                                        "*",
                                        "+",
                                        "18446744073709551616",
                                        "1e-320",
                                        "\"\"",
                                        "[[[[["};

class Damage {
 public:
  explicit Damage(std::vector<std::string> seeds) : seeds_(std::move(seeds)) {}

  std::string next() {
    std::string text = seeds_[below(seeds_.size())];
    for (std::size_t i = 0, changes = 1 + below(3); i < changes; ++i) change(text);
    return text;
  }

 private:
  std::size_t below(std::size_t end) { return end == 0 ? 0 : draw_() % end; }

  void change(std::string& text) {
    const std::size_t at = below(text.size() + 1);
    const std::size_t length = std::min(text.size() - at, std::size_t{1} + below(8));
    switch (below(6)) {
      case 0:
        text.insert(at, spoilers[below(spoilers.size())]);
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.replace(at, length, spoilers[below(spoilers.size())]);
        break;
      case 3:
        text.insert(at, text.substr(at, length));
        break;
      case 4:
        text.resize(at);
        break;
      default:
        replace_value(text, at);
    }
  }

  // From `at` on, the next number or word becomes another.
  void replace_value(std::string& text, std::size_t at) {
    const char* of_values = "0123456789.eE+-abcdfghijklmnopqrstuvwxyz_";
    const std::size_t begin = text.find_first_of(of_values, at);
    if (begin == std::string::npos) return;
    const std::size_t end = std::min(text.size(), text.find_first_not_of(of_values, begin));
    text.replace(begin, end - begin, spoilers[below(spoilers.size())]);
  }

  std::vector<std::string> seeds_;
  std::mt19937_64 draw_{20};
};

std::size_t inputs() {
  const char* wanted = std::getenv("GPUBENCH_FUZZ_INPUTS");
  return wanted == nullptr ? 300 : std::strtoull(wanted, nullptr, 10);
}

// What an exception says is printed by main(), which makes it plain; nothing else may come of it.
void try_all(std::vector<std::string> seeds, const std::function<void(const std::string&)>& read) {
  for (const std::string& seed : seeds) EXPECT_NO_THROW(read(seed)) << seed.substr(0, 200);
  Damage damage(std::move(seeds));
  std::size_t refused = 0;
  const std::size_t count = inputs();
  for (std::size_t i = 0; i < count; ++i) {
    try {
      read(damage.next());
    } catch (const std::exception& error) {
      EXPECT_STRNE(error.what(), "");
      ++refused;
    }
  }
  EXPECT_GT(refused, count / 20);  // else the damage does none
}

TEST(DamagedInput, DeviceFiles) {
  try_all({good_device().dump(), good_device().dump(1)},
          [](const std::string& text) { DeviceSpec::parse(text, "mine.json"); });
}

TEST(DamagedInput, ConditionsFiles) {
  try_all(
      {R"({"about":"x","ordering":{"seed":3,"hardware_queues":4,"late_memsets":true,)"
       R"("hang":{"kernel":"k","launch":2}},"timing":{"seed":1,"event_tick_seconds":1e-6,)"
       R"("clock":{"idle_hz":1e8,"limit_steps":3},"noise":{"sigma":0.1},"host":{"jitter":1}}})"},
      [](const std::string& text) { model::parse_conditions(text, "mine.json"); });
}

TEST(DamagedInput, Axes) {
  try_all({"coalescing/strided_read/stride=3,5,7", "a/b/c=1:10", "a/b/c=1K:8M:*2", "a/b/c=2:9:+3"},
          [](const std::string& text) { parse_axis(text); });
}

TEST(DamagedInput, CommandLines) {
  try_all({"--device=model:h200-sxm", "--suite=quick", "--benchmark_min_time=0.5s", "--seed=7",
           "--benchmark_context=a=b,c=d", "--axis=a/b/c=1:9", "--benchmark_filter=^a/[b-d]+$",
           "--benchmark_repetitions=3", "--row_limit=2", "--resume=run.json"},
          [](const std::string& text) {
            std::string name = "gpubench", word = text;
            char* line[] = {name.data(), word.data()};
            parse_options(2, line);
          });
}

TEST(DamagedInput, Rows) {
  Row row;
  row.name = "a/b/n:1";
  row.arguments.emplace_back("n", std::int64_t{1});
  row.counters["law"] = 1e9;
  row.launches.emplace_back();
  row.samples = {1e-6, 2e-6};
  try_all({whole_row_json(row).dump()}, [](const std::string& text) {
    const ordered_json json = ordered_json::parse(text);
    whole_row_json(row_of_json(json));
  });
}

TEST(DamagedInput, Journals) {
  const std::filesystem::path out = std::filesystem::path(::testing::TempDir()) / "damaged.json";
  const std::string head =
      R"({"journal":1,"command":["./gpubench","--seed=1"],"context":{},"same":{"filter":""}})";
  try_all({head + "\n{\"row\":{\"name\":\"a\"}}\n{\"resumed\":\"today\"}\n", head + "\n"},
          [&](const std::string& text) {
            std::ofstream(Journal::path_of(out), std::ios::binary) << text;
            Journal::open_left(out).read();
          });
  std::filesystem::remove(Journal::path_of(out));
}

}  // namespace
}  // namespace gpubench
