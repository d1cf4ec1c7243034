#pragma once

#include "kernels/atomics.cuh"
#include "tests/kernels/kernel_test.hpp"

namespace gpubench {

class AtomicsRuns : public KernelTest {
 protected:
  template <bool privatised>
  void count(unsigned n, unsigned bins, unsigned blocks) {
    using namespace atomics;
    SCOPED_TRACE(testing::Message() << n << " keys, " << bins << " bins");
    const auto keys = input<unsigned>(n);
    const DeviceBuffer<unsigned> found(bins);
    CUDA_CHECK(cudaMemset(found.data(), 0, found.bytes()));
    launch(histogram<privatised>, blocks, threads, 0, nullptr, keys.data(), found.data(), bins, n);
    expect_elements(found, ExpectedCount<Generator<unsigned>>{values<unsigned>, bins, n});
  }
};

}  // namespace gpubench
