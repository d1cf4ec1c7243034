// transpose: what does a transpose cost, and what does a tile save?
//
// Expected  A transpose moves as many bytes as a copy. But a warp that reads a row must write a
//           column, or the other way round: without a tile, one side touches 32 sectors per request
//           and uses one word of each. The warps of the neighbouring lines find the other words of
//           a sector in L2, so DRAM moves each byte once. But each word moves between L1 and L2 in
//           a sector of its own, so L2 limits the row. On an H100, a sector that is read alone
//           costs L2 as much time as 64 bytes, and one written in part as much as 184: at most 8
//           useful bytes in 68 (reads) or 188 (writes) for 4-byte words, 4 in 66 or 186 for 2-byte
//           ones. L1 needs 32 wavefronts for a scattered read, and may be slower still. A sector
//           that is written in part is first read, so scattered writes also move half as many bytes
//           again in DRAM. A tile in shared memory makes rows of both sides, and is as fast as the
//           copy.
// Units     dtype of the words. The matrix has 256 MiB in every row; useful bytes are read once and
//           written once.
// Confirm   ncu --metrics l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio,
//           l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio
#include "kernels/transpose.cuh"

#include <cstdint>

#include "harness/bench/bench.hpp"
#include "kernels/bank_conflicts.cuh"

namespace {

using namespace bank_conflicts;

constexpr unsigned columns = 8192;
template <class Word>
constexpr unsigned rows = (1u << 28) / sizeof(Word) / columns;

template <class Word>
void untiled(Bench& bench) {
  const bool reads = bench.axis("scattered") == "reads";
  const auto kernel = reads ? transpose::untiled<Word, true> : transpose::untiled<Word, false>;
  const auto in = bench.input<Word>(std::size_t{rows<Word>} * columns);
  const auto out = bench.output<Word>(in.size());
  bench.verify(out, ExpectedTransposed{in.values(), rows<Word>, columns});
  const char* const figure = reads ? "l2_fetch_bytes" : "l2_partial_write_bytes";
  const double alone = bench.device().find(figure).value_or(32);  // a sector
  bench.work(
      {.useful_bytes = 2.0 * in.size() * sizeof(Word),
       .access = reads ? RowAccess::global_load : RowAccess::global_store,
       .law = law_of_lowest({{"dram", reads ? 1 : 2.0 / 3},
                             {"l2", transpose::useful_share_of_l2(sizeof(Word), alone)},
                             {"l1", reads ? transpose::useful_share_of_l1(sizeof(Word)) : 1}}),
       .law_tolerance = 0.2,
       .law_per_request = 32});
  bench.run([&](cudaStream_t s) {
    launch(kernel, transpose::untiled_grid(reads, rows<Word>, columns), transpose::threads, 0, s,
           in.data(), out.data(), rows<Word>, columns);
  });
}
GPU_BENCHMARK_OF_TYPE(transpose, untiled, untiled<T>)
    ->Axis("scattered", {"reads", "writes"})
    ->Axis<float, std::int16_t>("dtype");

template <bool turned>
void by_tile(Bench& bench) {
  const auto in = bench.input<float>(std::size_t{rows<float>} * columns);
  const auto out = bench.output<float>(in.size());
  bench.verify(out, expected_through_tile<turned>(in.values(), rows<float>, columns));
  bench.work({.useful_bytes = 2.0 * in.size() * sizeof(float),
              .access = RowAccess::global_store,
              .law = law_of_roof("dram"),
              .law_tolerance = 0.25,  // between load and store, each block waits at a barrier
              .law_per_request = 4});
  bench.run([&](cudaStream_t s) {
    launch(transpose_by_tile<Padded, turned>, dim3(columns / side, rows<float> / side),
           dim3(side, rows_at_once), 0, s, in.data(), out.data(), rows<float>, columns);
  });
}
GPU_BENCHMARK_BY(transpose, by_tile)
    ->Functions("direction", {{"transposed", by_tile<true>}, {"copy", by_tile<false>}});

}  // namespace
