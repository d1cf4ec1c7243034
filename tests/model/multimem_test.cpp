// Operations at multicast addresses: what they compute, count, cost and refuse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <string>

#include "harness/cuda/multicast_memory.hpp"
#include "harness/platform/model/engine/emulator.hpp"
#include "harness/platform/model/runtime/runtime.hpp"
#include "harness/platform/model/time/switch_link.hpp"
#include "tests/model/multimem_kernels.hpp"

namespace gpubench::model {
namespace {

using testing::HasSubstr;
using Words = std::array<unsigned, 4>;

class MultimemTest : public testing::Test {
 protected:
  static constexpr int devices = 3;

  MultimemTest() { renew(); }
  ~MultimemTest() override {
    team.reset();
    ranks.reset();
    install_runtime(nullptr);
  }

  void renew() {
    team.reset();
    ranks.reset();
    RuntimeOptions options;
    options.devices = options.node_devices = devices;
    options.diagnostic = [this](const std::string& line) { diagnostic = line; };
    install_runtime(std::make_unique<Runtime>(spec, memory, emulator, options));
    ranks = std::make_unique<GpuRanks>(devices, devices);
    team = std::make_unique<MulticastMemory>(*ranks, 1);
    result = static_cast<uint4*>(memory.allocate(sizeof(uint4)));
  }

  uint4* everywhere(std::size_t byte = 0) const {
    return reinterpret_cast<uint4*>(static_cast<std::byte*>(team->everywhere()) + byte);
  }
  void write(int device, const Words& words) { memory.write(team->on(device), &words, 16); }
  Words read(const void* from) {
    Words words;
    memory.read(&words, from, sizeof words);
    return words;
  }
  void finish() { ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess) << diagnostic; }

  template <class Launch>
  std::string fault_of(Launch&& launch) {
    diagnostic.clear();
    launch();
    EXPECT_NE(cudaDeviceSynchronize(), cudaSuccess);
    const std::string fault = diagnostic;
    renew();
    return fault;
  }

