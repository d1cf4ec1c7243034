#include "harness/evidence/cupti.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace gpubench {
namespace {

using Names = std::vector<std::string>;

// A call of the driver's while somebody may listen.
void call(const char* function, const char* symbol) {
  static void* const library = dlopen(FAKE_CUPTI_PATH, RTLD_NOW);
  const auto make =
      reinterpret_cast<void (*)(const char*, const char*)>(dlsym(library, "fake_cupti_call"));
  ASSERT_NE(make, nullptr);
  make(function, symbol);
}

TEST(LaunchedKernels, EachLaunchOnceAndNothingElse) {
  const Names names = launched_kernels(
      [] {
        call("cuMemcpyHtoDAsync_v2", nullptr);
        call("cuLaunchKernel", "first");
        call("cuLaunchKernelEx", "second");
        call("cuModuleGetFunction", "third");
        call("cuLaunchHostFunc", nullptr);
      },
      FAKE_CUPTI_PATH);
  EXPECT_EQ(names, (Names{"first", "second"}));
}

TEST(LaunchedKernels, NobodyListensAfterwards) {
  static_cast<void>(launched_kernels([] {}, FAKE_CUPTI_PATH));
  call("cuLaunchKernel", "late");
  EXPECT_THROW(launched_kernels([] { throw std::runtime_error("broken"); }, FAKE_CUPTI_PATH),
               std::runtime_error);
  const Names names = launched_kernels([] { call("cuLaunchKernel", "own"); }, FAKE_CUPTI_PATH);
  EXPECT_EQ(names, Names{"own"});
}

TEST(LaunchedKernels, WhereAnotherProfilerListensNobodyKnows) {
  Names inner{"untouched"};
  const Names outer = launched_kernels(
      [&] {
        inner = launched_kernels([] { call("cuLaunchKernel", "inner"); }, FAKE_CUPTI_PATH);
        call("cuLaunchKernel", "outer");
      },
      FAKE_CUPTI_PATH);
  EXPECT_EQ(inner, Names{});
  EXPECT_EQ(outer, Names{"outer"});
}

TEST(LaunchedKernels, WithoutTheLibraryNobodyKnows) {
  EXPECT_EQ(launched_kernels([] {}, "libcupti-of-nobody.so"), Names{});
  EXPECT_EQ(launched_kernels([] {}, FAKE_NVML_PATH), Names{});  // a library, but not CUPTI
}

}  // namespace
}  // namespace gpubench
