#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "harness/devices/device.hpp"

namespace gpubench {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const std::filesystem::path devices_dir =
    std::filesystem::path(GPUBENCH_SOURCE_DIR) / "harness" / "devices";

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

// A complete device file to break in one place at a time.
json good_device() { return json::parse(read_file(devices_dir / "h200-sxm.json")); }

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

std::string parse_error(const std::string& text) {
  return error_of([&] { DeviceSpec::parse(text, "mine.json"); });
}

std::string parse_error(const json& device) { return parse_error(device.dump(2)); }

std::string parse_error_with(const std::string& figure, const json& value) {
  json device = good_device();
  device["figures"][figure]["value"] = value;
  return parse_error(device);
}

double roof(const DeviceSpec& device, const std::string& name) {
  for (const auto& roof : device.data_sheet_roofs()) {
    if (roof.name == name) return roof.value;
  }
  ADD_FAILURE() << device.name() << " has no roof " << name;
  return 0;
}

TEST(DeviceFiles, ShipTheReferenceDevices) {
  EXPECT_THAT(known_devices(),
              ::testing::IsSupersetOf({"a100-80-sxm", "h100-sxm", "h200-sxm", "b200", "l40s",
                                       "rtx-4090", "mi300x", "tpu-v4", "cs-2", "groq-lpu"}));
}

TEST(DeviceFiles, AreEmbeddedAsTheyStandInTheSourceTree) {
  std::vector<std::string> stems;
  for (const auto& entry : std::filesystem::directory_iterator(devices_dir)) {
    if (entry.path().extension() == ".json" && entry.path().stem() != "schema") {
      stems.push_back(entry.path().stem().string());
    }
  }
  std::ranges::sort(stems);
  ASSERT_EQ(known_devices(), stems);
  for (const auto& stem : stems) {
    const DeviceSpec file = DeviceSpec::load(devices_dir / (stem + ".json"));
    const DeviceSpec embedded = device_spec(stem);
    EXPECT_EQ(embedded.name(), stem);
    ASSERT_EQ(embedded.figures().size(), file.figures().size());
    for (const auto& [name, figure] : file.figures()) {
      EXPECT_EQ(embedded[name], figure.value) << stem << " " << name;
    }
  }
}

TEST(DeviceFiles, CiteEverySourceTheyList) {
  for (const auto& name : known_devices()) {
    const json device = json::parse(read_file(devices_dir / (name + ".json")));
    std::set<std::string> cited;
    for (const auto& figure : device["figures"]) cited.insert(figure["source"].get<std::string>());
    for (const auto& [key, text] : device["sources"].items()) {
      EXPECT_TRUE(cited.contains(key)) << name << " never cites " << key;
    }
  }
}

TEST(DeviceFiles, NoTwoClaimTheSameGpu) {
  std::set<std::string> seen;
  for (const auto& name : known_devices()) {
    for (const auto& match : device_spec(name).matches()) {
      EXPECT_TRUE(seen.insert(match).second) << name << " claims " << match << " again";
    }
  }
}

TEST(DeviceFiles, FitTogether) {
  for (const auto& name : known_devices()) {
    const DeviceSpec device = device_spec(name);
    if (device.kind() != "gpu") continue;
    SCOPED_TRACE(name);
    EXPECT_EQ(device["shared_bytes_per_block_optin"],
              device["shared_bytes_per_sm"] - device["shared_reserved_bytes_per_block"]);
    EXPECT_LT(device["shared_bytes_per_sm"], device["l1_bytes_per_sm"]);
    EXPECT_LE(device["max_threads_per_block"], device["max_threads_per_sm"]);
    EXPECT_LT(device["shared_latency_cycles"], device["l2_latency_cycles"]);
    EXPECT_LT(device["l1_latency_cycles"], device["l2_latency_cycles"]);
    EXPECT_LT(device["l2_latency_cycles"], device["dram_latency_cycles"]);
    EXPECT_LT(device["dram_bytes_per_second"], device["l2_bytes_per_second"]);
    EXPECT_LT(device["l2_bytes_per_second"], roof(device, "l1"));
    EXPECT_LT(device["launch_graph_seconds"], device["launch_stream_seconds"]);
    EXPECT_LE(device["launch_host_seconds"], device["launch_stream_seconds"]);
    EXPECT_LT(device["pageable_bytes_per_second"], device["pcie_h2d_bytes_per_second"]);
  }
}

// SMs x operations per clock x clock against what the maker prints. A sheet that takes another
// clock than the maximum is an exception that the file has to explain.
class DataSheetPeaks : public ::testing::TestWithParam<std::string> {};

TEST_P(DataSheetPeaks, FollowFromFiguresAtTheSheetsClock) {
  constexpr std::string_view stated = "_flops_per_second";
  const DeviceSpec device = device_spec(GetParam());
  int compared = 0;
  for (const auto& [name, peak] : device.figures()) {
    if (!name.ends_with(stated)) continue;
    const std::string unit = name.substr(0, name.size() - stated.size());
    const auto a_clock = device.find(unit + "_flops_per_clock_per_sm");
    if (!a_clock && device.kind() == "roof") continue;  // the peak is all that is known
    ASSERT_TRUE(a_clock) << name;
    SCOPED_TRACE(name);
    ++compared;
    const double at_maximum = device["sm_count"] * *a_clock * device["sm_clock_hz"];
    const auto exception = device.peak_clocks().find(name);
    if (exception == device.peak_clocks().end()) {
      EXPECT_NEAR(at_maximum / peak.value, 1, 0.02);  // sheets print two or three digits
      continue;
    }
    EXPECT_GT(exception->second.why.size(), 40u);
    EXPECT_GT(std::abs(at_maximum / peak.value - 1), 0.01) << "needs no clock of its own";
    EXPECT_NEAR(at_maximum / device["sm_clock_hz"] * exception->second.hertz / peak.value, 1, 0.01);
  }
  if (device.kind() == "gpu") {
    EXPECT_GE(compared, 5);
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, DataSheetPeaks, ::testing::ValuesIn(known_devices()),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(Roofs, AreAtTheMaximumBoostClock) {
  const DeviceSpec h100 = device_spec("h100-sxm");
  EXPECT_NEAR(roof(h100, "tensor_bf16"), 1070.5e12, 0.1e12);  // not the sheet's 989.4e12
  EXPECT_DOUBLE_EQ(roof(h100, "shared"), 132 * 128 * 1.98e9);
  EXPECT_EQ(roof(h100, "dram"), 3.35e12);
}

TEST(Roofs, OfAnAbsentFigureAreAbsent) {
  for (const auto& roof : device_spec("a100-80-sxm").data_sheet_roofs()) {
    EXPECT_NE(roof.name, "tensor_fp8");
  }
}

TEST(Roofs, SayWhereTheirFigureComesFrom) {
  const auto roofs = device_spec("h200-sxm").data_sheet_roofs();
  ASSERT_GE(roofs.size(), 2u);
  EXPECT_EQ(roofs[0].name, "dram");
  EXPECT_EQ(roofs[0].unit, "B/s");
  EXPECT_EQ(roofs[0].provenance, "data_sheet");
  EXPECT_THAT(roofs[0].source, StartsWith("data_sheet: NVIDIA H200"));
  EXPECT_EQ(roofs[1].name, "l2");
  EXPECT_EQ(roofs[1].provenance, "published");
  EXPECT_THAT(roofs[1].source, StartsWith("published: te42kyfo/gpu-benches"));
  EXPECT_EQ(roofs.back().name, "tensor_int8");
  EXPECT_EQ(roofs.back().unit, "OP/s");
  EXPECT_EQ(std::ranges::find(roofs, "fp32", &Roof::name)->unit, "FLOP/s");
  EXPECT_EQ(std::ranges::find(roofs, "l1", &Roof::name)->unit, "B/s");
}

TEST(Roofs, AreTrustedAsTheirWeakestFigure) {
  const auto provenance_of = [](const json& file, const std::string& name) {
    for (const auto& roof : DeviceSpec::parse(file.dump(), "mine.json").data_sheet_roofs()) {
      if (roof.name == name) return roof.provenance;
    }
    return std::string("absent");
  };
  json device = good_device();
  // Of the H200: FLOP per clock by the data sheet, SMs and clock published.
  EXPECT_EQ(provenance_of(device, "fp32"), "published");
  device["figures"]["sm_clock_hz"]["from"] = "assumed";
  EXPECT_EQ(provenance_of(device, "fp32"), "assumed");
  EXPECT_EQ(provenance_of(device, "tensor_bf16"), "assumed");
  EXPECT_EQ(provenance_of(device, "dram"), "data_sheet");
}

TEST(Roofs, OfARoofDeviceAreWhatItsMakerStates) {
  const DeviceSpec mi300x = device_spec("mi300x");
  EXPECT_EQ(mi300x.kind(), "roof");
  EXPECT_EQ(roof(mi300x, "tensor_bf16"), 1307.4e12);
  EXPECT_EQ(roof(device_spec("tpu-v4"), "tensor_int8"), 275e12);
  EXPECT_EQ(roof(device_spec("groq-lpu"), "dram"), 80e12);
  EXPECT_EQ(roof(device_spec("cs-2"), "dram"), 20e15);
}

TEST(Figures, AreFoundByName) {
  const DeviceSpec device = device_spec("a100-80-sxm");
  EXPECT_EQ(device["sm_count"], 108);
  EXPECT_EQ(device.find("sm_count"), 108);
  EXPECT_EQ(device.find("tensor_fp8_flops_per_clock_per_sm"), std::nullopt);
  EXPECT_EQ(device.compute_capability(), std::make_pair(8, 0));
  EXPECT_EQ(device.kind(), "gpu");
}

TEST(Figures, ThatAreAbsentAreNamedWithTheirDevice) {
  const DeviceSpec device = device_spec("a100-80-sxm");
  EXPECT_EQ(error_of([&] { device["tensor_fp8_flops_per_clock_per_sm"]; }),
            "device a100-80-sxm has no figure \"tensor_fp8_flops_per_clock_per_sm\"");
}

TEST(Figures, ThatNoDeviceCouldHaveAreMistakes) {
  const DeviceSpec device = device_spec("a100-80-sxm");
  for (const auto& ask :
       {std::function<void()>([&] { static_cast<void>(device["sm_cout"]); }),
        std::function<void()>([&] { static_cast<void>(device.find("sm_cout")); })}) {
    try {
      ask();
      ADD_FAILURE() << "sm_cout was taken for a figure";
    } catch (const std::logic_error& error) {
      EXPECT_STREQ(error.what(),
                   "no device file has a figure \"sm_cout\": did you mean \"sm_count\"?");
    }
  }
}

TEST(Figures, CarryTheTextOfTheirSource) {
  const DeviceSpec device = device_spec("h200-sxm");
  EXPECT_THAT(device.figures().at("dram_bytes_per_second").source, StartsWith("NVIDIA H200"));
  EXPECT_EQ(device.figures().at("dram_bytes_per_second").from, "data_sheet");
}

TEST(KnownDevices, UnknownNameListsThemClosestFirst) {
  const std::string error = error_of([] { device_spec("h200"); });
  EXPECT_THAT(error, StartsWith("unknown device \"h200\": known are h200-sxm, "));
  for (const auto& name : known_devices()) EXPECT_THAT(error, HasSubstr(name));
}

TEST(KnownDevices, AreFoundByGpuName) {
  const auto name_for = [](const std::string& gpu) {
    const auto device = device_spec_for_gpu(gpu);
    return device ? device->name() : "none";
  };
  EXPECT_EQ(name_for("NVIDIA H200"), "h200-sxm");
  EXPECT_EQ(name_for("NVIDIA H100 80GB HBM3"), "h100-sxm");
  EXPECT_EQ(name_for("NVIDIA A100-SXM4-80GB"), "a100-80-sxm");
  EXPECT_EQ(name_for("NVIDIA H200 NVL"), "h200-sxm");  // by its start
  EXPECT_EQ(name_for("NVIDIA L40S"), "l40s");
  EXPECT_EQ(name_for("NVIDIA L40"), "none");
  EXPECT_EQ(name_for("NVIDIA GeForce RTX 4090"), "rtx-4090");
  EXPECT_EQ(name_for("NVIDIA B200"), "b200");
  EXPECT_EQ(name_for("NVIDIA H2000"), "none");  // not the same word
  EXPECT_EQ(name_for("NVIDIA H100 PCIe"), "none");
  EXPECT_EQ(name_for("NVIDIA A100-SXM4-40GB"), "none");
  EXPECT_EQ(name_for(""), "none");
}

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

TEST(BadFile, EveryFigureKeepsItsConstraint) {
  ASSERT_EQ(parse_error(good_device()), "no error");
  for (const auto& rule : figure_rules()) {
    const std::string name(rule.name);
    const auto accepts = [&](double value) {
      json device = good_device();
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
    EXPECT_EQ(accepts(0.5), !is_whole) << name;
    EXPECT_TRUE(accepts(1)) << name;
    EXPECT_EQ(accepts(2), rule.constraint != Constraint::fraction) << name;
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
  device["figures"]["l2_bytes"] = {{"value", 1}, {"from", "published"}, {"source", "hearsay"}};
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
