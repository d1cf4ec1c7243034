#pragma once

#include "harness/contents/element_check.hpp"
#include "kernels/gemm_batch.cuh"
#include "tests/kernels/kernel_test.hpp"

namespace gpubench {

class GemmBatchRuns : public KernelTest {
 protected:
  using Bf16 = __nv_bfloat16;

 private:
  // Before its uses, which deduce what it returns.
  static auto expected(const gemm_batch::Split& split, gemm_batch::Layer layer) {
    return gemm_batch::ExpectedOfExperts<Generator<Bf16>, Unrounded>{values<Bf16>, values<Bf16>,
                                                                     split, layer.n, layer.k};
  }

 protected:
  template <unsigned columns>
  void bf16_gemv(unsigned n, unsigned k) {
    using namespace gemm_batch;
    SCOPED_TRACE(testing::Message() << columns << " x " << n << " x " << k);
    const auto weights = input<Bf16>(std::size_t{n} * k), x = input<Bf16>(std::size_t{columns} * k);
    const auto y = output<Bf16>(std::size_t{columns} * n);
    launch(gemv<Bf16Weights, columns>, dim3(1, row_blocks(n)), threads, 0, nullptr,
           Bf16Weights{weights.data()}, x.data(), y.data(), n, k);
    const Split one_layer{1, columns, true};
    expect_elements(y, expected(one_layer, Layer{n, k}), 0x1p-8, 1e-4);
  }

  template <unsigned columns>
  void int4_gemv(unsigned n, unsigned k) {
    using namespace gemm_batch;
    SCOPED_TRACE(testing::Message() << columns << " x " << n << " x " << k << " of four bits");
    const Scales of_groups{3};
    const auto words = input<std::uint32_t>(std::size_t{n} * k / word_weights);
    const auto x = input<__half>(std::size_t{columns} * k);
    const DeviceBuffer<__half> scales(std::size_t{n} * k / group);
    fill_random(scales.data(), scales.size(), of_groups);
    const auto y = output<__half>(std::size_t{columns} * n);
    launch(gemv<Int4Weights, columns>, dim3(1, row_blocks(n)), threads, 0, nullptr,
           Int4Weights{reinterpret_cast<const uint4*>(words.data()), scales.data()}, x.data(),
           y.data(), n, k);
    using Expected = ExpectedInt4<Generator<__half>, Generator<std::uint32_t>, Unrounded>;
    expect_elements(y, Expected{values<__half>, values<std::uint32_t>, of_groups, n, k}, 0x1p-11,
                    int4_tolerance(k));
  }

  template <unsigned columns>
  void experts(const gemm_batch::Split& split, gemm_batch::Layer layer) {
    using namespace gemm_batch;
    SCOPED_TRACE(testing::Message() << split.experts << " experts, " << split.m << " tokens");
    const std::size_t weights_each = std::size_t{layer.n} * layer.k;
    const auto weights = input<Bf16>(split.experts * weights_each);
    const auto x = input<Bf16>(std::size_t{split.tokens()} * layer.k);
    const auto y = output<Bf16>(std::size_t{split.tokens()} * layer.n);
    const DeviceBuffer<unsigned> first_token(split.experts + 1);
    fill_random(first_token.data(), first_token.size(), split);
    launch(grouped<Bf16Weights, columns>, dim3(split.experts, row_blocks(layer.n)), threads, 0,
           nullptr, Bf16Weights{weights.data()}, x.data(), y.data(), first_token.data(), layer.n,
           layer.k);
    expect_elements(y, expected(split, layer), 0x1p-8, 1e-4);
  }
};

}  // namespace gpubench
