#pragma once

#include "kernels/async_copy.cuh"
#include "tests/kernels/kernel_test.hpp"

namespace gpubench {

class AsyncCopyRuns : public KernelTest {
 protected:
  static constexpr unsigned blocks = 2;

  template <class... P, class... A>
  void sums_by(void (*kernel)(P...), unsigned vectors, unsigned stages, A... further) {
    using namespace async_copy;
    SCOPED_TRACE(testing::Message() << stages << " stages of " << vectors << " vectors a thread");
    const std::size_t shared = barrier_bytes + stages * vectors * row_bytes;
    if (!has_shared_bytes(shared)) return;
    const auto in = input<float>(blocks * block_bytes / sizeof(float));
    const auto sums = output<float>(blocks * threads);
    launch(kernel, blocks, threads, shared, nullptr, reinterpret_cast<const float4*>(in.data()),
           sums.data(), further...);
    expect_elements(sums, ExpectedSums<Generator<float>>{values<float>, vectors});
  }
};

}  // namespace gpubench
