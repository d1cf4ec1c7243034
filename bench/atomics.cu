// atomics: what do atomic additions to the same words cost?
//
// Expected  A histogram that counts in shared memory first costs no more than reading the keys:
//           each block updates its own words, and only the block's sums go to global memory. A
//           histogram that counts each key in global memory is limited by the atomic unit of L2. It
//           gets slower the fewer words there are, because additions to one word take turns. No
//           published cost of such a turn was found for these GPUs, so these rows have no law and
//           the model skips them. In shared memory, lanes of a warp that count in the same word do
//           not take turns: from compute capability 8.0 on, an addition of 1 compiles to
//           ATOMS.POPC.INC.32, which adds the number of such lanes at once.
// Units     bins [words of the histogram]; every row counts 2^26 random 4-byte keys.
// Confirm   ncu --metrics lts__t_sectors_op_red.sum,lts__t_requests_srcunit_tex_op_red.sum
#include "harness/bench/bench.hpp"
#include "harness/cuda/stream.hpp"
#include "kernels/atomics.cuh"

namespace {

using namespace atomics;

constexpr std::size_t n = std::size_t{1} << 26;
// Counted again, whole, where the model has executed but some blocks of the timed shape.
constexpr std::size_t few = 8191;

template <bool privatised>
void count_by(Bench& bench) {
  if (!privatised && bench.modelled()) {
    bench.skip("no device file says how long additions to one word take");
  }
  const auto bins = bench.arg<unsigned>("bins");
  const auto keys = bench.input<unsigned>(n);
  const auto counts = bench.output<unsigned>(bins);
  const unsigned stay =
      gpubench::residency(histogram<privatised>, threads, 0).blocks * gpubench::sm_count();
  const auto count = [=](cudaStream_t s, unsigned blocks, unsigned* to, std::size_t how_many) {
    CUDA_CHECK(cudaMemsetAsync(to, 0, bins * sizeof(unsigned), s));
    launch(histogram<privatised>, blocks, threads, 0, s, keys.data(), to, bins, how_many);
  };
  bench.check([=](bool only_written) {
    const auto expected = [&](std::size_t how_many) {
      return ExpectedCount<decltype(keys.values())>{keys.values(), bins, how_many};
    };
    if (!only_written) {
      return gpubench::check_elements(counts.data(), bins, expected(n), 0, 0, false);
    }
    const gpubench::DeviceBuffer<unsigned> of_few(bins);
    const gpubench::Stream s;
    count(s, 7, of_few.data(), few);
    s.synchronize();
    return gpubench::check_elements(of_few.data(), bins, expected(few), 0, 0, false);
  });
  gpubench::Law law;
  const double floor = bench.device().find("kernel_floor_seconds").value_or(0);
  if (privatised) law = gpubench::law_after_start(law_of_roof("dram"), n * sizeof(unsigned), floor);
  bench.work({.useful_bytes = n * sizeof(unsigned), .law = law, .law_tolerance = 0.25});
  bench.run([&](cudaStream_t s) { count(s, stay, counts, n); });
}

void histogram(Bench& bench) {
  return bench.axis("by") == "global" ? count_by<false>(bench) : count_by<true>(bench);
}
GPU_BENCHMARK(atomics, histogram)
    ->Axis("by", {"global"})
    ->ArgName("bins [words]")
    ->Args({1})
    ->Args({1024});
GPU_BENCHMARK(atomics, histogram)
    ->Axis("by", {"privatised"})
    ->ArgName("bins [words]")
    ->Args({1024});
GPU_BENCHMARK(atomics, histogram)
    ->Axis("by", {"global", "privatised"})
    ->ArgName("bins [words]")
    ->In(Suite::full)
    ->ArgsProduct({{2, 4, 8, 16, 32, 64, 128, 256, 512}});
GPU_BENCHMARK(atomics, histogram)
    ->Axis("by", {"privatised"})
    ->ArgName("bins [words]")
    ->In(Suite::full)
    ->Args({1});

}  // namespace
