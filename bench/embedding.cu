// embedding: what does looking up one row of a table cost?
//
// Expected  If all table rows are equally likely and the table is larger than L2, a lookup costs
//           every DRAM fetch that it touches, in full. Suppose that a fetch is 64 bytes and table
//           rows start at multiples of 64. Then a table row of 64 bytes or more wastes nothing, one
//           of 32 bytes wastes half, and one of 96 bytes wastes a quarter. A table inside L2 is
//           read at L2's bandwidth, for any row size. Of a larger one, L2 holds the share of the
//           rows that fits. Popular rows (Zipf) are fetched once and then found in L2. The law
//           assumes that L2 keeps every row that is requested again, so DRAM delivers each distinct
//           row once. (The model estimates how popular rows are from the few blocks that it runs,
//           and comes within a quarter of this law.) Popular rows of a table inside L2 come mostly
//           from L1, so they have no law.
// Units     table [bytes], row [bytes]. Useful bytes are 2^28 bytes of table rows; eight table rows
//           are added to make one result. law_per_request covers both loads, of the index and of
//           the table row.
// Confirm   ncu --metrics l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio
#include <algorithm>
#include <bit>
#include <type_traits>

#include "harness/bench/bench.hpp"
#include "kernels/embedding.cuh"

namespace {

using namespace embedding;

constexpr std::size_t gathered = std::size_t{1} << 28;

template <class Indices>
void look_up(Bench& bench) {
  const auto row = static_cast<std::uint64_t>(bench.arg("row"));
  const Indices which{static_cast<std::uint64_t>(bench.arg("table")) / row};
  const std::size_t bags = gathered / row / pool, words = row / sizeof(float);
  const auto vectors = static_cast<unsigned>(row / vector_bytes);
  const auto table = bench.input<float>(which.rows * words);
  const auto indices = bench.input<unsigned>(bags * pool, which);
  const auto out = bench.output<float>(bags * words);
  bench.verify(out, ExpectedBag<decltype(table.values()), Indices>{table.values(), which, words});

  const auto draws = static_cast<double>(bags * pool), bytes = draws * static_cast<double>(row);
  const bool is_uniform = std::is_same_v<Indices, Uniform>;
  const auto table_bytes = static_cast<double>(table.size() * sizeof(float));
  const double l2_bytes = bench.device().find("l2_bytes").value_or(0);
  const bool is_beyond = table_bytes > l2_bytes;
  const auto fetch = bench.device().find("dram_fetch_bytes");
  Law law;
  if (fetch && (is_uniform || is_beyond)) {
    const double of_row = fetched_bytes(row, static_cast<std::uint64_t>(*fetch));
    const double others = draws * sizeof(unsigned) + bytes / pool;  // indices in, bags out
    // Each jump to another row costs device memory the time of so many bytes.
    const double jump = bench.device().find("dram_jump_bytes").value_or(0);
    // A row that comes again is in L2 at best as often as L2 holds rows, if all are as likely. Each
    // partition of L2 also keeps copies of the others' rows.
    const double partitions = bench.device().find("l2_partitions").value_or(1);
    const double kept = is_uniform ? std::min(1.0, l2_bytes / partitions / table_bytes) : 1;
    const double once = distinct_rows(which, draws);
    const double from_dram = (once + (draws - once) * (1 - kept)) * (of_row + jump) + others;
    law = [=](const Roofs& roofs) {
      return bytes / std::max(from_dram / roofs.at("dram"), (bytes + others) / roofs.at("l2"));
    };
  }
  bench.scattered_over(bench.arg<double>("table"));
  bench.work({.useful_bytes = bytes,
              .law = law,
              .law_tolerance = 0.25,
              .law_per_request = is_uniform && is_beyond && std::has_single_bit(row)
                                     ? sectors_a_request(static_cast<double>(row))
                                     : 0});
  const auto blocks = static_cast<unsigned>((bags * vectors + threads - 1) / threads);
  bench.run([&](cudaStream_t s) {
    launch(embedding::bag, blocks, threads, 0, s, reinterpret_cast<const float4*>(table.data()),
           indices.data(), reinterpret_cast<float4*>(out.data()), vectors, bags);
  });
}

constexpr std::int64_t inside = 16 << 20, beyond = std::int64_t{8} << 30;  // of L2
GPU_BENCHMARK_AS(embedding, uniform, look_up<Uniform>)
    ->ArgNames({"table [bytes]", "row [bytes]"})
    ->ArgsProduct({{beyond}, {64, 32, 96, 256, 4096}})
    ->Rest(Suite::standard)
    ->ArgsProduct({{inside}, {64, 4096}})
    ->Rest(Suite::full)
    ->ArgsProduct({{beyond}, {128, 512, 1024, 2048, 160}})
    ->ArgsProduct({{inside}, {128, 256, 512, 1024, 2048}})
    ->Takes("table", {1 << 20, std::int64_t{32} << 30, 1 << 20})
    ->Takes("row", {64, 4096, 32});
GPU_BENCHMARK_AS(embedding, zipf, look_up<Zipf>)
    ->ArgNames({"table [bytes]", "row [bytes]"})
    ->ArgsProduct({{beyond}, {64, 256, 4096}})
    ->Rest(Suite::full)
    ->ArgsProduct({{beyond, inside}, {64, 128, 256, 512, 1024, 2048, 4096}})
    ->Takes("table", {1 << 20, std::int64_t{32} << 30, 1 << 20})
    ->Takes("row", {64, 4096, 32});

}  // namespace
