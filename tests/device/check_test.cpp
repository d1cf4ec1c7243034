// What says whether a kernel's results are right: it has to find what is wrong, on every device.
#include <cuda_bf16.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/kernels/kernel_test.hpp"

namespace gpubench {
namespace {

class CheckOnDevice : public KernelTest {
 protected:
  // What is said of `n` right elements of which number `at` is replaced by `wrong`.
  template <class T>
  static std::string after_writing(std::size_t n, std::size_t at, T wrong, double relative = 0) {
    const auto buffer = input<T>(n);
    std::vector<T> host = buffer.download();
    for (std::size_t i = 0; i < n; ++i) {
      EXPECT_TRUE(is_right(host[i], values<T>(i), 0, 0)) << "the fill of element " << i;
    }
    host[at] = wrong;
    buffer.upload(host);
    return check_elements(buffer.data(), n, values<T>, relative, 0.0, false);
  }
};

TEST_F(CheckOnDevice, WhatIsRightPasses) {
  for (const unsigned n : ragged_sizes) {
    EXPECT_EQ(after_writing(n, n / 2, values<float>(n / 2)), "");
    EXPECT_EQ(after_writing(n, n / 2, values<std::uint32_t>(n / 2)), "");
    EXPECT_EQ(after_writing(n, n / 2, values<__nv_bfloat16>(n / 2)), "");
  }
}

TEST_F(CheckOnDevice, TheFirstWrongElementIsNamed) {
  for (const std::size_t at : {0u, 31u, 500u, 1020u}) {
    const std::string name = "element " + std::to_string(at) + " is ";
    EXPECT_EQ(after_writing(1021, at, values<float>(at) + 2).find(name), 0u) << at;
    EXPECT_EQ(after_writing(1021, at, std::nanf("")).find(name), 0u) << at;
    EXPECT_EQ(after_writing(1021, at, ~values<std::uint32_t>(at)).find(name), 0u) << at;
    EXPECT_EQ(after_writing(1021, at, __nv_bfloat16(2.0f)).find(name), 0u) << at;
  }
}

TEST_F(CheckOnDevice, ToleranceIsRelativeToWhatIsExpected) {
  std::size_t at = 0;
  while (std::abs(values<float>(at)) < 0.25f) ++at;
  const float off = values<float>(at) * (1 + 0x1p-10f);
  EXPECT_EQ(after_writing(1021, at, off, 0x1p-9), "");
  EXPECT_NE(after_writing(1021, at, off, 0x1p-11), "");
}

TEST_F(CheckOnDevice, WhatNobodyWroteIsWrong) {
  EXPECT_NE(check_elements(output<float>(61).data(), 61, values<float>, 0.0, 0.0, false), "");
}

}  // namespace
}  // namespace gpubench
