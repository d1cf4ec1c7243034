#include "harness/cuda/numa.hpp"

#include <cuda_runtime.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "harness/platform/platform.hpp"
#include "harness/system/error.hpp"

namespace gpubench {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(NodeList, IsWrittenAsLinuxWritesIt) {
  EXPECT_THAT(parse_node_list("0"), ElementsAre(0));
  EXPECT_THAT(parse_node_list("0-3"), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(parse_node_list("0-1,4,8-9"), ElementsAre(0, 1, 4, 8, 9));
  for (const char* wrong : {"", "x", "1-", "3-1", "1;2", "0,,1"}) {
    EXPECT_THAT(parse_node_list(wrong), IsEmpty()) << wrong;
  }
}

TEST(NumaNodes, ThereIsOneAtLeast) { EXPECT_FALSE(numa_nodes().empty()); }

TEST(NodeMemory, IsPinnedWhileItLives) {
  const auto platform = open_platform("h200-sxm");
  constexpr std::size_t bytes = 1 << 20;
  void* device = nullptr;
  ASSERT_EQ(cudaMalloc(&device, bytes), cudaSuccess);
  void* where = nullptr;
  {
    const NodeMemory memory(bytes, std::nullopt);
    where = memory.data();
    std::memset(where, 7, bytes);
    EXPECT_EQ(cudaHostRegister(where, 1, cudaHostRegisterDefault),
              cudaErrorHostMemoryAlreadyRegistered);
    EXPECT_EQ(cudaMemcpy(device, where, bytes, cudaMemcpyHostToDevice), cudaSuccess);
  }
  EXPECT_EQ(cudaHostUnregister(where), cudaErrorHostMemoryNotRegistered);
}

TEST(NodeMemory, ANodeThatDoesNotExistIsOneLine) {
  const auto platform = open_platform("h200-sxm");
  EXPECT_THROW(NodeMemory(4096, 1000), UsageError);
}

}  // namespace
}  // namespace gpubench
