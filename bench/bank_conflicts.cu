// bank_conflicts: when do lanes queue for shared memory?
//
// Expected  A request for 4-byte words takes gcd(stride, 32) wavefronts: odd strides are free, and
//           stride 32 is 32 times slower. One word for all lanes takes one wavefront. 8-byte
//           accesses are served by half-warps, 16-byte ones by quarter-warps, or by twice as many
//           lanes if all want the same bytes. A transpose that reads the columns of a plain tile
//           has conflicts. A padding word per row or a swizzle makes it as fast as a copy. A
//           reduction that adds neighbours first doubles its stride at every level; adding the
//           upper half to the lower has no conflicts.
// Units     stride [elements], bytes [per lane and access], lanes [that share a word]. Useful bytes
//           are read from shared memory (`strided`, `broadcast`) or global memory.
// Confirm   ncu --metrics l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum, over
//           smsp__inst_executed_op_shared_ld.sum
#include "harness/bench/bench.hpp"
#include "kernels/bank_conflicts.cuh"

namespace {

using namespace bank_conflicts;
using gpubench::type;

constexpr unsigned blocks = 16384, sums = 1 << 18, edge = 8192;  // of the matrix

template <class Vector>
void read_by(Bench& bench, Pattern pattern) {
  constexpr unsigned words = sizeof(Vector) / sizeof(float);
  const unsigned degree = wavefronts(sizeof(Vector), pattern.stride, warp / pattern.sharing);
  const double units = 1 / bench.device().find("global_requests_per_clock_per_sm").value_or(1);
  const auto in = bench.input<float>(std::size_t{tile_elements} * words);
  const auto out = bench.output<float>(std::size_t{blocks} * threads);
  bench.verify(out, ExpectedRead{in.values(), words, pattern});
  if (words > 1) bench.note("rule", "unconfirmed");
  bench.work({.useful_bytes = static_cast<double>(out.size()) * bytes_a_thread,
              .access = RowAccess::shared_load,
              .law = law_of_roof("shared", words / read_cycles(words, pattern, units)),
              .law_tolerance = words > 1 && pattern.stride == 0 ? 0.2 : 0.1,  // short: launch shows
              .law_per_request = static_cast<double>(degree),
              .measures = fills_banks(words, pattern, units) ? "shared" : ""});
  bench.run([&](cudaStream_t s) {
    launch(read<Vector>, blocks, threads, 0, s, reinterpret_cast<const Vector*>(in.data()),
           out.data(), pattern);
  });
}

void strided(Bench& bench) {
  gpubench::with_float_vector(bench.arg("bytes"), [&](auto vector) {
    read_by<decltype(vector)>(bench, {.stride = bench.arg<unsigned>("stride"), .sharing = 1});
  });
}
GPU_BENCHMARK(bank_conflicts, strided)
    ->ArgNames({"bytes [per lane]", "stride [elements]"})
    ->ArgsProduct({{4}, {1, 2, 4, 16, 33, 32}})
    ->Rest(Suite::standard)
    ->ArgsProduct({{8, 16}, {1, 2, 4}})
    ->Rest(Suite::full)
    ->ArgsProduct({{4, 8, 16}, gpubench::dense_range(0, 33)});

void broadcast(Bench& bench) {
  read_by<float>(bench, {bench.arg<unsigned>("stride"), bench.arg<unsigned>("lanes")});
}
GPU_BENCHMARK(bank_conflicts, broadcast)
    ->ArgNames({"stride [elements]", "lanes [sharing a word]"})
    ->ArgsProduct({{32}, {1, 32}})
    ->Rest(Suite::full)
    ->ArgsProduct({{32, 1}, {1, 2, 4, 8, 16, 32}});

template <class Layout, bool turned = true>
void through_tile(Bench& bench) {
  constexpr std::size_t words = std::size_t{edge} * edge;
  const auto in = bench.input<float>(words);
  const auto out = bench.output<float>(words);
  bench.verify(out, expected_through_tile<turned>(in.values(), edge, edge));
  const unsigned degree = wavefronts(4, turned ? Layout::column_stride : 1);
  // A row of 32 words passes the banks twice, once without conflict.
  bench.work({.useful_bytes = 2.0 * words * sizeof(float),
              .access = RowAccess::shared_load,
              .law = law_of_lowest({{"dram", 1}, {"shared", 2.0 / (1 + degree)}}),
              .law_tolerance = 0.4,
              .law_per_request = static_cast<double>(degree)});
  const dim3 grid(edge / side, edge / side), block(side, rows_at_once);
  bench.run([&](cudaStream_t s) {
    launch(transpose_by_tile<Layout, turned>, grid, block, 0, s, in.data(), out.data(), edge, edge);
  });
}
GPU_BENCHMARK_BY(bank_conflicts, transpose)
    ->Functions("layout", {{"none", through_tile<Plain>},
                           {"padded", through_tile<Padded>},
                           {"swizzled", through_tile<Swizzled>},
                           {"copy", through_tile<Plain, false>}});

template <class Order>
void reduce_in(Bench& bench) {
  constexpr Cost cost = cost_of_a_sum<Order>();
  constexpr std::size_t n = std::size_t{sums} * threads;
  const auto in = bench.input<float>(n);
  const auto out = bench.output<float>(sums);
  bench.verify(out, ExpectedSum{in.values(), n});
  bench.work({.useful_bytes = n * sizeof(float),
              .access = RowAccess::shared_load,
              .law = law_of_lowest({{"dram", 1}, {"shared", cost.words_a_wavefront() / banks}}),
              .law_tolerance = 0.4,
              .law_per_request = cost.wavefronts_a_load()});
  bench.run([&](cudaStream_t s) {
    launch(reduce<Order>, sums / sums_a_block, threads, 0, s, in.data(), out.data(), n);
  });
}
GPU_BENCHMARK_OF_TYPE(bank_conflicts, reduction, reduce_in<T>)
    ->Axis("addressing", type<Interleaved>("interleaved"), type<Sequential>("sequential"));

}  // namespace
