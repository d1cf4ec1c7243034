#include "kernels/topology.cuh"

#include "harness/gpu/device.hpp"
#include "tests/kernels/kernel_test.hpp"

namespace gpubench {
namespace {

using topology::agreement;
using topology::copy_seconds;
using topology::word;

TEST(Topology, AMeasurementAgreesWithTheReportOrSaysWhyNot) {
  constexpr double pcie = 55e9;
  EXPECT_EQ(agreement("NVLink", 390e9, pcie), "yes");
  EXPECT_EQ(agreement("NVLink", 40e9, pcie),
            "no: the driver reports NVLink, and it is slower than PCIe");
  EXPECT_EQ(agreement("PCIe (one switch)", 50e9, pcie), "yes");
  EXPECT_EQ(agreement("PCIe (host bridge)", 390e9, pcie),
            "no: the driver reports PCIe, and it is faster than that");
  EXPECT_EQ(agreement("", 390e9, pcie), "") << "nobody said anything to agree with";
}

TEST(Topology, OnOneGpuEveryByteIsReadAndWritten) {
  EXPECT_DOUBLE_EQ(copy_seconds(100, true, 1, 50, 10), 1 + 4);
  EXPECT_DOUBLE_EQ(copy_seconds(100, false, 1, 50, 10), 1 + 10);
}

class TopologyKernels : public testing::Test {
 protected:
  TopologyKernels() {
    model::RuntimeOptions options;
    options.devices = options.node_devices = 8;
    model::install_runtime(std::make_unique<model::Runtime>(device, memory, emulator, options));
  }
  ~TopologyKernels() override { model::install_runtime(nullptr); }

  static model::EmulatorSettings settings() {
    model::EmulatorSettings settings;
    settings.may_access = [](int from, int to) {
      return model::current_runtime()->may_access(from, to);
    };
    return settings;
  }
  const DeviceSpec device = device_spec("h200-sxm");
  model::DeviceMemory memory{std::size_t{1} << 30, 8};
  model::Emulator emulator{device, memory, settings()};
};

TEST_F(TopologyKernels, OnlyWhoWasLetMayFetch) {
  constexpr std::size_t n = 1 << 20;
  const CurrentDevice here(0);
  const DeviceBuffer<word> to(n);
  const auto from = [] {
    const CurrentDevice there(3);
    return DeviceBuffer<word>(n);
  }();
  EXPECT_TRUE(let_access(0, 3));
  EXPECT_TRUE(let_access(0, 3)) << "a second time is no error";
  launch(copy_words::copy, copy_words::blocks(n), copy_words::threads, 0, nullptr, from.data(),
         to.data(), n);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(emulator.runs().back().prediction.bound, "link");
  int current = -1;
  ASSERT_EQ(cudaGetDevice(&current), cudaSuccess);
  EXPECT_EQ(current, 0) << "asking for a peer leaves the current device alone";
}

}  // namespace
}  // namespace gpubench
