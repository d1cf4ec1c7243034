// Every call of NVML, CUPTI and cuBLASLt made to fail once, and those for multicast memory.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/cuda/multicast_memory.hpp"
#include "harness/evidence/cupti.hpp"
#include "harness/evidence/evidence.hpp"
#include "harness/platform/gemm.hpp"
#include "harness/platform/model/runtime/runtime.hpp"
#include "harness/platform/platform.hpp"
#include "tests/faults/fake_cublaslt.hpp"
#include "tests/harness/fake_nvml.hpp"

namespace gpubench {
namespace {

using testing::HasSubstr;

TEST(CallFailures, OfNvmlLeaveOneFigureAbsent) {
  void* const library = dlopen(FAKE_NVML_PATH, RTLD_NOW);
  auto* const fake = static_cast<FakeNvml*>(dlsym(library, "fake_nvml_state"));
  ASSERT_NE(fake, nullptr);
  // How many figures there are, and whether a monitor opened; one line says why not.
  const auto figures = [&](int failing) {
    *fake = {};
    fake->failing_call = failing;
    std::string why;
    const auto monitor = open_health_monitor(fake_nvml_pci_bus_id, &why, FAKE_NVML_PATH);
    EXPECT_EQ(monitor == nullptr, !why.empty());
    EXPECT_EQ(why.find('\n'), std::string::npos);
    if (monitor == nullptr) return -1;
    const HealthSample sample = monitor->sample();
    const DeviceState state = monitor->state();
    return int{sample.sm_clock_hz.has_value()} + sample.power_w.has_value() +
           sample.temperature_c.has_value() + sample.reasons.has_value() +
           monitor->energy_joules().has_value() + monitor->max_sm_clock_hz().has_value() +
           monitor->driver_version().has_value() + state.uuid.has_value() + state.ecc.has_value() +
           state.pcie_width.has_value() + state.pcie_width_max.has_value() +
           state.power_limit_w.has_value() + state.processes.has_value();
  };
  const int all = figures(0);
  const int calls = fake->calls;
  EXPECT_EQ(all, 13);
  int without_monitor = 0;
  for (int call = 1; call < calls; ++call) {  // the last is the shutdown, which tells nothing
    const int left = figures(call);
    EXPECT_TRUE(left == -1 || left == all - 1) << "call " << call << ": " << left;
    without_monitor += left == -1;
  }
  EXPECT_EQ(without_monitor, 2) << "the start and the look for the device";
  EXPECT_EQ(figures(calls), all);
  RecordProperty("fault", "each of " + std::to_string(calls) + " calls of NVML");
  RecordProperty("outcome", "one figure is absent, or all where NVML does not start");
  dlclose(library);
}

TEST(CallFailures, OfCuptiLeaveNoNameAndNobodyListening) {
  void* const library = dlopen(FAKE_CUPTI_PATH, RTLD_NOW);
  const auto fail = reinterpret_cast<int (*)(int)>(dlsym(library, "fake_cupti_fail"));
  const auto call =
      reinterpret_cast<void (*)(const char*, const char*)>(dlsym(library, "fake_cupti_call"));
  const auto names = [&] {
    return launched_kernels([&] { call("cuLaunchKernel", "own"); }, FAKE_CUPTI_PATH);
  };
  fail(0);
  ASSERT_EQ(names().size(), 1U);
  const int calls = fail(1);
  EXPECT_EQ(calls, 3);
  EXPECT_TRUE(names().empty());
  fail(2);
  EXPECT_TRUE(names().empty());
  fail(3);  // it stays subscribed
  EXPECT_EQ(names().size(), 1U);
  call("cuLaunchKernel", "later");
  fail(0);
  RecordProperty("fault", "each of " + std::to_string(calls) + " calls of CUPTI");
  RecordProperty("outcome", "the row's kernels are not named");
}

// Makes call `failing` (from 1) of the driver's or the runtime's fail while multicast memory is
// had; its name, or "" when there were fewer.
std::string name_of_failing(int failing, const GpuRanks& ranks) {
  int calls = 0;
  std::string name;
  model::current_runtime()->filter_calls([&](const char* function, const void*) {
    if (++calls != failing) return cudaSuccess;
    name = function;
    return cudaErrorUnknown;
  });
  try {
    const MulticastMemory memory(ranks, 1);
    model::current_runtime()->filter_calls(nullptr);
    EXPECT_EQ(name, "") << "nobody noticed";
  } catch (const CudaError& error) {
    EXPECT_EQ(error.code(), cudaErrorUnknown);
    EXPECT_THAT(error.what(), HasSubstr(name));
  }
  model::current_runtime()->filter_calls(nullptr);
  return name;
}

TEST(CallFailures, OfMulticastMemoryAreNamedAndLeaveNothingBehind) {
  const auto platform = open_platform("h200-sxm");
  const GpuRanks ranks(3, 8);
  const auto free_everywhere = [&] {
    std::vector<std::size_t> all;
    ranks.each([&](int) {
      std::size_t free = 0, total = 0;
      CUDA_CHECK(cudaMemGetInfo(&free, &total));
      all.push_back(free);
    });
    return all;
  };
  const auto before = free_everywhere();
  std::map<std::string, int> failed;
  for (int call = 1;; ++call) {
    const std::string name = name_of_failing(call, ranks);
    EXPECT_EQ(free_everywhere(), before) << "after call " << call << ", " << name;
    if (name.empty()) break;
    ++failed[name];
  }
  for (const char* const name : {"cuDeviceGet", "cuMemGetAllocationGranularity", "cuMemCreate",
                                 "cuMulticastBindMem", "cuMulticastAddDevice"}) {
    EXPECT_EQ(failed[name], 3) << name;  // a GPU each
  }
  for (const char* const name : {"cuMemAddressReserve", "cuMemMap", "cuMemSetAccess"}) {
    EXPECT_EQ(failed[name], 4) << name;  // and the multicast object
  }
  EXPECT_EQ(failed["cuMulticastCreate"], 1);
  EXPECT_EQ(failed["cuMulticastGetGranularity"], 1);
  EXPECT_EQ(failed["cudaGetDriverEntryPointByVersion"], 14);
  RecordProperty("fault", "each call of the driver's for multicast memory");
  RecordProperty("outcome", "the row fails, and names the call");
}

TEST(CallFailures, OfGivingMulticastMemoryBackGoUnnoticed) {
  const auto platform = open_platform("h200-sxm");
  const GpuRanks ranks(2, 8);
  for (const char* const failing : {"cuMulticastUnbind", "cuMemUnmap", "cuMemAddressFree",
                                    "cuMemRelease", "cudaSetDevice", "cudaDeviceSynchronize"}) {
    bool has_failed = false;
    {
      const MulticastMemory memory(ranks, 1);
      model::current_runtime()->filter_calls([&](const char* function, const void*) {
        if (has_failed || std::string(function) != failing) return cudaSuccess;
        has_failed = true;
        return cudaErrorUnknown;
      });
    }
    model::current_runtime()->filter_calls(nullptr);
    EXPECT_TRUE(has_failed) << failing;
    EXPECT_EQ(cudaGetLastError(), cudaSuccess) << failing;
  }
}

// As a machine answers whose switches nobody has set up.
TEST(CallFailures, WithoutAFabricManagerTheRowsAreSkipped) {
  const auto platform = open_platform("h200-sxm");
  const GpuRanks ranks(2, 8);
  EXPECT_EQ(MulticastMemory::why_not(ranks), "");
  const auto why_when = [&](const char* failing, cudaError_t error) {
    model::current_runtime()->filter_calls([=](const char* function, const void*) {
      return std::string(function) == failing ? error : cudaSuccess;
    });
    const std::string why = MulticastMemory::why_not(ranks);
    model::current_runtime()->filter_calls(nullptr);
    return why;
  };
  for (const auto error : {cudaErrorSystemNotReady, cudaErrorIllegalState, cudaErrorInvalidValue}) {
    EXPECT_THAT(why_when("cuMulticastBindMem", error), HasSubstr("does the fabric manager run?"));
  }
  EXPECT_THAT(why_when("cuMulticastCreate", cudaErrorNotSupported),
              HasSubstr("the driver has no multicast objects"));
  EXPECT_THROW(why_when("cuMulticastCreate", cudaErrorUnknown), CudaError);
  // Where an object could be had before, the arguments are right for this machine.
  const auto why_later = [](cudaError_t error) {
    return MulticastMemory::why_not(CudaError(error, "cuMulticastBindMem", "here"));
  };
  for (const auto error : {cudaErrorSystemNotReady, cudaErrorIllegalState}) {
    EXPECT_THAT(why_later(error), HasSubstr("does the fabric manager run?"));
  }
  EXPECT_EQ(why_later(cudaErrorInvalidValue), "");
  model::current_runtime()->filter_calls(nullptr);
}

class CublasLt : public testing::Test {
 protected:
  ~CublasLt() override { fake_cublaslt = {}; }
  std::unique_ptr<Platform> platform_ = open_platform("h200-sxm");
};

TEST_F(CublasLt, EveryCallThatFailsIsNamedAndLeavesNoHandle) {
  fake_cublaslt = {};
  multiply_by_cublaslt();
  const int calls = fake_cublaslt.calls;
  ASSERT_GT(calls, 20);
  int thrown = 0;
  // Thousands of them are the tuning's, all alike.
  for (int call = 1; call <= calls; call += call < 60 ? 1 : 997) {
    fake_cublaslt = {.failing_call = call};
    try {
      multiply_by_cublaslt();
      EXPECT_THAT(fake_cublaslt.failed, HasSubstr("Destroy")) << "call " << call;
    } catch (const std::exception& error) {
      ++thrown;
      EXPECT_THAT(error.what(), HasSubstr(fake_cublaslt.failed));
      EXPECT_THAT(error.what(), HasSubstr("CUBLAS_STATUS_INTERNAL_ERROR"));
    }
    EXPECT_EQ(fake_cublaslt.made, 0) << "after call " << call << ", " << fake_cublaslt.failed;
  }
  EXPECT_GT(thrown, 20);
  RecordProperty("fault", "each call of cuBLASLt");
  RecordProperty("outcome", "the row fails, and names the call");
}

TEST_F(CublasLt, AShapeThatItRefusesIsNoFailure) {
  for (const auto refusal :
       {CUBLAS_STATUS_NOT_SUPPORTED, CUBLAS_STATUS_INVALID_VALUE, CUBLAS_STATUS_ARCH_MISMATCH}) {
    int refused = 0;
    for (int call = 1; call <= 40; ++call) {
      fake_cublaslt = {.failing_call = call, .failure = refusal};
      try {
        multiply_by_cublaslt();
      } catch (const GemmUnavailable&) {
        EXPECT_EQ(fake_cublaslt.failed, "cublasLtMatmulAlgoGetHeuristic");
        ++refused;
      } catch (const std::runtime_error&) {
      }
    }
    EXPECT_EQ(refused, 2) << "when it is made and when it is tuned";
  }
  RecordProperty("fault", "cuBLASLt has no algorithm");
  RecordProperty("outcome", "the row is skipped");
}

class CublasLtWithScales : public testing::TestWithParam<GemmType> {
 protected:
  ~CublasLtWithScales() override { fake_cublaslt = {}; }
  void multiply() const {
    multiply_by_cublaslt(GemmShape::dense(GetParam(), 128, 128, 128), {scales_[0], scales_[1]});
  }
  alignas(16) char scales_[2][16] = {};
};

TEST_P(CublasLtWithScales, TheLibraryHasAnAddressOfThemBeforeItIsAskedForAnAlgorithm) {
  const auto platform = open_platform("b200");
  fake_cublaslt = {};
  multiply();
  EXPECT_EQ(fake_cublaslt.unscaled, 0);
  for (const auto& scales : fake_cublaslt.scales) EXPECT_TRUE(scales.by_blocks);
  // The library's first operand is our second.
  EXPECT_EQ(fake_cublaslt.scales[0].at, scales_[1]);
  EXPECT_EQ(fake_cublaslt.scales[1].at, scales_[0]);
}

TEST_P(CublasLtWithScales, AnInvalidValueIsAFailureAndNoWantOfAnAlgorithm) {
  const auto platform = open_platform("b200");
  int named = 0;
  for (int call = 1; call <= 40; ++call) {
    fake_cublaslt = {.failing_call = call, .failure = CUBLAS_STATUS_INVALID_VALUE};
    try {
      multiply();
    } catch (const GemmUnavailable& why) {
      ADD_FAILURE() << "call " << call << ": " << why.what();
    } catch (const std::runtime_error& error) {
      named += std::string(error.what()).find("cublasLtMatmulAlgoGetHeuristic") == 0;
    }
  }
  EXPECT_EQ(named, 1);
}

TEST_P(CublasLtWithScales, ADeviceBeforeBlackwellIsNamedAsTheReason) {
  const auto platform = open_platform("h200-sxm");
  try {
    multiply();
    FAIL() << "an H200 has no block scales";
  } catch (const GemmUnavailable& why) {
    EXPECT_STREQ(why.what(), "block scales need compute capability 10.0");
  }
}

INSTANTIATE_TEST_SUITE_P(Types, CublasLtWithScales,
                         testing::Values(GemmType::mxfp8, GemmType::nvfp4),
                         [](const auto& type) { return gemm_type_name(type.param); });

}  // namespace
}  // namespace gpubench
