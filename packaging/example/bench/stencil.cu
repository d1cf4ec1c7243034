// stencil: how wide can a stencil be before it costs more than a copy?
//
// Expected  As fast as a copy while the caches serve the neighbours, so the law is the DRAM roof.
//           From some radius on, the loads of one word per lane keep L1 busy for longer than DRAM.
// Units     radius [words].
// Confirm   ncu --metrics l1tex__data_pipe_lsu_wavefronts_mem_lg.sum
#include "kernels/stencil.cuh"

#include "harness/bench/bench.hpp"

namespace {

constexpr std::size_t n = std::size_t{1} << 27;  // words

void sum(Bench& bench) {
  gpubench::with_constant<1, 2, 4, 8, 16, 32>(bench.arg("radius"), [&](auto radius) {
    constexpr std::size_t width = 2 * radius + 1;
    const auto in = bench.input<float>(n + width - 1);
    const auto out = bench.output<float>(n);
    bench.verify(out, stencil::Expected{in.values(), width});
    // Through L1 go `width` words for the two useful ones.
    bench.work({.useful_bytes = 2.0 * n * sizeof(float),
                .law = law_of_lowest({{"dram", 1}, {"l1", 2.0 / width}}),
                .law_tolerance = 0.15});
    bench.run([&](cudaStream_t stream) {
      launch(stencil::sum<radius>, n / stencil::words_a_block, stencil::threads, 0, stream,
             in.data(), out.data());
    });
  });
}
GPU_BENCHMARK(stencil, sum)->ArgName("radius [words]")->Range(1, 32);

}  // namespace
