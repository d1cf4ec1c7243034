// NCCL's calls on the model device: results at ragged sizes, prices by arithmetic, and misuse.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <gtest/gtest.h>
#include <nccl.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "harness/platform/model/collectives/cost.hpp"
#include "harness/platform/model/collectives/nccl.hpp"
#include "harness/platform/model/runtime/runtime.hpp"
#include "tests/model/fake_executor.hpp"

namespace gpubench::model {
namespace {

constexpr double MiB = 1 << 20;

class NcclTest : public testing::Test {
 protected:
  NcclTest() {
    RuntimeOptions options;
    options.devices = 16;
    options.node_devices = 8;
    options.diagnostic = [this](const std::string& line) { lines_.push_back(line); };
    install_runtime(std::make_unique<Runtime>(device_, memory_, executor_, options));
  }
  ~NcclTest() override {
    for (const ncclComm_t c : communicators_) EXPECT_EQ(ncclCommDestroy(c), ncclSuccess);
    install_runtime(nullptr);
  }

  template <class V>
  static auto& at(V& values, int i) {
    return values[static_cast<std::size_t>(i)];
  }

  void start(int ranks) {
    ncclUniqueId id{};
    ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
    communicators_.resize(static_cast<std::size_t>(ranks));
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    for (int r = 0; r < ranks; ++r) {
      ASSERT_EQ(cudaSetDevice(r), cudaSuccess);
      ASSERT_EQ(ncclCommInitRank(&at(communicators_, r), ranks, id, r), ncclSuccess);
      cudaStream_t stream = nullptr;
      ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
      streams_.push_back(stream);
    }
    ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
  }

  // Rank r's buffer on its device, element i being value(r, i).
  template <class T, class Value>
  std::vector<T*> buffers(int ranks, std::size_t n, Value value) {
    std::vector<T*> result;
    for (int r = 0; r < ranks; ++r) {
      EXPECT_EQ(cudaSetDevice(r), cudaSuccess);
      std::vector<T> host(n);
      for (std::size_t i = 0; i < n; ++i) host[i] = static_cast<T>(static_cast<float>(value(r, i)));
      T* device = nullptr;
      EXPECT_EQ(cudaMalloc(&device, std::max<std::size_t>(n, 1) * sizeof(T)), cudaSuccess);
      EXPECT_EQ(cudaMemcpy(device, host.data(), n * sizeof(T), cudaMemcpyHostToDevice),
                cudaSuccess);
      // From pageable memory the copy may still be under way.
      EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
      result.push_back(device);
    }
    return result;
  }

  template <class T>
  std::vector<float> read(const T* device, std::size_t n) {
    std::vector<T> host(n);
    EXPECT_EQ(cudaMemcpy(host.data(), device, n * sizeof(T), cudaMemcpyDeviceToHost), cudaSuccess);
    return {host.begin(), host.end()};
  }

  template <class Queue>
  ncclResult_t together(int ranks, const Queue& queue) {
    EXPECT_EQ(ncclGroupStart(), ncclSuccess);
    for (int r = 0; r < ranks; ++r) EXPECT_EQ(queue(r), ncclSuccess);
    const ncclResult_t result = ncclGroupEnd();
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    return result;
  }

  // The collective's one record on the timeline.
  static Record last() { return current_runtime()->records().back(); }

