// The rows of bank_conflicts: what they read, check and promise.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <optional>

#include "harness/bench/bench.hpp"
#include "kernels/bank_conflicts.cuh"

namespace bank_conflicts::rows {

inline constexpr unsigned blocks = 16384, sums = 1 << 18, edge = 8192;  // of the matrix
inline constexpr unsigned writing_blocks = 65536, adding_blocks = 8192;

// The cycles that the load/store units need for a request (see read_cycles()).
inline double units_cycles(const Bench& bench) {
  return 1 / bench.device().find("global_requests_per_clock_per_sm").value_or(1);
}
// The cycles of a request of `degree` wavefronts.
inline double cycles(const Bench& bench, unsigned degree) {
  return std::max<double>(degree, units_cycles(bench));
}

template <class Vector>
void read_by(Bench& bench, Pattern pattern) {
  constexpr unsigned words = sizeof(Vector) / sizeof(float);
  const unsigned degree = wavefronts(sizeof(Vector), pattern.stride, warp / pattern.sharing);
  const double units = units_cycles(bench);
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

inline void strided(Bench& bench) {
  gpubench::with_float_vector(bench.arg("bytes"), [&](auto vector) {
    read_by<decltype(vector)>(bench, {.stride = bench.arg<unsigned>("stride"), .sharing = 1});
  });
}

inline void broadcast(Bench& bench) {
  read_by<float>(bench, {bench.arg<unsigned>("stride"), bench.arg<unsigned>("lanes")});
}

template <class Narrow>
void read_narrow_by(Bench& bench) {
  const auto stride = bench.arg<unsigned>("stride");
  const unsigned degree = narrow_wavefronts(sizeof(Narrow) * stride);
  const auto in = bench.input<unsigned>(narrow_bytes / sizeof(unsigned));
  const auto out = bench.output<unsigned>(std::size_t{blocks} * threads);
  bench.verify(out, ExpectedNarrow<decltype(in.values())>{in.values(), sizeof(Narrow), stride});
  const double share = 1.0 * sizeof(Narrow) / sizeof(float) / cycles(bench, degree);
  bench.work({.useful_bytes = static_cast<double>(out.size()) * narrow_loads * sizeof(Narrow),
              .access = RowAccess::shared_load,
              .law = law_of_roof("shared", share),
              .law_per_request = static_cast<double>(degree)});
  bench.run([&](cudaStream_t s) {
    launch(read_narrow<Narrow>, blocks, threads, 0, s, reinterpret_cast<const Narrow*>(in.data()),
           out.data(), stride);
  });
}

inline void narrow(Bench& bench) {
  return bench.arg("bytes") == 1 ? read_narrow_by<std::uint8_t>(bench)
                                 : read_narrow_by<std::uint16_t>(bench);
}

inline void store(Bench& bench) {
  gpubench::with_float_vector(bench.arg("bytes"), [&](auto vector) {
    using Vector = decltype(vector);
    const auto stride = bench.arg<unsigned>("stride");
    const unsigned degree = wavefronts(sizeof(Vector), stride), words = sizeof(Vector) / 4;
    const auto out = bench.output<float>(std::size_t{writing_blocks} * writers);
    bench.verify(out, ExpectedLast{words});
    if (words > 1) bench.note("rule", "unconfirmed");
    bench.work({.useful_bytes = static_cast<double>(out.size()) * bytes_a_thread,
                .access = RowAccess::shared_store,
                .law = law_of_roof("shared", words / cycles(bench, degree)),
                .law_per_request = static_cast<double>(degree)});
    bench.run([&](cudaStream_t s) {
      launch(write<Vector>, writing_blocks, writers, 0, s, out.data(), stride);
    });
  });
}

inline void atomic(Bench& bench) {
  const auto stride = bench.arg<unsigned>("stride");
  if (stride == 0 && bench.modelled()) {
    bench.skip("no device file says how long additions to one word of shared memory take");
  }
  const unsigned degree = wavefronts(4, stride);
  const auto out = bench.output<unsigned>(std::size_t{adding_blocks} * threads);
  bench.verify(out, ExpectedTotals{stride});
  bench.note("rule", "unconfirmed");
  const bool queues = stride > 0;  // at the banks; else at one word
  bench.work({.useful_bytes = static_cast<double>(out.size()) * additions * sizeof(unsigned),
              .access = RowAccess::shared_atomic,
              .law = queues ? law_of_roof("shared", 1 / cycles(bench, degree)) : Law(),
              .law_per_request = queues ? degree : 0.0});
  bench.run([&](cudaStream_t s) { launch(add, adding_blocks, threads, 0, s, out.data(), stride); });
}

template <class Rows>
void matrices_of(Bench& bench) {
  constexpr unsigned degree = matrix_wavefronts<Rows>();
  const auto in = bench.input<unsigned>(matrix_rows * banks);
  const auto out = bench.output<unsigned>(std::size_t{adding_blocks} * threads);
  bench.verify(out, ExpectedMatrices<decltype(in.values())>{in.values()});
  bench.work({.useful_bytes = static_cast<double>(out.size()) * matrix_loads * sizeof(uint4),
              .access = RowAccess::shared_load,
              .law = law_of_roof("shared", 4.0 / degree),
              .law_per_request = degree});
  bench.run([&](cudaStream_t s) {
    launch(read_matrices<Rows>, adding_blocks, threads, 0, s,
           reinterpret_cast<const uint4*>(in.data()), out.data());
  });
}

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

// Bytes per second of blocks that do nothing but wait (Little's law): for the words that they sum,
// at each level for the reads of all sums, which follow each other because they are volatile, and
// until the next block has come. Nothing where the device file does not say.
inline std::optional<double> waiting_rate(const Bench& bench, unsigned resident_blocks) {
  const auto& device = bench.device();
  const auto latency = device.find("dram_latency_cycles"), clock = device.find("sm_clock_hz"),
             sms = device.find("sm_count"), shared = device.find("shared_latency_cycles");
  if (!latency || !clock || !sms || !shared) return {};
  constexpr double levels = std::bit_width(threads) - 1, block_bytes = sums_a_block * threads * 4.0;
  const double turn = *latency + levels * sums_a_block * *shared +
                      device.find("block_turnaround_cycles").value_or(0);
  return *sms * resident_blocks * block_bytes * *clock / turn;
}

template <class Order>
void reduce_in(Bench& bench) {
  constexpr Cost cost = cost_of_a_sum<Order>();
  constexpr std::size_t n = std::size_t{sums} * threads;
  const auto in = bench.input<float>(n);
  const auto out = bench.output<float>(sums);
  bench.verify(out, ExpectedSum{in.values(), n});
  const double waiting = waiting_rate(bench, gpubench::residency(reduce<Order>, threads, 0).blocks)
                             .value_or(std::numeric_limits<double>::infinity());
  const Law busy = law_of_lowest({{"dram", 1}, {"shared", cost.words_a_wavefront() / banks}});
  bench.work({.useful_bytes = n * sizeof(float),
              .access = RowAccess::shared_load,
              .law = [=](const Roofs& roofs) { return std::min(busy(roofs), waiting); },
              .law_tolerance = 0.4,
              .law_per_request = cost.wavefronts_a_load()});
  bench.run([&](cudaStream_t s) {
    launch(reduce<Order>, sums / sums_a_block, threads, 0, s, in.data(), out.data(), n);
  });
}

}  // namespace bank_conflicts::rows
