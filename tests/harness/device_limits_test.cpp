// How the GPU's program opens a device: on the model's runtime, whose calls are made to fail.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "harness/devices/device.hpp"
#include "harness/platform/model/runtime/runtime.hpp"
#include "harness/platform/platform.hpp"
#include "tests/harness/fake_nvml.hpp"

namespace gpubench {

// The GPU's, by the name that it is built under for tests.
std::unique_ptr<Platform> open_gpu_platform(const std::string& selector,
                                            const std::string& conditions_file = "");

namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class DeviceLimits : public testing::Test {
 protected:
  DeviceLimits() {
    fake_->pci_bus_id = "0000:00:00.0";  // the model's
    fake_->processes = 1;
  }
  ~DeviceLimits() override {
    *fake_ = {};
    dlclose(library_);
  }
  // For the fault matrix (tests/bench/fault_matrix.py).
  static void record(const std::string& fault, const std::string& outcome) {
    RecordProperty("fault", fault);
    RecordProperty("outcome", outcome);
  }
  // What the GPU's program says when it cannot open the device; "" if it can.
  std::string refusal(const char* failing = "", cudaError_t error = cudaSuccess) {
    model::current_runtime()->filter_calls([=](const char* function, const void*) {
      return std::string(failing) == function ? error : cudaSuccess;
    });
    try {
      caveats_ = open_gpu_platform("0")->caveats();
      return "";
    } catch (const std::exception& complaint) {
      return complaint.what();
    }
  }

  // With clocks, as a GPU has them.
  std::unique_ptr<Platform> model_ =
      open_platform("h200-sxm", GPUBENCH_SOURCE_DIR "/tests/data/conditions/timing-ideal.json");
  void* library_ = dlopen(FAKE_NVML_IN_PLACE_PATH, RTLD_NOW | RTLD_GLOBAL);
  FakeNvml* fake_ = static_cast<FakeNvml*>(dlsym(library_, "fake_nvml_state"));
  std::vector<std::string> caveats_;
};

TEST_F(DeviceLimits, AGpuOfItsOwnHasNoCaveats) {
  EXPECT_EQ(refusal(), "");
  EXPECT_THAT(caveats_, IsEmpty());
}

TEST_F(DeviceLimits, ADriverOlderThanTheToolkitIsNamed) {
  const std::string said = refusal("cudaGetDeviceCount", cudaErrorInsufficientDriver);
  EXPECT_THAT(said, HasSubstr("update the driver, or build with an older toolkit"));
  record("driver older than the toolkit", "exit code 2: " + said);
}

TEST_F(DeviceLimits, AGpuNewerThanTheBuildIsNamed) {
  const std::string said = refusal("cudaLaunchKernelEx", cudaErrorNoKernelImageForDevice);
  EXPECT_THAT(said,
              HasSubstr("GPU 0 has compute capability 9.0, for which this build has no code"));
  record("GPU newer than the build", "exit code 2: " + said);
}

TEST_F(DeviceLimits, AGpuThatAnotherHasToItselfIsBusy) {
  const std::string said = refusal("cudaSetDevice", cudaErrorDevicesUnavailable);
  EXPECT_THAT(said, HasSubstr("GPU 0 is busy: another process has it to itself"));
  record("exclusive mode, held by another process", "exit code 2: " + said);
}

TEST_F(DeviceLimits, AGpuWithoutMemoryForAProgramIsFull) {
  const std::string said = refusal("cudaSetDevice", cudaErrorMemoryAllocation);
  EXPECT_THAT(said, HasSubstr("has no memory left for a program"));
  record("no memory left for a program", "exit code 2: " + said);
}

TEST_F(DeviceLimits, WithoutNvmlRowsHaveNoEvidence) {
  fake_->init_status = fake_nvml_driver_not_loaded;
  EXPECT_EQ(refusal(), "");
  ASSERT_THAT(caveats_, ElementsAre(HasSubstr("rows have no clock, power or temperature: nvml")));
  record("container without NVML", "measures, and says: " + caveats_.front());
}

TEST_F(DeviceLimits, WithoutPermissionRowsHaveNoEvidence) {
  fake_->clock_status = fake_->power_status = fake_->reasons_status = fake_nvml_no_permission;
  EXPECT_EQ(refusal(), "");
  ASSERT_THAT(caveats_, ElementsAre(HasSubstr("the driver tells none here")));
  record("no permission for clock and power", "measures, and says: " + caveats_.front());
}

TEST_F(DeviceLimits, AGpuThatIsSharedIsSaidToBe) {
  fake_->processes = 3;
  EXPECT_EQ(refusal(), "");
  ASSERT_THAT(caveats_, ElementsAre(HasSubstr("3 processes compute on it")));
  record("two other processes on the GPU", "measures, and says: " + caveats_.front());
}

TEST_F(DeviceLimits, MemoryThatOthersHoldIsSaid) {
  void* taken = nullptr;
  ASSERT_EQ(cudaMalloc(&taken, std::size_t{40} << 30), cudaSuccess);
  EXPECT_EQ(refusal(), "");
  ASSERT_THAT(caveats_, ElementsAre(HasSubstr("40.0 GiB of the GPU's")));
  record("40 GiB held by others", "measures, and says: " + caveats_.front());
  cudaFree(taken);
}

TEST_F(DeviceLimits, ASliceIsNotTheGpu) {
  EXPECT_TRUE(device_spec_for_gpu("NVIDIA H100 80GB HBM3"));
  EXPECT_FALSE(device_spec_for_gpu("NVIDIA H100 80GB HBM3 MIG 1g.10gb"));
  record("MIG slice", "measures by roofs derived from its own attributes, and says so");
}

// No call of those that open a device may fail without a sentence.
TEST_F(DeviceLimits, EveryCallThatFailsIsOneSentence) {
  int calls = 0;
  model::current_runtime()->filter_calls([&](const char*, const void*) {
    ++calls;
    return cudaSuccess;
  });
  open_gpu_platform("0");
  ASSERT_GT(calls, 5);
  const int all = calls;
  for (int failing = 1; failing <= all; ++failing) {
    int call = 0;
    std::string which;
    model::current_runtime()->filter_calls([&](const char* function, const void*) {
      if (++call != failing) return cudaSuccess;
      which = function;
      return cudaErrorUnknown;
    });
    std::string said;
    try {
      open_gpu_platform("0");
    } catch (const std::exception& error) {
      said = error.what();
    }
    EXPECT_THAT(said, HasSubstr("unknown error")) << "call " << failing << ", " << which;
    EXPECT_EQ(said.find('\n'), std::string::npos);
  }
  record("each of the " + std::to_string(all) + " CUDA calls that open a device", "exit code 2");
}

}  // namespace
}  // namespace gpubench
