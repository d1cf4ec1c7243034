// What is known of the compiled kernels without a compiler.
#include "harness/platform/model/compiled/compiled.hpp"

#include <gtest/gtest.h>

#include <string>

namespace gpubench::model {
namespace {

TEST(Compiled, ADeviceFindsTheKernelOfItsArchitecture) {
  for (const char* device : {"a100-80-sxm", "h100-sxm", "h200-sxm"}) {
    const auto* kernel = compiled_kernel(device_spec(device), "coalescing::strided_read");
    ASSERT_NE(kernel, nullptr) << device;
    EXPECT_GE(kernel->registers, 8u);
    EXPECT_LE(kernel->registers, 255u);
    EXPECT_EQ(kernel->static_shared_bytes, 8 * sizeof(float));  // a partial sum a warp
  }
  // Equal architectures have equal code.
  EXPECT_EQ(compiled_kernel(device_spec("h100-sxm"), "coalescing::gather"),
            compiled_kernel(device_spec("h200-sxm"), "coalescing::gather"));
  EXPECT_NE(compiled_kernel(device_spec("a100-80-sxm"), "coalescing::gather"),
            compiled_kernel(device_spec("h200-sxm"), "coalescing::gather"));
}

TEST(Compiled, WhatNobodyCompiledIsNotKnown) {
  EXPECT_EQ(compiled_kernel(device_spec("h200-sxm"), "coalescing::no_such_kernel"), nullptr);
  EXPECT_EQ(compiled_kernel(device_spec("h200-sxm"), ""), nullptr);
}

TEST(Compiled, CountsAreExactUnlessTheFileSaysOtherwise) {
  const CompiledKernel merged{.counts = {{"shared load", "ptxas merges 8 into 2"}}};
  EXPECT_EQ(worth_of_counts(merged, RowAccess::shared_load),
            "source stream; ptxas merges 8 into 2");
  EXPECT_EQ(worth_of_counts(merged, RowAccess::shared_store), "exact");
  EXPECT_EQ(worth_of_counts(merged, RowAccess::global_load), "exact");
  EXPECT_EQ(worth_of_counts({}, RowAccess::global_store), "exact");
}

TEST(Compiled, SpillsAreAsManyAsTheLoopsTurns) {
  CompiledKernel kernel;
  kernel.local_traffic_bytes = 1000;
  kernel.local_loop_bytes = 800;
  kernel.multiply_adds = 64;
  // 10 warps pass what is outside once: 50 words; 6400 multiply-adds are 100 turns of 200.
  EXPECT_EQ(kernel.local_words(10, 6400), 10 * 50 + 100 * 200);
  kernel.multiply_adds = 0;
  kernel.local_loop_bytes = 0;
  EXPECT_EQ(kernel.local_words(10, 6400), 10 * 250);
  kernel.has_local_price = false;
  EXPECT_EQ(kernel.local_words(10, 6400), 0);
}

}  // namespace
}  // namespace gpubench::model
