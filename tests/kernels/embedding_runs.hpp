#pragma once

#include "kernels/embedding.cuh"
#include "tests/kernels/kernel_test.hpp"

namespace gpubench {

class EmbeddingRuns : public KernelTest {
 protected:
  template <class Indices>
  void bags_of(Indices which, std::size_t bags, unsigned vectors) {
    using namespace embedding;
    SCOPED_TRACE(testing::Message() << bags << " bags of rows of " << vectors << " vectors");
    const std::size_t words = vectors * 4;
    const auto table = input<float>(which.rows * words);
    const DeviceBuffer<unsigned> indices(bags * pool);
    fill_random(indices.data(), indices.size(), which);
    const auto out = output<float>(bags * words);
    launch(bag, static_cast<unsigned>((bags * vectors + threads - 1) / threads), threads, 0,
           nullptr, reinterpret_cast<const float4*>(table.data()), indices.data(),
           reinterpret_cast<float4*>(out.data()), vectors, bags);
    expect_elements(out, ExpectedBag<Generator<float>, Indices>{values<float>, which, words});
  }
};

}  // namespace gpubench
