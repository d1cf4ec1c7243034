// Memory and copies, against CUDA's documented semantics.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <vector>

#include "tests/model/runtime_fixture.hpp"

namespace gpubench::model {
namespace {

TEST_F(RuntimeTest, MemoryRunsOutAndComesBack) {
  std::size_t free = 0;
  std::size_t total = 0;
  ASSERT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  EXPECT_EQ(total, memory_.capacity());
  void* all = nullptr;
  EXPECT_EQ(cudaMalloc(&all, total + 1), cudaErrorMemoryAllocation);
  ASSERT_EQ(cudaMalloc(&all, free), cudaSuccess);
  ASSERT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  EXPECT_EQ(free, 0U);
  void* more = nullptr;
  EXPECT_EQ(cudaMalloc(&more, 1), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaFree(all), cudaSuccess);
  EXPECT_EQ(cudaFree(all), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(nullptr), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&more, 1), cudaSuccess);
}

TEST_F(RuntimeTest, DataGoesToTheDeviceAndBack) {
  std::array<int, 64> sent{};
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<int>(i);
  void* one = nullptr;
  void* other = nullptr;
  ASSERT_EQ(cudaMalloc(&one, sizeof sent), cudaSuccess);
  ASSERT_EQ(cudaMalloc(&other, sizeof sent), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(one, sent.data(), sizeof sent, cudaMemcpyHostToDevice), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(other, one, sizeof sent, cudaMemcpyDeviceToDevice), cudaSuccess);
  ASSERT_EQ(cudaMemset(other, 0, sizeof(int)), cudaSuccess);
  std::array<int, 64> received{};
  ASSERT_EQ(cudaMemcpy(received.data(), other, sizeof sent, cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(received, sent);
  ASSERT_EQ(cudaMemset(other, 1, 2 * sizeof(int)), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(received.data(), other, sizeof sent, cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(received[1], 0x01010101);
  EXPECT_EQ(received[2], 2);
}

TEST_F(RuntimeTest, CopiesThatMakeNoSenseAreRefused) {
  int* const device = device_int(0);
  int host = 0;
  EXPECT_EQ(cudaMemcpy(device, &host, 4096, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(device, &host, 4, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(device, nullptr, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(device, &host, 4, static_cast<cudaMemcpyKind>(7)),
            cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(cudaMemset(&host, 0, 4), cudaErrorInvalidValue);
  ASSERT_EQ(cudaFree(device), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(device, &host, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
}

TEST_F(RuntimeTest, AnAsynchronousCopyBlocksTheHostOnlyFromPageableMemory) {
  constexpr std::size_t bytes = std::size_t{8} << 20;
  void* device = nullptr;
  void* pinned = nullptr;
  ASSERT_EQ(cudaMalloc(&device, bytes), cudaSuccess);
  ASSERT_EQ(cudaMallocHost(&pinned, bytes), cudaSuccess);
  std::vector<std::byte> pageable(bytes);
  const cudaStream_t s = stream();
  const auto host_time = [&](const void* from) {
    const double before = runtime().host_seconds();
    EXPECT_EQ(cudaMemcpyAsync(device, from, bytes, cudaMemcpyHostToDevice, s), cudaSuccess);
    return runtime().host_seconds() - before;
  };
  EXPECT_NEAR(host_time(pinned), figure("launch_host_seconds"), nanosecond);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_GT(host_time(pageable.data()), bytes / figure("pageable_bytes_per_second"));
  const auto copies = named("copy to device");
  EXPECT_NEAR(copies[0].end - copies[0].start,
              figure("pcie_latency_seconds") + bytes / figure("pcie_h2d_bytes_per_second"),
              nanosecond);
  EXPECT_NEAR(copies[1].end - copies[1].start,
              figure("pcie_latency_seconds") + bytes / figure("pageable_bytes_per_second"),
              nanosecond);
}

TEST_F(RuntimeTest, BothDirectionsAndAKernelOverlapButNotTwoCopiesOneWay) {
  constexpr std::size_t bytes = std::size_t{8} << 20;
  std::array<void*, 3> device{};
  void* pinned = nullptr;
  for (void*& d : device) ASSERT_EQ(cudaMalloc(&d, bytes), cudaSuccess);
  ASSERT_EQ(cudaMallocHost(&pinned, bytes), cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  ASSERT_EQ(cudaMemcpyAsync(device[0], pinned, bytes, cudaMemcpyHostToDevice, stream()),
            cudaSuccess);
  ASSERT_EQ(cudaMemcpyAsync(device[1], pinned, bytes, cudaMemcpyHostToDevice, stream()),
            cudaSuccess);
  ASSERT_EQ(cudaMemcpyAsync(pinned, device[2], bytes, cudaMemcpyDeviceToHost, stream()),
            cudaSuccess);
  ASSERT_EQ(launch(stream(), full_grid(), large), cudaSuccess);
  const auto to_device = named("copy to device");
  const auto to_host = named("copy to host");
  EXPECT_DOUBLE_EQ(to_device[1].start, to_device[0].end);
  EXPECT_LT(to_host[0].start, to_device[0].end);
  EXPECT_LT(named("large")[0].start, to_device[0].end);
}

TEST_F(RuntimeTest, PinnedMemoryIsWhatTheDeviceMayReach) {
  std::byte* pinned = nullptr;
  ASSERT_EQ(cudaHostAlloc(&pinned, 100, cudaHostAllocMapped), cudaSuccess);
  void* seen = nullptr;
  ASSERT_EQ(cudaHostGetDevicePointer(&seen, pinned, 0), cudaSuccess);
  EXPECT_EQ(seen, pinned);
  EXPECT_TRUE(runtime().is_mapped_host(pinned, 100));
  EXPECT_TRUE(runtime().is_mapped_host(pinned + 99, 1));
  EXPECT_FALSE(runtime().is_mapped_host(pinned + 99, 2));
  int pageable = 0;
  EXPECT_EQ(cudaHostGetDevicePointer(&seen, &pageable, 0), cudaErrorInvalidValue);
  ASSERT_EQ(cudaFreeHost(pinned), cudaSuccess);
  EXPECT_FALSE(runtime().is_mapped_host(pinned, 1));
  EXPECT_EQ(cudaFreeHost(pinned), cudaErrorInvalidValue);
}

// --- managed and registered memory ---

class PrefetchTest : public RuntimeTest {
 protected:
  static constexpr std::size_t page = 4096, bytes = 1000 * page;
  static constexpr cudaMemLocation device0{cudaMemLocationTypeDevice, 0};
  static constexpr cudaMemLocation host{cudaMemLocationTypeHost, 0};

  double crossing(double amount, const char* rate) const {
    return figure("pcie_latency_seconds") + amount / figure(rate);
  }
  static double seconds(const Record& record) { return record.end - record.start; }
};

TEST_F(PrefetchTest, MovesWhatIsNotThereYet) {
  char* managed = nullptr;
  ASSERT_EQ(cudaMallocManaged(&managed, bytes), cudaSuccess);
  managed[bytes - 1] = 42;
  const cudaStream_t s = stream();
  ASSERT_EQ(cudaMemPrefetchAsync(managed, 10 * page, device0, 0, s), cudaSuccess);
  ASSERT_EQ(cudaMemPrefetchAsync(managed, bytes, device0, 0, s), cudaSuccess);
  ASSERT_EQ(cudaMemPrefetchAsync(managed, bytes, device0, 0, s), cudaSuccess);
  ASSERT_EQ(cudaMemPrefetchAsync(managed + page - 1, 2, host, 0, s), cudaSuccess);
  const auto there = named("prefetch to device");
  ASSERT_EQ(there.size(), 3U);
  EXPECT_EQ(there[0].engine, Engine::copy_to_device);
  EXPECT_NEAR(seconds(there[0]), crossing(10 * page, "pcie_h2d_bytes_per_second"), nanosecond);
  EXPECT_NEAR(seconds(there[1]), crossing(990 * page, "pcie_h2d_bytes_per_second"), nanosecond);
  EXPECT_NEAR(seconds(there[2]), crossing(0, "pcie_h2d_bytes_per_second"), nanosecond);
  const auto back = named("prefetch to host");
  EXPECT_EQ(back[0].engine, Engine::copy_to_host);
  EXPECT_NEAR(seconds(back[0]), crossing(2 * page, "pcie_d2h_bytes_per_second"), nanosecond)
      << "two bytes of two pages";
  EXPECT_EQ(managed[bytes - 1], 42);
  EXPECT_EQ(cudaFree(managed), cudaSuccess);
  EXPECT_EQ(cudaFree(managed), cudaErrorInvalidValue);
}

TEST_F(PrefetchTest, TheHostGoesOnAtOnce) {
  char* managed = nullptr;
  ASSERT_EQ(cudaMallocManaged(&managed, bytes), cudaSuccess);
  const double before = runtime().host_seconds();
  ASSERT_EQ(cudaMemPrefetchAsync(managed, bytes, device0, 0, stream()), cudaSuccess);
  EXPECT_NEAR(runtime().host_seconds() - before, figure("launch_host_seconds"), nanosecond);
}

TEST_F(PrefetchTest, TakesManagedMemoryOnly) {
  char *managed = nullptr, *pinned = nullptr;
  ASSERT_EQ(cudaMallocManaged(&managed, bytes), cudaSuccess);
  ASSERT_EQ(cudaMallocHost(&pinned, bytes), cudaSuccess);
  EXPECT_EQ(cudaMemPrefetchAsync(pinned, bytes, device0, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemPrefetchAsync(managed, bytes + 1, device0, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemPrefetchAsync(managed, 0, device0, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemPrefetchAsync(managed, bytes, device0, 1), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemPrefetchAsync(managed, bytes, {cudaMemLocationTypeDevice, 1}, 0),
            cudaErrorInvalidDevice);
  EXPECT_EQ(cudaMemPrefetchAsync(managed, bytes, {cudaMemLocationTypeInvalid, 0}, 0),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaFreeHost(managed), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(pinned), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMallocManaged(&managed, 0), cudaErrorInvalidValue);
}

TEST_F(RuntimeTest, RegisteredMemoryIsPinnedUntilItIsNot) {
  constexpr std::size_t bytes = std::size_t{1} << 20;
  std::vector<char> pageable(2 * bytes);
  void* device = nullptr;
  ASSERT_EQ(cudaMalloc(&device, bytes), cudaSuccess);
  const cudaStream_t s = stream();
  const auto blocks_for = [&](char* from) {
    const double before = runtime().host_seconds();
    EXPECT_EQ(cudaMemcpyAsync(device, from, bytes, cudaMemcpyHostToDevice, s), cudaSuccess);
    return runtime().host_seconds() - before;
  };
  ASSERT_EQ(cudaHostRegister(pageable.data(), bytes, cudaHostRegisterDefault), cudaSuccess);
  EXPECT_NEAR(blocks_for(pageable.data()), figure("launch_host_seconds"), nanosecond);
  EXPECT_GT(blocks_for(pageable.data() + bytes), 10e-6) << "the other half is pageable";
  EXPECT_EQ(cudaHostRegister(pageable.data() + bytes - 1, 2, cudaHostRegisterDefault),
            cudaErrorHostMemoryAlreadyRegistered);
  EXPECT_EQ(cudaFreeHost(pageable.data()), cudaErrorInvalidValue);
  ASSERT_EQ(cudaHostUnregister(pageable.data()), cudaSuccess);
  EXPECT_EQ(cudaHostUnregister(pageable.data()), cudaErrorHostMemoryNotRegistered);
  EXPECT_GT(blocks_for(pageable.data()), 10e-6);
}

TEST_F(RuntimeTest, LongCopiesAreOnlyPricedWhereNobodyAsksForResults) {
  constexpr std::size_t little = std::size_t{1} << 20, much = little + 1;
  char *pinned = nullptr, *device = nullptr;
  ASSERT_EQ(cudaMallocHost(&pinned, much), cudaSuccess);
  ASSERT_EQ(cudaMalloc(&device, much), cudaSuccess);
  const auto arrives = [&](std::size_t bytes, char value) {
    EXPECT_EQ(cudaMemset(device, 0, much), cudaSuccess);
    std::memset(pinned, value, much);
    EXPECT_EQ(cudaMemcpy(device, pinned, bytes, cudaMemcpyHostToDevice), cudaSuccess);
    char first = 0;
    EXPECT_EQ(cudaMemcpy(&first, device, 1, cudaMemcpyDeviceToHost), cudaSuccess);
    return first == value;
  };
  EXPECT_TRUE(arrives(much, 1));
  runtime().expect_results(false);
  const double before = runtime().host_seconds();
  EXPECT_FALSE(arrives(much, 2));
  EXPECT_GT(runtime().host_seconds() - before, much / figure("pcie_h2d_bytes_per_second"));
  EXPECT_TRUE(arrives(little, 3)) << "flags and scalars are always carried out";
  runtime().expect_results(true);
  EXPECT_TRUE(arrives(much, 4));
}

}  // namespace
}  // namespace gpubench::model
