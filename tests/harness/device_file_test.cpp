// Device files: which are read, and what is said of the others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "harness/devices/device.hpp"
#include "harness/devices/figure_rules.hpp"
#include "tests/harness/device_texts.hpp"

namespace gpubench {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class UserFile : public ::testing::Test {
 protected:
  std::filesystem::path write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories(dir_);
    std::ofstream(dir_ / name) << text;
    return dir_ / name;
  }

  void TearDown() override { std::filesystem::remove_all(dir_); }

  const std::filesystem::path dir_ =
      std::filesystem::path(::testing::TempDir()) /
      ::testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(UserFile, LoadsByPath) {
  json device = good_device();
  device["name"] = "my-gpu";
  device["figures"]["sm_count"]["value"] = 7;
  const auto path = write("my-gpu.json", device.dump());
  EXPECT_EQ(device_spec(path.string())["sm_count"], 7);
}

TEST_F(UserFile, MustCarryItsOwnName) {
  const auto path = write("my-gpu.json", good_device().dump());
  EXPECT_EQ(error_of([&] { DeviceSpec::load(path); }),
            path.string() + ": \"name\" is \"h200-sxm\", must be the file's own name, \"my-gpu\"");
}

TEST_F(UserFile, MustExist) {
  EXPECT_EQ(error_of([] { device_spec("nowhere/my-gpu.json"); }),
            "nowhere/my-gpu.json: no such file");
  const std::string too_long = std::string(5000, 'a') + ".json";
  EXPECT_EQ(error_of([&] { DeviceSpec::load(too_long); }), too_long + ": no such file");
  const auto path = write("a.json", "");
  EXPECT_EQ(error_of([&] { DeviceSpec::load(path.parent_path()); }),
            path.parent_path().string() + ": not a file");
}

TEST(BadFile, WrongValuesAreNamed) {
  EXPECT_EQ(parse_error_with("sm_clock_hz", -1.5),
            "mine.json: figure \"sm_clock_hz\": value -1.5 must be above 0");
  EXPECT_EQ(parse_error_with("sm_clock_hz", 0),
            "mine.json: figure \"sm_clock_hz\": value 0 must be above 0");
  EXPECT_EQ(parse_error_with("sm_count", 0),
            "mine.json: figure \"sm_count\": value 0 must be a whole number, at least 1");
  EXPECT_EQ(parse_error_with("sm_count", "132"),
            "mine.json: figure \"sm_count\": value \"132\" is not a number");
  EXPECT_EQ(parse_error_with("sm_count", nullptr),
            "mine.json: figure \"sm_count\": value null is not a number");
  EXPECT_EQ(parse_error_with("dram_read_efficiency", 1.01),
            "mine.json: figure \"dram_read_efficiency\": value 1.01 must be above 0 and at most 1");
}

TEST(BadFile, NoFigureIsBeyondWhatDevicesHave) {
  for (const auto& rule : figure_rules()) {
    if (rule.constraint == Constraint::fraction) continue;
    const std::string name(rule.name);
    for (const double extreme : {1e-300, 1e21, 1.7e308}) {
      EXPECT_THAT(parse_error_with(name, extreme), StartsWith("mine.json: figure \"" + name))
          << extreme;
    }
  }
  EXPECT_EQ(parse_error_with("dram_fetch_bytes", 8192),
            "mine.json: figure \"dram_fetch_bytes\": value 8192 must be from 32 to 4096");
}

TEST(BadFile, FiguresThatContradictEachOtherAreNamed) {
  EXPECT_EQ(
      parse_error_with("dram_fetch_bytes", 48),
      "mine.json: figure \"dram_fetch_bytes\": value 48 must be a multiple of 32, the bytes of "
      "a sector");
  EXPECT_EQ(parse_error_with("max_threads_per_sm", 512),
            "mine.json: figure \"max_threads_per_block\": value 1024 must be at most "
            "\"max_threads_per_sm\", which is 512");
  EXPECT_THAT(parse_error_with("shared_bytes_per_sm", 1024),
              HasSubstr("\"shared_bytes_per_block_optin\": value"));
}

TEST(BadFile, NoTextMovesATerminalsCursor) {
  for (const char* key : {"title", "name"}) {
    json device = good_device();
    for (const char* harmful : {"\x1b[31m", "\x7f", "\u009b31m", "\u202e", "\u2028"}) {
      device[key] = "NVIDIA " + std::string(harmful) + "H200";
      EXPECT_EQ(parse_error(device),
                "mine.json: \"" + std::string(key) + "\" has control characters");
    }
    device[key] = "NVIDIA\u00ae H200";
    EXPECT_THAT(parse_error(device), Not(HasSubstr("control characters")));
  }
  const auto error_with = [](const char* pointer, const json& value) {
    json device = good_device();
    device[json::json_pointer(pointer)] = value;
    return parse_error(device);
  };
  EXPECT_THAT(error_with("/matches/0", "\x1b"), HasSubstr("\"matches\" has control characters"));
  EXPECT_THAT(error_with("/sources/x", "\x1b"), HasSubstr("source \"x\" has control characters"));
  EXPECT_THAT(
      error_with("/figures/sm_count", {{"value", 1}, {"from", "assumed"}, {"source", "\x1b"}}),
      HasSubstr("\"source\" has control characters"));
  for (const char* key : {"\x1b[31m", "a\u202eb", "a\nb"}) {  // in the error itself
    EXPECT_THAT(error_with("/figures", {{key, 1}}),
                AllOf(Not(HasSubstr(key)), HasSubstr("unknown")));
  }
}

TEST(BadFile, NoValueIsNestedDeeperThanTheStack) {
  for (const std::string open : {"[", "{\"a\":"}) {
    for (const int depth : {30, 200'000}) {
      std::string text;
      for (int i = 0; i < depth; ++i) text += open;
      EXPECT_EQ(error_of([&] { DeviceSpec::parse("{\"schema\":" + text, "mine.json"); }),
                "mine.json: is nested too deeply");
    }
  }
}

TEST(BadFile, AComputeCapabilityFitsItsNumber) {
  json device = good_device();
  device["compute_capability"] = {std::uint64_t{1} << 40, 0};
  EXPECT_THAT(parse_error(device), HasSubstr("two whole numbers"));
}

TEST(BadFile, EveryFigureKeepsItsConstraint) {
  ASSERT_EQ(parse_error(good_device()), "no error");
  using Names = std::vector<const char*>;
  const std::map<std::string, Names> not_above{
      {"max_threads_per_sm", {"max_threads_per_block"}},
      {"shared_bytes_per_block_optin", {"shared_bytes_per_block"}},
      {"shared_bytes_per_sm", {"shared_bytes_per_block", "shared_bytes_per_block_optin"}}};
  for (const auto& rule : figure_rules()) {
    const std::string name(rule.name);
    const auto accepts = [&](double value) {
      json device = good_device();
      for (const char* least : not_above.contains(name) ? not_above.at(name) : Names{}) {
        device["figures"][least]["value"] = std::max(1.0, range_of(*find_rule(least)).least);
      }
      device["figures"][name] = {{"value", value}, {"from", "assumed"}, {"source", "a test"}};
      const std::string error = parse_error(device);
      if (error != "no error") {
        EXPECT_THAT(error, StartsWith("mine.json: figure \"" + name + "\": value "));
      }
      return error == "no error";
    };
    const bool is_whole =
        rule.constraint == Constraint::count || rule.constraint == Constraint::whole;
    EXPECT_FALSE(accepts(-1)) << name;
    EXPECT_EQ(accepts(0), rule.constraint == Constraint::whole) << name;
    const bool is_fraction = rule.constraint == Constraint::fraction;
    const double one = std::clamp(1.0, range_of(rule).least, range_of(rule).most / 2);
    EXPECT_TRUE(accepts(one)) << name;
    EXPECT_EQ(accepts(is_whole ? one + 0.5 : one * 1.5), !is_whole && !is_fraction) << name;
    EXPECT_EQ(accepts(one * 2), !is_fraction) << name;
  }
}

TEST(BadFile, AValueInAnotherUnitIsRefused) {
  const std::pair<const char*, double> mistaken[] = {
      {"dram_bytes_per_second", 3350},   // GB/s
      {"nvlink_bytes_per_second", 9e5},  // MB/s
      {"tensor_bf16_flops_per_second", 989.4},
      {"launch_stream_seconds", 1.2},  // us
      {"kernel_floor_seconds", 4e-3},  // ms
      {"power_limit_w", 0.7},          // kW
      {"sm_clock_hz", 1980},           // MHz
      {"l2_bytes", 50},                // MB
      {"l2_bytes", 51200},             // KiB
      {"dram_bytes", 80},              // GB
      {"shared_bytes_per_sm", 228},    // KiB
  };
  for (const auto& [figure, value] : mistaken) {
    json device = good_device();
    device["figures"][figure] = {{"value", value}, {"from", "assumed"}, {"source", "a test"}};
    EXPECT_THAT(parse_error(device), HasSubstr("must be from ")) << figure;
  }
}

TEST(BadFile, EveryRequiredFigureIsMissed) {
  for (const auto& rule : figure_rules()) {
    const std::string name(rule.name);
    json device = good_device();
    device.erase("peak_clocks");  // they name figures
    device["figures"].erase(name);
    EXPECT_EQ(parse_error(device),
              rule.required ? "mine.json: figure \"" + name + "\" is missing" : "no error");
  }
}

TEST(BadFile, MisspeltFigureIsNotIgnored) {
  json device = good_device();
  device["figures"]["sm_clok_hz"] = device["figures"]["sm_clock_hz"];
  EXPECT_EQ(parse_error(device),
            "mine.json: unknown figure \"sm_clok_hz\", did you mean \"sm_clock_hz\"?");
}

TEST(BadFile, FigureNeedsValueFromAndSource) {
  for (const std::string key : {"value", "from", "source"}) {
    json device = good_device();
    device["figures"]["l2_bytes"].erase(key);
    EXPECT_EQ(parse_error(device), "mine.json: figure \"l2_bytes\": \"" + key + "\" is missing");
  }
  json device = good_device();
  device["figures"]["l2_bytes"] = 5;
  EXPECT_THAT(parse_error(device), StartsWith("mine.json: figure \"l2_bytes\": must be an object"));
  device = good_device();
  device["figures"]["l2_bytes"]["form"] = "derived";
  EXPECT_EQ(parse_error(device),
            "mine.json: figure \"l2_bytes\": unknown key \"form\", did you mean \"from\"?");
}

TEST(BadFile, FigureNeedsAKnownFromAndASource) {
  json device = good_device();
  device["figures"]["l2_bytes"]["from"] = "guessed";
  EXPECT_EQ(parse_error(device),
            "mine.json: figure \"l2_bytes\": \"from\" is \"guessed\", must be one of data_sheet, "
            "published, calibrated, derived, assumed");
  device["figures"]["l2_bytes"] = {{"value", 5e7}, {"from", "published"}, {"source", "hearsay"}};
  EXPECT_EQ(parse_error(device),
            "mine.json: figure \"l2_bytes\": source \"hearsay\" is not a key of \"sources\"");
  device["figures"]["l2_bytes"]["from"] = "derived";
  EXPECT_EQ(parse_error(device), "no error");
  device["figures"]["l2_bytes"]["source"] = "";
  EXPECT_EQ(parse_error(device),
            "mine.json: figure \"l2_bytes\": \"source\" must be a non-empty string");
}

TEST(BadFile, SyntaxErrorsHaveLineAndColumn) {
  const std::string nan = "{\n  \"figures\": {\n    \"sm_count\": {\"value\": NaN}\n  }\n}\n";
  EXPECT_THAT(parse_error(nan),
              AllOf(StartsWith("mine.json: not valid JSON at line 3, column 27: "),
                    Not(HasSubstr("json.exception")), Not(HasSubstr("\n"))));
  EXPECT_THAT(parse_error(std::string()),
              StartsWith("mine.json: not valid JSON at line 1, column 1: "));
  EXPECT_THAT(parse_error(std::string("{\n\"name\":\n")), StartsWith("mine.json: not valid JSON"));
  EXPECT_EQ(parse_error(std::string("{\"sm_count\": 1e999}")),
            "mine.json: not valid JSON: number overflow parsing '1e999'");
  EXPECT_EQ(parse_error(std::string("[]")), "mine.json: a device file is one JSON object");
}

TEST(BadFile, KeyGivenTwiceIsAnError) {
  EXPECT_EQ(parse_error(std::string(R"({"figures": {"sm_count": 1, "sm_count": 2}})")),
            "mine.json: \"sm_count\" is given twice");
}

TEST(BadFile, TopLevelKeysAreChecked) {
  for (const std::string key :
       {"schema", "name", "title", "kind", "matches", "compute_capability", "figures", "sources"}) {
    json device = good_device();
    device.erase(key);
    EXPECT_EQ(parse_error(device), "mine.json: \"" + key + "\" is missing");
  }
  const auto error_with = [](const std::string& key, const json& value) {
    json device = good_device();
    device[key] = value;
    return parse_error(device);
  };
  EXPECT_EQ(error_with("schema", 2), "mine.json: \"schema\" is 2, this program reads 1");
  EXPECT_EQ(error_with("kind", "tpu"), "mine.json: \"kind\" is \"tpu\", must be gpu or roof");
  EXPECT_EQ(error_with("name", 5), "mine.json: \"name\" must be a string");
  EXPECT_EQ(error_with("title", ""), "mine.json: \"title\" is empty");
  EXPECT_EQ(error_with("matches", json::array({1})),
            "mine.json: \"matches\" must be a list of non-empty strings");
  EXPECT_EQ(error_with("compute_capability", "9.0"),
            "mine.json: \"compute_capability\" must be [major, minor]");
  EXPECT_EQ(error_with("compute_capability", json::array({9})),
            "mine.json: \"compute_capability\" must be [major, minor], two whole numbers");
  EXPECT_EQ(error_with("sources", {{"sheet", 5}}),
            "mine.json: source \"sheet\" must be a non-empty string");
  EXPECT_EQ(error_with("titel", "x"), "mine.json: unknown key \"titel\", did you mean \"title\"?");
}

TEST(BadFile, PeakClocksAreOfItsPeaks) {
  const auto error_with = [](const std::string& key, const json& value) {
    json device = good_device();
    device["peak_clocks"][0][key] = value;
    return parse_error(device);
  };
  EXPECT_EQ(error_with("clock_hz", 0), "mine.json: \"peak_clocks\": value 0 must be above 0");
  EXPECT_EQ(error_with("why", ""),
            "mine.json: \"peak_clocks\": \"why\" must be a non-empty string");
  EXPECT_EQ(error_with("figures", {"sm_count"}),
            "mine.json: \"peak_clocks\": \"sm_count\" is no peak of this file");
  EXPECT_EQ(error_with("wy", 1),
            "mine.json: \"peak_clocks\": unknown key \"wy\", did you mean \"why\"?");
  json device = good_device();
  device["peak_clocks"][0].erase("clock_hz");
  EXPECT_EQ(parse_error(device), "mine.json: \"peak_clocks\": \"clock_hz\" is missing");
  device["peak_clocks"] = 5;
  EXPECT_EQ(parse_error(device), "mine.json: \"peak_clocks\" must be a list of objects");
}

TEST(BadFile, LinesAreSingle) {
  EXPECT_THAT(parse_error_with("sm_count", "a\nb"), Not(HasSubstr("\n")));
  EXPECT_THAT(error_of([] { device_spec("a\nb"); }), Not(HasSubstr("\n")));
}

TEST(RoofDevice, NeedsNoFigureButOneRoof) {
  const json roof_only = {
      {"schema", 1},
      {"name", "lpu"},
      {"title", "An accelerator"},
      {"kind", "roof"},
      {"matches", json::array()},
      {"figures",
       {{"dram_bytes_per_second", {{"value", 8e13}, {"from", "assumed"}, {"source", "a test"}}}}},
      {"sources", json::object()}};
  const DeviceSpec device = DeviceSpec::parse(roof_only.dump(), "lpu.json");
  EXPECT_EQ(device.compute_capability(), std::make_pair(0, 0));
  ASSERT_EQ(device.data_sheet_roofs().size(), 1u);
  EXPECT_EQ(device.data_sheet_roofs()[0].value, 8e13);

  json empty = roof_only;
  empty["figures"] = json::object();
  EXPECT_EQ(parse_error(empty), "mine.json: no roof follows from its figures");
}

TEST(Schema, AgreesWithTheTableOfFigures) {
  const json schema = json::parse(read_file(devices_dir / "schema.json"));
  const json& properties = schema["properties"]["figures"]["properties"];
  const json& required = schema["then"]["properties"]["figures"]["required"];
  EXPECT_EQ(properties.size(), figure_rules().size());
  std::set<std::string> required_by_table;
  for (const auto& rule : figure_rules()) {
    const std::string name(rule.name);
    ASSERT_TRUE(properties.contains(name)) << name;
    const char* constraint = nullptr;
    switch (rule.constraint) {
      case Constraint::count:
        constraint = "#/$defs/count";
        break;
      case Constraint::whole:
        constraint = "#/$defs/whole";
        break;
      case Constraint::positive:
        constraint = "#/$defs/positive";
        break;
      case Constraint::fraction:
        constraint = "#/$defs/fraction";
        break;
    }
    EXPECT_EQ(properties[name]["$ref"], constraint) << name;
    EXPECT_THAT(properties[name]["description"].get<std::string>(),
                StartsWith("[" + std::string(rule.unit) + "] "))
        << name;
    if (properties[name].contains("properties")) {
      const auto [least, most] = range_of(rule);
      const json limits{{"minimum", least}, {"maximum", most}};
      EXPECT_EQ(properties[name]["properties"]["value"], limits) << name;
    } else {  // may be near 1
      EXPECT_THAT(rule.unit, testing::AnyOf("1", "B", "FLOP", "OP")) << name;
    }
    if (rule.required) required_by_table.insert(name);
  }
  EXPECT_EQ(required.get<std::set<std::string>>(), required_by_table);
}

TEST(Schema, DefinesTheConstraintsAsTheProgramDoes) {
  const json schema = json::parse(read_file(devices_dir / "schema.json"));
  const auto value_of = [&](const char* constraint) {
    return schema["$defs"][constraint]["properties"]["value"];
  };
  EXPECT_EQ(value_of("count"), json({{"type", "integer"}, {"minimum", 1}}));
  EXPECT_EQ(value_of("whole"), json({{"type", "integer"}, {"minimum", 0}}));
  EXPECT_EQ(value_of("positive"), json({{"type", "number"}, {"exclusiveMinimum", 0}}));
  EXPECT_EQ(value_of("fraction"),
            json({{"type", "number"}, {"exclusiveMinimum", 0}, {"maximum", 1}}));
  EXPECT_EQ(schema["properties"]["figures"]["additionalProperties"], false);
  EXPECT_THAT(schema["$defs"]["from"]["enum"].get<std::vector<std::string>>(),
              ElementsAre("data_sheet", "published", "calibrated", "derived", "assumed"));
}

}  // namespace
}  // namespace gpubench