  const DeviceSpec spec = device_spec("h200-sxm");
  DeviceMemory memory{std::size_t{1} << 28, devices};
  Emulator emulator{spec, memory, {.threads = 2, .most_sampled_blocks = 1 << 20}};
  std::string diagnostic;
  std::unique_ptr<GpuRanks> ranks;
  std::unique_ptr<MulticastMemory> team;
  uint4* result = nullptr;
};

Words floats(float a, float b, float c, float d) {
  return {std::bit_cast<unsigned>(a), std::bit_cast<unsigned>(b), std::bit_cast<unsigned>(c),
          std::bit_cast<unsigned>(d)};
}

TEST_F(MultimemTest, ItsSizeIsTheOneThatTheDriverRecommends) {
  EXPECT_EQ(team->bytes(), VirtualMemory::recommended_granularity);
}

TEST_F(MultimemTest, ALoadAddsWhatAllDevicesHave) {
  write(0, floats(1, 2, 3, 4));
  write(1, floats(10, 20, 30, 40));
  write(2, floats(100, 200, 300, -0.5f));
  kernels::load_sum(kernels::Sum::fp32, everywhere(), result);
  finish();
  EXPECT_EQ(read(result), floats(111, 222, 333, 43.5f));
}

// 256 has no neighbour nearer than 2 in bfloat16, so 256 + 1 + 1 is 258 only if it is rounded once.
TEST_F(MultimemTest, SumsOf16BitsAreRoundedOnce) {
  constexpr unsigned of_256 = 0x43804380, of_1 = 0x3f803f80, of_258 = 0x43814381;
  write(0, {of_256, of_256, of_256, of_256});
  for (const int device : {1, 2}) write(device, {of_1, of_1, of_1, of_1});
  kernels::load_sum(kernels::Sum::bf16, everywhere(), result);
  finish();
  EXPECT_EQ(read(result), (Words{of_258, of_258, of_258, of_258}));
}

// In half precision, the neighbours of 2048 are 2 apart.
TEST_F(MultimemTest, SoAreThoseOfHalfPrecision) {
  constexpr unsigned of_2048 = 0x68006800, of_1 = 0x3c003c00, of_2050 = 0x68016801;
  write(0, {of_2048, of_2048, of_2048, of_2048});
  for (const int device : {1, 2}) write(device, {of_1, of_1, of_1, of_1});
  kernels::load_sum(kernels::Sum::fp16, everywhere(), result);
  finish();
  EXPECT_EQ(read(result), (Words{of_2050, of_2050, of_2050, of_2050}));
}

TEST_F(MultimemTest, AStoreReachesAllDevices) {
  kernels::store_everywhere(everywhere(32), {1, 2, 3, 4});
  finish();
  for (int device = 0; device < devices; ++device) {
    EXPECT_EQ(read(static_cast<std::byte*>(team->on(device)) + 32), (Words{1, 2, 3, 4}));
  }
}

TEST_F(MultimemTest, AnAdditionReachesAllDevicesAndIsRoundedEachTime) {
  constexpr unsigned of_256 = 0x43804380, of_1 = 0x3f803f80;
  write(0, {of_256, of_1, 0, 0});
  write(1, {0, 0, of_256, 0});
  write(2, {of_1, of_1, of_1, of_1});
  for (int times = 0; times < 2; ++times) {
    kernels::add_everywhere(kernels::Sum::bf16, everywhere(), {of_1, of_1, of_1, 0});
  }
  finish();
  constexpr unsigned of_2 = 0x40004000, of_3 = 0x40404040;
  EXPECT_EQ(read(team->on(0)), (Words{of_256, of_3, of_2, 0}));  // 256 + 1 is 256, twice
  EXPECT_EQ(read(team->on(1)), (Words{of_2, of_2, of_256, 0}));
  EXPECT_EQ(read(team->on(2)), (Words{of_3, of_3, of_3, of_1}));
}

TEST_F(MultimemTest, AdditionsOfManyBlocksAreAtomic) {
  for (int device = 0; device < devices; ++device) write(device, {0, 0, 0, 0});
  kernels::add_ones(team->everywhere(), 64, 128);
  finish();
  for (int device = 0; device < devices; ++device) {
    EXPECT_EQ(read(team->on(device)), floats(8192, 8192, 8192, 8192));
  }
}

TEST_F(MultimemTest, WhatIsWrongWithAnAccessIsSaid) {
  using namespace kernels;
  constexpr auto fp32 = Sum::fp32;
  const std::size_t end = team->bytes();
  const auto expect = [&](const char* words, auto launch) {
    EXPECT_THAT(fault_of(launch), HasSubstr(words));
  };
  expect("16-byte load at a multicast address, which takes multimem instructions alone",
         [&] { load_plainly(everywhere(), result); });
  expect("16-byte store at a multicast address", [&] { store_plainly(everywhere()); });
  expect("multimem.ld_reduce of 16 bytes at what is no multicast address",
         [&] { load_sum(fp32, static_cast<uint4*>(team->on(0)), result); });
  expect("multimem.st of 16 bytes at what is no multicast address",
         [&] { store_everywhere(result, {}); });
  expect("multimem.red of 16 bytes at what is no multicast address",
         [&] { add_everywhere(fp32, result, {}); });
  expect("multimem.ld_reduce of 16 bytes at byte 8 of a multicast object, no multiple of 16",
         [&] { load_sum(fp32, everywhere(8), result); });
  expect("multimem.st of 16 bytes at what is no multicast address",
         [&] { store_everywhere(everywhere(end), {}); });
  expect("race", [&] { store_twice(everywhere()); });
  expect("race", [&] { store_from_two_blocks(everywhere()); });
  expect("race", [&] {
    write(0, {});
    load_beside_store(everywhere(), static_cast<uint4*>(team->on(0)), result);
  });
  // Another device's part, which only the multicast address reaches.
  expect("of memory that cuMemSetAccess has not opened to device 0",
         [&] { load_plainly(static_cast<uint4*>(team->on(1)), result); });
}

// A store from one device lands in the memory of the others, whose streams know nothing of it.
TEST_F(MultimemTest, WhatLandsOnAnotherDeviceIsOrderedByStreamsAlone) {
  const auto set_there = [&] {
    CUDA_CHECK(cudaSetDevice(1));
    CUDA_CHECK(cudaMemset(team->on(1), 0, 16));
  };
  EXPECT_THAT(fault_of([&] {
                set_there();
                CUDA_CHECK(cudaSetDevice(0));
                kernels::store_everywhere(everywhere(), {});
              }),
              HasSubstr("nothing orders the two"));
  set_there();
  CUDA_CHECK(cudaDeviceSynchronize());
  CUDA_CHECK(cudaSetDevice(0));
  kernels::store_everywhere(everywhere(), {1, 2, 3, 4});
  finish();
  EXPECT_EQ(read(team->on(1)), (Words{1, 2, 3, 4}));
}

TEST_F(MultimemTest, CopiesAndSetsRefuseAMulticastAddress) {
  EXPECT_EQ(cudaMemset(everywhere(), 0, 16), cudaErrorInvalidValue);
  Words words{};
  EXPECT_EQ(cudaMemcpy(&words, everywhere(), 16, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(team->on(0)), cudaErrorInvalidValue);  // it was not cudaMalloc that made it
}

// Each of a team of n sends its part of n sums, and gets its own; gets n stores, and sends its own.
TEST_F(MultimemTest, TheLinkCarriesWhatTheWholeTeamMoves) {
  const auto link_bytes = [&](const auto& launch) {
    emulator.forget_runs();
    launch();
    finish();
    return emulator.runs().at(0).prediction.traffic;
  };
  const Traffic loads =
      link_bytes([&] { kernels::load_sum(kernels::Sum::fp32, everywhere(), result); });
  EXPECT_DOUBLE_EQ(loads.link_bytes, devices * 32);
  EXPECT_DOUBLE_EQ(loads.link_seconds, devices * 32 / switch_link_bytes_per_second(spec));
  const Traffic stores = link_bytes([&] { kernels::store_everywhere(everywhere(), {}); });
  EXPECT_DOUBLE_EQ(stores.link_bytes, devices * 32);
}

TEST_F(MultimemTest, TheLinkIsWhatNcclsAllReduceGetsFromIt) {
  // 1 byte by 8 GPUs: the seconds that the published bus bandwidth stands for.
  const double seconds = switch_bytes_a_byte(8) / switch_link_bytes_per_second(spec);
  EXPECT_DOUBLE_EQ(seconds, 2.0 * 7 / 8 / spec["nvlink_sharp_bytes_per_second"]);
}

}  // namespace
}  // namespace gpubench::model
