// The devices that ship with the program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "harness/devices/device.hpp"
#include "tests/harness/device_texts.hpp"

namespace gpubench {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

double roof(const DeviceSpec& device, const std::string& name) {
  for (const auto& roof : device.data_sheet_roofs()) {
    if (roof.name == name) return roof.value;
  }
  ADD_FAILURE() << device.name() << " has no roof " << name;
  return 0;
}

TEST(DeviceFiles, ShipTheReferenceDevices) {
  EXPECT_THAT(
      known_devices(),
      ::testing::IsSupersetOf({"a100-40-sxm", "a100-80-sxm", "h100-sxm",  "h200-sxm",     "gh200",
                               "b200",        "b300",        "gb200",     "gb300",        "l40s",
                               "rtx-4090",    "rtx-5090",    "rtx-a6000", "rtx-pro-6000", "mi300x",
                               "mi355x",      "tpu-v4",      "tpu-v5p",   "tpu-v6e",      "tpu-v7",
                               "cs-2",        "groq-lpu",    "gaudi3",    "trainium2"}));
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
    const auto of_cluster = device.find("dsm_latency_cycles");
    EXPECT_EQ(of_cluster.has_value(), device.compute_capability() >= std::pair(9, 0));
    if (of_cluster) {
      EXPECT_GT(*of_cluster, device["shared_latency_cycles"]);
      EXPECT_LT(*of_cluster, device["l2_latency_cycles"]);
      EXPECT_GE(device["max_cluster_blocks"], 8);
      EXPECT_GT(device["dsm_bytes_per_clock_per_sm"], device["dsm_crowded_bytes_per_clock_per_sm"]);
      EXPECT_GT(device["cluster_barrier_cycles"], *of_cluster);
    }
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
  // The H200's: FLOP per clock by the data sheet, SMs and clock published.
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
  for (const auto& name : modelled_devices()) EXPECT_THAT(error, HasSubstr(name));
  EXPECT_THAT(error, testing::Not(HasSubstr("tpu-v4")));  // roofs alone: nothing can run on it
}

TEST(KnownDevices, AreToldFromOnesOwnByEveryFigure) {
  for (const auto& name : known_devices()) EXPECT_FALSE(is_own_device(device_spec(name))) << name;
  json text = json::parse(device_file_text(device_spec("h200-sxm")));
  EXPECT_FALSE(is_own_device(DeviceSpec::parse(text.dump(), "copy.json")));
  text["figures"]["l2_bytes"]["value"] = 50000000;
  EXPECT_TRUE(is_own_device(DeviceSpec::parse(text.dump(), "mine.json")));
  text = json::parse(device_file_text(device_spec("h200-sxm")));
  text["name"] = "mine";
  EXPECT_TRUE(is_own_device(DeviceSpec::parse(text.dump(), "mine.json")));
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
  EXPECT_EQ(name_for("NVIDIA B300 SXM6 AC"), "b300");  // by its start
  EXPECT_EQ(name_for("NVIDIA GB200"), "gb200");
  EXPECT_EQ(name_for("NVIDIA GH200 480GB"), "gh200");
  EXPECT_EQ(name_for("NVIDIA GH200 144G HBM3e"), "none");  // another memory
  EXPECT_EQ(name_for("NVIDIA RTX PRO 6000 Blackwell Workstation Edition"), "rtx-pro-6000");
  EXPECT_EQ(name_for("NVIDIA RTX PRO 6000 Blackwell Server Edition"), "none");  // lower clock
  EXPECT_EQ(name_for("NVIDIA H2000"), "none");                                  // not the same word
  EXPECT_EQ(name_for("NVIDIA H100 PCIe"), "none");
  EXPECT_EQ(name_for("NVIDIA A100-SXM4-40GB"), "a100-40-sxm");
  EXPECT_EQ(name_for(""), "none");
}

}  // namespace
}  // namespace gpubench
