#include "harness/platform/gpu/device_limits.hpp"

#include <cuda_runtime.h>

#include <cstdio>
#include <string_view>

#include "harness/cuda/check.hpp"
#include "harness/platform/device_clocks.hpp"
#include "harness/system/error.hpp"

namespace gpubench {
namespace {

// 13020 -> "13.2".
std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string old_driver() {
  int driver = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess) driver = 0;
  return "the driver knows " +
         (driver == 0 ? std::string("no CUDA version") : "CUDA up to " + version_text(driver)) +
         ", and this build needs " + version_text(CUDART_VERSION) +
         ": update the driver, or build with an older toolkit";
}

std::string words_of(cudaError_t error) {
  return std::string(cudaGetErrorString(error)) + " (" + cudaGetErrorName(error) + ")";
}

int known_attribute(cudaDeviceAttr name, int ordinal) {
  int value = 0;
  const cudaError_t error = cudaDeviceGetAttribute(&value, name, ordinal);
  static_cast<void>(cudaGetLastError());
  return error == cudaSuccess ? value : 0;
}

std::string why_not(cudaError_t error, int ordinal) {
  const std::string gpu = "GPU " + std::to_string(ordinal);
  switch (error) {
    case cudaErrorInsufficientDriver:
      return old_driver();
    case cudaErrorDevicesUnavailable:
      return known_attribute(cudaDevAttrComputeMode, ordinal) == cudaComputeModeProhibited
                 ? gpu + " is in compute mode 'prohibited': nvidia-smi -c 0 allows programs again"
                 : gpu +
                       " is busy: another process has it to itself (compute mode "
                       "'exclusive process'), or it is about to be reset";
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidDeviceFunction:
      return gpu + " has compute capability " +
             std::to_string(known_attribute(cudaDevAttrComputeCapabilityMajor, ordinal)) + "." +
             std::to_string(known_attribute(cudaDevAttrComputeCapabilityMinor, ordinal)) +
             ", for which this build has no code: build it again on this machine";
    case cudaErrorMemoryAllocation:
      return gpu + " has no memory left for a program: others hold it";
    default:
      return gpu + " cannot be used: " + words_of(error);
  }
}

std::string gibibytes(std::size_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f GiB", static_cast<double>(bytes) / (1u << 30));
  return text;
}

}  // namespace

int gpu_count() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaErrorNoDevice) return 0;
  if (error == cudaErrorInsufficientDriver) throw UsageError("no usable GPU: " + old_driver());
  if (error != cudaSuccess) throw UsageError("no usable GPU: " + words_of(error));
  return count;
}

void open_gpu(int ordinal) {
  cudaError_t error = cudaSetDevice(ordinal);
  if (error == cudaSuccess) error = wait_on_device(0, nullptr);
  if (error == cudaSuccess) error = cudaDeviceSynchronize();
  if (error == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());
  throw UsageError(why_not(error, ordinal));
}

std::vector<std::string> caveats_of(int ordinal, HealthMonitor* health,
                                    const std::string& why_no_health) {
  std::vector<std::string> caveats;
  cudaDeviceProp properties{};
  CUDA_CHECK(cudaGetDeviceProperties(&properties, ordinal));
  if (std::string_view(properties.name).find(" MIG ") != std::string_view::npos) {
    caveats.push_back(
        "this is a slice of a GPU (MIG): other slices share its memory and its power");
  }
  const DeviceState state = health == nullptr ? DeviceState{} : health->state();
  if (health == nullptr) {
    caveats.push_back("rows have no clock, power or temperature: " + why_no_health);
  } else if (const HealthSample sample = health->sample();
             !sample.sm_clock_hz && !sample.power_w && !sample.reasons) {
    caveats.emplace_back("rows have no clock, power or temperature: the driver tells none here");
  }
  std::size_t free = 0, total = 0;
  CUDA_CHECK(cudaMemGetInfo(&free, &total));
  if (const unsigned processes = state.processes.value_or(1); processes > 1) {
    caveats.push_back("this GPU is shared: " + std::to_string(processes) +
                      " processes compute on it, this one included");
  }
  // A context of our own takes half a gigabyte or so.
  if (const std::size_t taken = total - free; taken > total / 20 + (std::size_t{1} << 30)) {
    caveats.push_back(gibibytes(taken) + " of the GPU's " + gibibytes(total) +
                      " are taken: rows that need more than is free are skipped");
  }
  return caveats;
}

}  // namespace gpubench
