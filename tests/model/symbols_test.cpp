// The names of kernels.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <string>

#include "harness/platform/model/launch/symbols.hpp"
#include "tests/model/fake_executor.hpp"

namespace gpubench::model {
namespace {

[[maybe_unused]] __global__ void tiny() {}
template <class T>
__global__ void increment(T* value) {
  ++*value;
}

TEST(Symbols, NamesStaticAndTemplatedKernels) {
  EXPECT_STREQ(readable_name(address(tiny)), "gpubench::model::(anonymous namespace)::tiny");
  EXPECT_STREQ(readable_name(address(increment<int>)),
               "gpubench::model::(anonymous namespace)::increment<int>");
  EXPECT_NE(std::string(linker_name(address(tiny))).find("4tinyEv"), std::string::npos);
  EXPECT_STREQ(linker_name(nullptr), "");
}

}  // namespace
}  // namespace gpubench::model
