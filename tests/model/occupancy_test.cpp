// The occupancy rules against NVIDIA's own, where the toolkit's header is at hand.
#include "harness/platform/model/time/occupancy.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "harness/devices/derive.hpp"

#if __has_include(<cuda_occupancy.h>)
#define GPUBENCH_HAS_CUDA_OCCUPANCY 1
#include <cuda_occupancy.h>
#endif

namespace gpubench::model {
namespace {

TEST(Occupancy, ToldByHand) {
  const DeviceSpec h200 = device_spec("h200-sxm");
  const auto blocks = [&](const BlockResources& block) {
    return occupancy(h200, block).blocks_per_sm;
  };
  EXPECT_EQ(blocks({.threads = 256}), 8u);  // 2048 threads
  EXPECT_EQ(blocks({.threads = 32}), 32u);  // blocks
  EXPECT_EQ(blocks({.threads = 33}), 32u);  // two warps each
  EXPECT_EQ(blocks({.threads = 1024}), 2u);
  EXPECT_EQ(blocks({.threads = 1025}), 0u);
  EXPECT_EQ(blocks({.threads = 0}), 0u);
  // 228 KiB by 100 KiB and the system's 1 KiB.
  EXPECT_EQ(blocks({.threads = 128, .shared_bytes = 100 * 1024}), 2u);
  EXPECT_EQ(blocks({.threads = 128, .shared_bytes = 227 * 1024}), 1u);
  EXPECT_EQ(blocks({.threads = 128, .shared_bytes = 227 * 1024 + 1}), 0u);
  // 65536 registers by 64 a thread: 1024 threads.
  EXPECT_EQ(blocks({.threads = 256, .registers = 64}), 4u);
  EXPECT_EQ(blocks({.threads = 1024, .registers = 65}), 0u);
  EXPECT_EQ(blocks({.threads = 32, .registers = 256}), 0u);
  // 512 columns.
  EXPECT_EQ(blocks({.threads = 128, .tensor_columns = 256}), 2u);
  EXPECT_EQ(blocks({.threads = 128, .tensor_columns = 512}), 1u);
  EXPECT_EQ(occupancy(h200, {.threads = 256, .registers = 64}).fraction, 0.5);
  EXPECT_EQ(occupancy(h200, {.threads = 256}).fraction, 1.0);
}

#ifdef GPUBENCH_HAS_CUDA_OCCUPANCY
// Architectures that no device file has, with the limits of the CUDA C++ Programming Guide.
std::vector<DeviceSpec> derived_devices() {
  GpuAttributes gpu{.name = "NVIDIA A40",
                    .major = 8,
                    .minor = 6,
                    .sm_count = 84,
                    .sm_clock_hz = 1.74e9,
                    .max_threads_per_sm = 1536,
                    .max_blocks_per_sm = 16,
                    .max_threads_per_block = 1024,
                    .registers_per_sm = 65536,
                    .shared_bytes_per_sm = 102400,
                    .shared_bytes_per_block = 49152,
                    .shared_bytes_per_block_optin = 101376,
                    .shared_reserved_bytes_per_block = 1024,
                    .l2_bytes = 6 << 20,
                    .dram_bytes = 48e9,
                    .memory_clock_hz = 7.25e9,
                    .memory_bus_bits = 384};
  std::vector<DeviceSpec> devices = {derived_device(gpu)};
  gpu.name = "NVIDIA GeForce RTX 5090";
  gpu.major = 12, gpu.minor = 0;
  gpu.max_blocks_per_sm = 24;
  devices.push_back(derived_device(gpu));
  gpu.name = "Tesla T4";
  gpu.major = 7, gpu.minor = 5;
  gpu.max_threads_per_sm = 1024;
  gpu.max_blocks_per_sm = 16;
  gpu.shared_bytes_per_sm = gpu.shared_bytes_per_block_optin = 65536;
  gpu.shared_reserved_bytes_per_block = 0;
  devices.push_back(derived_device(gpu));
  return devices;
}
#endif

TEST(Occupancy, EqualsCudaOccupancy) {
#ifndef GPUBENCH_HAS_CUDA_OCCUPANCY
  GTEST_SKIP() << "cuda_occupancy.h of the CUDA toolkit was not found";
#else
  std::mt19937 random(42);
  const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  std::vector<DeviceSpec> devices = derived_devices();
  for (const std::string& name : known_devices()) {
    if (DeviceSpec device = device_spec(name); device.kind() == "gpu") devices.push_back(device);
  }
  ASSERT_GE(devices.size(), 9u);
  for (const DeviceSpec& device : devices) {
    const std::string& name = device.name();
    const auto figure = [&](const char* f) { return static_cast<int>(device[f]); };
    cudaOccDeviceProp properties{};
    properties.computeMajor = device.compute_capability().first;
    properties.computeMinor = device.compute_capability().second;
    properties.maxThreadsPerBlock = figure("max_threads_per_block");
    properties.maxThreadsPerMultiprocessor = figure("max_threads_per_sm");
    properties.regsPerBlock = figure("registers_per_sm");
    properties.regsPerMultiprocessor = figure("registers_per_sm");
    properties.warpSize = 32;
    properties.sharedMemPerBlock = device["shared_bytes_per_block"];
    properties.sharedMemPerMultiprocessor = device["shared_bytes_per_sm"];
    properties.numSms = figure("sm_count");
    properties.sharedMemPerBlockOptin = device["shared_bytes_per_block_optin"];
    properties.reservedSharedMemPerBlock = device["shared_reserved_bytes_per_block"];
    cudaOccDeviceState state{};
    state.carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED;
    int fitting = 0;
    for (int i = 0; i < 5000; ++i) {
      const unsigned threads = 1 + below(1024);
      const unsigned registers = 1 + below(255);
      const unsigned shared = below(3) == 0 ? below(240 * 1024) : below(16 * 1024);
      cudaOccFuncAttributes kernel{};
      kernel.maxThreadsPerBlock = properties.maxThreadsPerBlock;
      kernel.numRegs = static_cast<int>(registers);
      kernel.partitionedGCConfig = PARTITIONED_GC_OFF;
      kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
      kernel.maxDynamicSharedSizeBytes = properties.sharedMemPerBlockOptin;
      cudaOccResult expected{};
      ASSERT_EQ(cudaOccMaxActiveBlocksPerMultiprocessor(&expected, &properties, &kernel, &state,
                                                        static_cast<int>(threads), shared),
                CUDA_OCC_SUCCESS);
      const Occupancy got =
          occupancy(device, {.threads = threads, .shared_bytes = shared, .registers = registers});
      ASSERT_EQ(static_cast<int>(got.blocks_per_sm), expected.activeBlocksPerMultiprocessor)
          << name << ": " << threads << " threads, " << registers << " registers, " << shared
          << " bytes of shared memory";
      fitting += got.blocks_per_sm > 0;
    }
    EXPECT_GT(fitting, 1000) << name;
  }
#endif
}

}  // namespace
}  // namespace gpubench::model
