#pragma once

#include "harness/cuda/device.hpp"
#include "kernels/topology.cuh"
#include "tests/kernels/kernel_test.hpp"

namespace gpubench {

class TopologyRuns : public KernelTest {
 protected:
  TopologyRuns() : KernelTest(2) {}

  static int current_device() {
    int device = -1;
    CUDA_CHECK(cudaGetDevice(&device));
    return device;
  }
  void fetch_from_a_peer() {
    using topology::word;
    constexpr std::size_t n = (1 << 20) + 3;
    const int here = current_device(), there = here == 0 ? 1 : 0;
    const auto to = output<word>(n);
    const auto from = [&] {
      const CurrentDevice peer(there);
      return input<word>(n);
    }();
    if (!let_access(here, there)) GTEST_SKIP() << "these GPUs have no way to one another";
    EXPECT_TRUE(let_access(here, there)) << "a second time is no error";
    launch(copy_words::copy, copy_words::blocks(n), copy_words::threads, 0, nullptr, from.data(),
           to.data(), n);
    expect_elements(to, values<word>);
    EXPECT_EQ(current_device(), here) << "asking for a peer leaves the current device alone";
  }
};

}  // namespace gpubench
