// GPUs that no device file describes, by what their driver would say of them.
#include "harness/devices/derive.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "harness/cuda/attributes.hpp"

namespace gpubench {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// As a driver answers for an RTX A5000: compute capability 8.6, which has no file.
cudaDeviceProp a5000() {
  cudaDeviceProp gpu{};
  std::strcpy(gpu.name, "NVIDIA RTX A5000");
  gpu.major = 8;
  gpu.minor = 6;
  gpu.multiProcessorCount = 64;
  gpu.maxThreadsPerMultiProcessor = 1536;
  gpu.maxBlocksPerMultiProcessor = 16;
  gpu.maxThreadsPerBlock = 1024;
  gpu.regsPerMultiprocessor = 65536;
  gpu.sharedMemPerMultiprocessor = 102400;
  gpu.sharedMemPerBlock = 49152;
  gpu.sharedMemPerBlockOptin = 101376;
  gpu.reservedSharedMemPerBlock = 1024;
  gpu.l2CacheSize = 6 << 20;
  gpu.totalGlobalMem = 25433800704;
  gpu.asyncEngineCount = 2;
  return gpu;
}

GpuAttributes attributes(const cudaDeviceProp& gpu) {
  return attributes_of(gpu, 1.695e9, 8.001e9, 384);
}

// The attributes that a driver would report of a device that has a file.
GpuAttributes attributes(const DeviceSpec& device) {
  const auto [major, minor] = device.compute_capability();
  return {.name = device.matches().front(),
          .major = major,
          .minor = minor,
          .sm_count = device["sm_count"],
          .sm_clock_hz = device["sm_clock_hz"],
          .max_threads_per_sm = device["max_threads_per_sm"],
          .max_blocks_per_sm = device["max_blocks_per_sm"],
          .max_threads_per_block = device["max_threads_per_block"],
          .registers_per_sm = device["registers_per_sm"],
          .shared_bytes_per_sm = device["shared_bytes_per_sm"],
          .shared_bytes_per_block = device["shared_bytes_per_block"],
          .shared_bytes_per_block_optin = device["shared_bytes_per_block_optin"],
          .shared_reserved_bytes_per_block = device["shared_reserved_bytes_per_block"],
          .l2_bytes = device["l2_bytes"],
          .dram_bytes = device["dram_bytes"],
          .memory_clock_hz = device["dram_bytes_per_second"] / 128,
          .memory_bus_bits = 512,
          .copy_engines = device["copy_engines"]};
}

TEST(DerivedDevice, HoldsAllThatTheModelNeeds) {
  const DeviceSpec device = derived_device(attributes(a5000()));
  EXPECT_EQ(device.kind(), "gpu");
  EXPECT_EQ(device.name(), "nvidia-rtx-a5000");
  EXPECT_EQ(device.title(), "NVIDIA RTX A5000");
  EXPECT_EQ(device.compute_capability(), std::make_pair(8, 6));
  for (const FigureRule& rule : figure_rules()) {
    if (rule.required) {
      EXPECT_TRUE(device.find(rule.name)) << rule.name;
    }
  }
  EXPECT_EQ(device["sm_count"], 64);
  EXPECT_EQ(device["max_blocks_per_sm"], 16);
  EXPECT_DOUBLE_EQ(device["dram_bytes_per_second"], 768.096e9);
}

TEST(DerivedDevice, SaysOfEveryFigureThatItIsDerivedAndWhence) {
  const DeviceSpec device = derived_device(attributes(a5000()));
  for (const auto& [name, figure] : device.figures()) {
    EXPECT_EQ(figure.from, "derived") << name;
    EXPECT_GT(figure.source.size(), 20u) << name;
  }
  const auto source = [&](const char* name) { return device.figures().at(name).source; };
  EXPECT_EQ(source("sm_count"), "the CUDA driver: multiProcessorCount");
  EXPECT_THAT(source("fp64_flops_per_clock_per_sm"), StartsWith("compute capability 8.6: "));
  EXPECT_THAT(source("l1_latency_cycles"), HasSubstr("as on l40s"));
  for (const Roof& roof : device.data_sheet_roofs()) {
    EXPECT_EQ(roof.provenance, "derived") << roof.name;
    EXPECT_THAT(roof.source, StartsWith("derived: ")) << roof.name;
  }
}

TEST(DerivedDevice, HasThePeaksOfItsDataSheet) {
  // NVIDIA RTX A5000 data sheet: 27.8 TFLOP/s of FP32; A40: 149.7 of dense BF16 with 84 SMs.
  GpuAttributes gpu = attributes(a5000());
  const auto roof = [&](const char* name) {
    for (const Roof& r : derived_device(gpu).data_sheet_roofs()) {
      if (r.name == name) return r.value;
    }
    return 0.0;
  };
  EXPECT_NEAR(roof("fp32"), 27.8e12, 0.1e12);
  gpu.sm_count = 84;
  gpu.sm_clock_hz = 1.74e9;
  EXPECT_NEAR(roof("tensor_bf16"), 149.7e12, 0.1e12);
  EXPECT_EQ(roof("tensor_fp8"), 0);
}

TEST(DerivedDevice, OfAGpuWithAFileHasTheRoofsOfTheFile) {
  for (const char* name : {"a100-80-sxm", "h200-sxm", "b200", "b300", "l40s"}) {
    SCOPED_TRACE(name);
    const DeviceSpec known = device_spec(name);
    const auto expected = known.data_sheet_roofs();
    const auto derived = derived_device(attributes(known)).data_sheet_roofs();
    ASSERT_EQ(derived.size(), expected.size());
    for (std::size_t i = 0; i < derived.size(); ++i) {
      EXPECT_EQ(derived[i].name, expected[i].name);
      EXPECT_NEAR(derived[i].value / expected[i].value, 1, 1e-12) << expected[i].name;
    }
  }
}

TEST(DerivedDevice, AGeforceIsAsFastAsItsFileSaysWithEitherSums) {
  for (const char* name : {"rtx-4090", "rtx-5090"}) {
    const DeviceSpec known = device_spec(name), derived = derived_device(attributes(known));
    int compared = 0;
    for (const auto& [figure, value] : known.figures()) {
      if (!figure.starts_with("tensor_") || !figure.ends_with("_per_clock_per_sm")) continue;
      EXPECT_EQ(derived[figure], value.value) << name << ' ' << figure;
      ++compared;
    }
    EXPECT_GE(compared, 6);
  }
}

TEST(DerivedDevice, BorrowsFromTheClosestArchitecture) {
  const auto nearest = [](int major, int minor) {
    GpuAttributes gpu = attributes(a5000());
    gpu.major = major;
    gpu.minor = minor;
    return derived_device(gpu).figures().at("launch_graph_seconds").source;
  };
  EXPECT_THAT(nearest(7, 5), StartsWith("as on a100-80-sxm"));
  EXPECT_THAT(nearest(8, 7), StartsWith("as on l40s"));
  EXPECT_THAT(nearest(9, 0), StartsWith("as on h200-sxm"));
  EXPECT_THAT(nearest(10, 0), StartsWith("as on b200"));
  EXPECT_THAT(nearest(10, 3), StartsWith("as on b300"));
  EXPECT_THAT(nearest(12, 1), StartsWith("as on rtx-5090"));
  EXPECT_THAT(nearest(99, 0), StartsWith("as on rtx-5090"));
}

TEST(DerivedDevice, IsARoofWhenTooLittleIsKnown) {
  GpuAttributes gpu = attributes(a5000());
  gpu.major = 7;
  gpu.minor = 0;
  const DeviceSpec old = derived_device(gpu);
  EXPECT_EQ(old.kind(), "roof");
  ASSERT_EQ(old.data_sheet_roofs().size(), 1u);
  EXPECT_EQ(old.data_sheet_roofs()[0].name, "dram");
  gpu = attributes(a5000());
  gpu.sm_clock_hz = 0;
  EXPECT_EQ(derived_device(gpu).kind(), "roof");
}

TEST(DerivedDevice, SurvivesItsFile) {
  for (const DeviceSpec& device :
       {derived_device(attributes(a5000())), device_spec("h200-sxm"), device_spec("tpu-v4")}) {
    const DeviceSpec read = DeviceSpec::parse(device_file_text(device), "mine.json");
    EXPECT_EQ(read.name(), device.name());
    EXPECT_EQ(read.kind(), device.kind());
    EXPECT_EQ(read.compute_capability(), device.compute_capability());
    EXPECT_EQ(read.peak_clocks().size(), device.peak_clocks().size());
    ASSERT_EQ(read.figures().size(), device.figures().size());
    for (const auto& [name, figure] : device.figures()) {
      EXPECT_EQ(read.figures().at(name).value, figure.value) << name;
      EXPECT_EQ(read.figures().at(name).from, figure.from) << name;
      EXPECT_EQ(read.figures().at(name).source, figure.source) << name;
    }
  }
}

}  // namespace
}  // namespace gpubench
