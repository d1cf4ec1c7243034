// The model's CUDA runtime with kernels of known durations. Times are virtual: every expectation is
// exact arithmetic on the device file's figures.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "harness/platform/model/runtime/runtime.hpp"
#include "tests/model/fake_executor.hpp"

namespace gpubench::model {

struct Pair {
  int first;
  double second;
};

inline __global__ void tiny() {}
inline __global__ void small() {}
inline __global__ void large() {}
inline __global__ void faulty() {}
inline __global__ void store(int* to, int value) { *to = value; }
inline __global__ void keep(double* to, float scale, Pair pair) {
  *to = scale * (pair.first + pair.second);
}
template <class T>
__global__ void increment(T* value) {
  ++*value;
}

class RuntimeTest : public testing::Test {
 protected:
  RuntimeTest() { install(RuntimeOptions{}); }
  ~RuntimeTest() override { install_runtime(nullptr); }

  void install(RuntimeOptions options) {
    options.diagnostic = [this](const std::string& line) { lines_.push_back(line); };
    executor_.faults = {{address(faulty), "faulty: read past the end"}};
    executor_.seconds = {{address(tiny), 0.1e-6}, {address(small), 10e-6}, {address(large), 50e-6}};
    install_runtime(std::make_unique<Runtime>(device_, memory_, executor_, std::move(options)));
  }
  Runtime& runtime() { return *current_runtime(); }
  double figure(const char* name) const { return device_[name]; }

  // A grid that fills the device, so that nothing else fits beside it.
  dim3 full_grid() const {
    return dim3(static_cast<unsigned>(figure("sm_count") * figure("max_threads_per_sm")) / 256);
  }

  template <class... P, class... A>
  static cudaError_t launch(cudaStream_t stream, dim3 grid, void (*kernel)(P...), A... arguments) {
    cudaLaunchConfig_t config;
    config.gridDim = grid;
    config.blockDim = dim3(256);
    config.stream = stream;
    return cudaLaunchKernelEx(&config, kernel, arguments...);
  }

  template <class... P, class... A>
  static cudaError_t launch_early(cudaStream_t stream, void (*kernel)(P...), A... arguments) {
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config;
    config.gridDim = dim3(1);
    config.blockDim = dim3(32);
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    return cudaLaunchKernelEx(&config, kernel, arguments...);
  }

  static cudaStream_t stream(unsigned flags = cudaStreamNonBlocking) {
    cudaStream_t created = nullptr;
    EXPECT_EQ(cudaStreamCreateWithFlags(&created, flags), cudaSuccess);
    return created;
  }
  static cudaEvent_t event() {
    cudaEvent_t created = nullptr;
    EXPECT_EQ(cudaEventCreate(&created), cudaSuccess);
    return created;
  }
  static int* device_int(int value) {
    int* place = nullptr;
    EXPECT_EQ(cudaMalloc(&place, sizeof value), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(place, &value, sizeof value, cudaMemcpyHostToDevice), cudaSuccess);
    return place;
  }
  static int read(const int* place) {
    int value = 0;
    EXPECT_EQ(cudaMemcpy(&value, place, sizeof value, cudaMemcpyDeviceToHost), cudaSuccess);
    return value;
  }
  static double elapsed(cudaEvent_t start, cudaEvent_t end) {
    float milliseconds = 0;
    EXPECT_EQ(cudaEventElapsedTime(&milliseconds, start, end), cudaSuccess);
    return static_cast<double>(milliseconds) * 1e-3;
  }

  // What the device did under this name, in order of start.
  std::vector<Record> named(const std::string& part) {
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    std::vector<Record> found;
    for (const Record& record : runtime().records()) {
      if (record.name.find(part) != std::string::npos) found.push_back(record);
    }
    return found;
  }

  using ValueOperation = CUresult (*)(CUstream, CUdeviceptr, cuuint32_t, unsigned);
  static ValueOperation entry_point(const char* name) {
    void* function = nullptr;
    EXPECT_EQ(cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, nullptr),
              cudaSuccess);
    return reinterpret_cast<ValueOperation>(function);
  }
  static CUresult wait_value(cudaStream_t s, const void* place, unsigned value,
                             unsigned flags = CU_STREAM_WAIT_VALUE_GEQ) {
    return entry_point("cuStreamWaitValue32")(s, reinterpret_cast<CUdeviceptr>(place), value,
                                              flags);
  }
  static CUresult write_value(cudaStream_t s, const void* place, unsigned value) {
    return entry_point("cuStreamWriteValue32")(s, reinterpret_cast<CUdeviceptr>(place), value,
                                               CU_STREAM_WRITE_VALUE_DEFAULT);
  }

  static constexpr double nanosecond = 1e-9;
  // An H200 on which no part of a kernel passes beside the next one of its stream: so the order of
  // kernels is plain from their times.
  static DeviceSpec device() {
    auto file = nlohmann::json::parse(device_file_text(device_spec("h200-sxm")));
    auto& figures = file.at("figures");
    figures.at("kernel_floor_seconds").at("value") =
        figures.at("launch_stream_seconds").at("value");
    return DeviceSpec::parse(file.dump(), "the tests' H200");
  }

  const DeviceSpec device_ = device();
  DeviceMemory memory_{std::size_t{1} << 30};
  FakeExecutor executor_;
  std::vector<std::string> lines_;
};

}  // namespace gpubench::model