  const DeviceSpec device_ = device_spec("h200-sxm");
  DeviceMemory memory_{std::size_t{1} << 32, 16};
  FakeExecutor executor_;
  std::vector<std::string> lines_;
  std::vector<ncclComm_t> communicators_;
  std::vector<cudaStream_t> streams_;
};

int some(int rank, std::size_t i) { return static_cast<int>((7 * i + 3u * unsigned(rank)) % 4); }

template <class T>
constexpr ncclDataType_t type = ncclFloat32;
template <>
constexpr ncclDataType_t type<__half> = ncclFloat16;
template <>
constexpr ncclDataType_t type<__nv_bfloat16> = ncclBfloat16;

template <class T>
class NcclResults : public NcclTest {};
using Types = testing::Types<float, __half, __nv_bfloat16>;
TYPED_TEST_SUITE(NcclResults, Types);

TYPED_TEST(NcclResults, EveryCollectiveAtRaggedSizes) {
  using T = TypeParam;
  constexpr int ranks = 3;
  this->start(ranks);
  for (const std::size_t n : {0, 1, 127, 128, 129, 1009}) {
    const auto all = n * ranks;
    const auto from = this->template buffers<T>(ranks, all, some);
    const auto to = this->template buffers<T>(ranks, all, [](int, std::size_t) { return -1; });
    const auto queue = [&](auto call) {
      ASSERT_EQ(this->together(ranks,
                               [&](int r) {
                                 return call(this->at(from, r), this->at(to, r),
                                             this->at(this->communicators_, r),
                                             this->at(this->streams_, r));
                               }),
                ncclSuccess);
    };
    const auto sum = [&](std::size_t i) {
      return static_cast<float>(some(0, i) + some(1, i) + some(2, i));
    };

    queue([&](const T* a, T* b, ncclComm_t c, cudaStream_t s) {
      return ncclAllReduce(a, b, n, type<T>, ncclSum, c, s);
    });
    for (const T* b : to) {
      const auto got = this->read(b, n);
      for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(got[i], sum(i)) << n << ' ' << i;
    }
    queue([&](const T* a, T* b, ncclComm_t c, cudaStream_t s) {
      return ncclReduceScatter(a, b, n, type<T>, ncclSum, c, s);
    });
    for (int r = 0; r < ranks; ++r) {
      const auto got = this->read(this->at(to, r), n);
      for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(got[i], sum(unsigned(r) * n + i));
    }
    queue([&](const T* a, T* b, ncclComm_t c, cudaStream_t s) {
      return ncclAllGather(a, b, n, type<T>, c, s);
    });
    for (const T* b : to) {
      const auto got = this->read(b, all);
      for (std::size_t i = 0; i < all; ++i) ASSERT_EQ(got[i], some(int(i / n), i % n));
    }
    queue([&](const T* a, T* b, ncclComm_t c, cudaStream_t s) {
      return ncclBroadcast(a, b, n, type<T>, 2, c, s);
    });
    for (const T* b : to) {
      const auto got = this->read(b, n);
      for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(got[i], some(2, i));
    }
    queue([&](const T* a, T* b, ncclComm_t c, cudaStream_t s) {
      return ncclAlltoAll(a, b, n, type<T>, c, s);
    });
    for (int r = 0; r < ranks; ++r) {
      const auto got = this->read(this->at(to, r), all);
      for (std::size_t i = 0; i < all; ++i) {
        ASSERT_EQ(got[i], some(int(i / n), unsigned(r) * n + i % n));
      }
    }
  }
}

TEST_F(NcclTest, ResultsInPlaceAreThoseOutOfPlace) {
  start(4);
  const auto data = buffers<float>(4, 129, some);
  ASSERT_EQ(together(4,
                     [&](int r) {
                       return ncclAllReduce(at(data, r), at(data, r), 129, ncclFloat32, ncclSum,
                                            at(communicators_, r), at(streams_, r));
                     }),
            ncclSuccess);
  for (const float* one : data) {
    const auto got = read(one, 129);
    for (std::size_t i = 0; i < 129; ++i) {
      EXPECT_EQ(got[i], some(0, i) + some(1, i) + some(2, i) + some(3, i));
    }
  }
}

TEST_F(NcclTest, ACollectiveStartsWhenTheLastRankHasCome) {
  start(2);
  const auto data = buffers<float>(2, 128, some);
  constexpr std::size_t much = std::size_t{1} << 30;
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  void* other = nullptr;
  ASSERT_EQ(cudaMalloc(&other, much), cudaSuccess);
  ASSERT_EQ(cudaMemsetAsync(other, 0, much, at(streams_, 1)), cudaSuccess);
  ASSERT_EQ(together(2,
                     [&](int r) {
                       return ncclAllReduce(at(data, r), at(data, r), 128, ncclFloat32, ncclSum,
                                            at(communicators_, r), at(streams_, r));
                     }),
            ncclSuccess);
  const auto records = current_runtime()->records();
  const Record& set = records[records.size() - 2];
  ASSERT_EQ(set.name, "set");
  EXPECT_GT(set.end - set.start, 1e-4);
  EXPECT_DOUBLE_EQ(last().start, set.end);
}

TEST_F(NcclTest, TheTimelineHasThePrice) {
  start(8);
  const auto data = buffers<float>(8, 2, some);
  ASSERT_EQ(together(8,
                     [&](int r) {
                       return ncclAllReduce(at(data, r), at(data, r), 2, ncclFloat32, ncclSum,
                                            at(communicators_, r), at(streams_, r));
                     }),
            ncclSuccess);
  // 14 steps over NVLink with the smallest protocol; or up a chain of 7 and down again.
  const double ring = 6.6e-6 + 14 * 0.6e-6, tree = 6.8e-6 + 14 * 0.6e-6;
  EXPECT_NEAR(last().end - last().start, std::min(ring, tree), 1e-9);
  EXPECT_EQ(last().name, "NCCL ring LL");
}

TEST_F(NcclTest, ARankThatDoesNotComeIsNamedInsteadOfWaitedFor) {
  start(2);
  const auto data = buffers<float>(2, 8, some);
  EXPECT_EQ(ncclAllReduce(at(data, 0), at(data, 0), 8, ncclFloat32, ncclSum, at(communicators_, 0),
                          at(streams_, 0)),
            ncclInvalidUsage);
  ASSERT_EQ(lines_.size(), 1u);
  EXPECT_NE(lines_[0].find("1 of the 2 ranks"), std::string::npos);
}

TEST_F(NcclTest, ABufferOnAnotherDeviceIsRefused) {
  start(2);
  const auto data = buffers<float>(2, 8, some);
  EXPECT_EQ(together(2,
                     [&](int r) {
                       return ncclAllReduce(at(data, 0), at(data, r), 8, ncclFloat32, ncclSum,
                                            at(communicators_, r), at(streams_, r));
                     }),
            ncclInvalidArgument);
}

TEST_F(NcclTest, ACommunicatorNeedsAllItsRanks) {
  ncclUniqueId id{};
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ncclComm_t alone = nullptr;
  EXPECT_EQ(ncclCommInitRank(&alone, 2, id, 0), ncclInvalidUsage);
  EXPECT_EQ(ncclCommDestroy(alone), ncclSuccess);
}

// Another process that holds rank 1, played by a function.
TEST_F(NcclTest, RanksOfOtherProcessesSendWhatTheyHave) {
  set_collective_exchange([](const std::vector<std::byte>& mine) {
    std::vector<float> values(mine.size() / sizeof(float));
    std::memcpy(values.data(), mine.data(), mine.size());
    std::vector<std::byte> all = mine;
    for (float& value : values) value *= 10;
    const auto* bytes = reinterpret_cast<const std::byte*>(values.data());
    all.insert(all.end(), bytes, bytes + mine.size());
    return all;
  });
  ncclUniqueId id{};
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  communicators_.resize(1);
  ASSERT_EQ(ncclCommInitRank(&communicators_[0], 2, id, 0), ncclSuccess);
  const auto data = buffers<float>(1, 5, [](int, std::size_t i) { return i; });
  EXPECT_EQ(ncclAllReduce(data[0], data[0], 5, ncclFloat32, ncclSum, communicators_[0], nullptr),
            ncclSuccess);
  EXPECT_EQ(read(data[0], 5), (std::vector<float>{0, 11, 22, 33, 44}));
  set_collective_exchange({});
}

// --- prices ---

TEST(CollectiveCost, LargeOnesCostTheWire) {
  const DeviceSpec h200 = device_spec("h200-sxm"), a100 = device_spec("a100-80-sxm");
  const double size = 8192 * MiB;
  const auto bus = [&](const DeviceSpec& device, Collective what, int ranks, double factor) {
    return size * factor / collective_cost(what, size, ranks, device).seconds();
  };
  // A ring's bus bandwidth does not depend on the ranks.
  for (const int n : {2, 4, 8}) {
    EXPECT_NEAR(bus(a100, Collective::all_reduce, n, 2.0 * (n - 1) / n) / 2.35e11, 1, 0.02) << n;
    EXPECT_NEAR(bus(h200, Collective::all_gather, n, (n - 1.0) / n) / 3.67e11, 1, 0.02) << n;
    EXPECT_NEAR(bus(h200, Collective::broadcast, n, 1) / 3.67e11, 1, 0.02) << n;
  }
  EXPECT_NEAR(bus(h200, Collective::all_reduce, 8, 1.75) / 4.75e11, 1, 0.02);
  EXPECT_EQ(collective_cost(Collective::all_reduce, size, 8, h200).algorithm, "NVLS");
  EXPECT_EQ(collective_cost(Collective::all_reduce, size, 2, h200).algorithm, "ring Simple");
}

TEST(CollectiveCost, BeyondANodeTheNetworkIsTheWire) {
  const DeviceSpec a100 = device_spec("a100-80-sxm");
  const double size = 8192 * MiB;
  const CollectiveCost cost = collective_cost(Collective::all_gather, size, 16, a100);
  EXPECT_EQ(cost.bound(), "network");
  EXPECT_NEAR(size * 15 / 16 / cost.seconds() / (8 * 2.35e10), 1, 0.02);
  EXPECT_EQ(collective_cost(Collective::all_gather, size, 8, a100).bound(), "link");
  // Two ranks on two nodes have two ways to the network, sixteen have sixteen.
  EXPECT_GT(collective_cost(Collective::all_reduce, 8, 16, a100).seconds(),
            collective_cost(Collective::all_reduce, 8, 8, a100).seconds());
}

// NVIDIA/nccl-tests issue 130: of an all-to-all over N nodes the bus bandwidth is N / (N - 1) times
// what a GPU has of the network.
TEST(CollectiveCost, AnAllToAllLeavesANodeByEachRanksOwnWay) {
  const DeviceSpec h200 = device_spec("h200-sxm");
  const double size = 8192 * MiB, network = h200["network_bytes_per_second"];
  const auto bus = [&](int ranks) {
    const CollectiveCost cost = collective_cost(Collective::all_to_all, size, ranks, h200);
    return size * (ranks - 1) / ranks / cost.seconds();
  };
  EXPECT_NEAR(bus(8) / h200["nvlink_ring_bytes_per_second"], 1, 0.02);
  EXPECT_NEAR(bus(16) / (2 * network), 15.0 / 16, 0.02);
  EXPECT_NEAR(bus(1024) / network, 1, 0.02);
}

TEST(CollectiveCost, NeverFallsWithTheSize) {
  const DeviceSpec h200 = device_spec("h200-sxm");
  for (const auto what : {Collective::all_reduce, Collective::reduce_scatter,
                          Collective::all_gather, Collective::broadcast, Collective::all_to_all}) {
    for (const int ranks : {2, 3, 4, 8, 16, 24, 64, 1024}) {
      double before = 0;
      for (double bytes = 8; bytes <= 8192 * MiB; bytes *= 2) {
        const double seconds = collective_cost(what, bytes, ranks, h200).seconds();
        EXPECT_TRUE(std::isfinite(seconds) && seconds > 0);
        EXPECT_GE(seconds, 0.97 * before) << ranks << ' ' << bytes;
        before = seconds;
      }
    }
  }
}

}  // namespace
}  // namespace gpubench::model
