// stream: how close do kernels come to the peak memory bandwidth?
//
// Expected  84 to 90 % of the data sheet's bandwidth (goal on an H200: read 4.4, copy 4.3, triad
//           4.2 TB/s). The best row becomes the DRAM roof of every chart. Little's law decides
//           whether a row reaches it: the bytes in flight per SM (threads x bytes x unroll) must
//           cover latency x bandwidth. So narrow accesses need unrolling, and 16-byte accesses need
//           hardly any. The dtype does not matter.
// Units     bytes [per lane and access], unroll [accesses in flight per thread, of each input].
//           Every array is 256 MiB. Useful bytes count each array once, in the direction it moves.
// Confirm   ncu --metrics dram__throughput.avg.pct_of_peak_sustained_elapsed
#include <cstdint>

#include "harness/bench/bench.hpp"
#include "kernels/stream.cuh"

namespace {

using namespace stream;

constexpr std::size_t array_bytes = std::size_t{256} << 20;

template <class T>
constexpr std::size_t elements = array_bytes / sizeof(T);

// What one block covers, by the row's width of vectors and their number a thread.
struct Blocks {
  explicit Blocks(const Bench& bench)
      : bytes(threads * static_cast<std::size_t>(bench.arg("bytes") * bench.arg("unroll"))),
        count(static_cast<unsigned>(array_bytes / bytes)) {}
  std::size_t bytes;
  unsigned count;
};

template <class T, class Vector, class KernelOf>
auto by_unroll(const Bench& bench, KernelOf kernel_of) {
  switch (bench.arg("unroll")) {
    case 1:
      return kernel_of(Tile<T, Vector, 1>{});
    case 2:
      return kernel_of(Tile<T, Vector, 2>{});
    case 4:
      return kernel_of(Tile<T, Vector, 4>{});
    default:
      return kernel_of(Tile<T, Vector, 8>{});
  }
}

// The row's kernel, of those that `kernel_of` has for tiles of T: all else of a row is the same for
// each of them.
template <class T, class KernelOf>
auto kernel(const Bench& bench, KernelOf kernel_of) {
  const auto bytes = bench.arg("bytes");
  if constexpr (std::is_same_v<T, double>) {
    return bytes == 8 ? by_unroll<T, double>(bench, kernel_of)
                      : by_unroll<T, double2>(bench, kernel_of);
  } else if constexpr (std::is_same_v<T, float>) {
    return bytes == 4   ? by_unroll<T, float>(bench, kernel_of)
           : bytes == 8 ? by_unroll<T, float2>(bench, kernel_of)
                        : by_unroll<T, float4>(bench, kernel_of);
  } else {
    return by_unroll<T, T>(bench, kernel_of);
  }
}

// No FLOPs are told even where there are some: the headline of this concept is bytes per second.
void work(Bench& bench, double arrays) {
  const double bytes = arrays * array_bytes;
  Law law;
  if (bench.arg("bytes") == 16 && bench.arg("unroll") >= 4) {
    law = law_of_roof("dram");
  }
  bench.work({.useful_bytes = bytes,
              .moved_bytes = bytes,
              .law = law,
              .law_tolerance = 0.25,
              .measures = "dram"});
}

template <class T>
void read(Bench& bench) {
  const Blocks blocks(bench);
  const auto chosen = kernel<T>(bench, [](auto tile) { return &stream::read<decltype(tile)>; });
  const auto in = bench.input<T>(elements<T>);
  const auto sums = bench.output<Sum<T>>(blocks.count);
  bench.verify(sums, ExpectedSum{in.values(), blocks.bytes / sizeof(T)});
  work(bench, 1);
  bench.run(
      [&](cudaStream_t s) { launch(chosen, blocks.count, threads, 0, s, in.data(), sums.data()); });
}

template <class T>
void write(Bench& bench) {
  const Blocks blocks(bench);
  const auto chosen = kernel<T>(bench, [](auto tile) { return &stream::write<decltype(tile)>; });
  const auto out = bench.output<T>(elements<T>);
  bench.verify(out, ExpectedWritten<T>{});
  work(bench, 1);
  bench.run([&](cudaStream_t s) { launch(chosen, blocks.count, threads, 0, s, out.data()); });
}

template <class Operation, class T>
void one_to_one(Bench& bench) {
  const Blocks blocks(bench);
  const auto chosen =
      kernel<T>(bench, [](auto tile) { return &stream::one_to_one<Operation, decltype(tile)>; });
  const auto a = bench.input<T>(elements<T>);
  const auto out = bench.output<T>(elements<T>);
  bench.verify(out, ExpectedOfOne<Operation, decltype(a.values())>{a.values()});
  work(bench, 2);
  bench.run(
      [&](cudaStream_t s) { launch(chosen, blocks.count, threads, 0, s, a.data(), out.data()); });
}

template <class Operation, class T>
void two_to_one(Bench& bench) {
  const Blocks blocks(bench);
  const auto chosen =
      kernel<T>(bench, [](auto tile) { return &stream::two_to_one<Operation, decltype(tile)>; });
  const auto a = bench.input<T>(elements<T>);
  const auto b = bench.input<T>(elements<T>);
  const auto out = bench.output<T>(elements<T>);
  bench.verify(out, ExpectedOfTwo<Operation, decltype(a.values())>{a.values(), b.values()});
  work(bench, 3);
  bench.run([&](cudaStream_t s) {
    launch(chosen, blocks.count, threads, 0, s, a.data(), b.data(), out.data());
  });
}

template <class T>
void dot(Bench& bench) {
  const Blocks blocks(bench);
  const auto chosen = kernel<T>(bench, [](auto tile) { return &stream::dot<decltype(tile)>; });
  const auto a = bench.input<T>(elements<T>);
  const auto b = bench.input<T>(elements<T>);
  const auto sums = bench.output<T>(blocks.count);
  using Products = ExpectedOfTwo<Multiplied, decltype(a.values())>;
  // Products are multiples of 2^-20, of which fp32 does not hold sums beyond 16.
  bench.verify(sums, ExpectedSum<Products>{{a.values(), b.values()}, blocks.bytes / sizeof(T)},
               {.absolute = 1e-4});
  work(bench, 2);
  bench.run([&](cudaStream_t s) {
    launch(chosen, blocks.count, threads, 0, s, a.data(), b.data(), sums.data());
  });
}

// The axes of every kernel. Each is in the default suite at its best, in fp32; `swept` ones with
// more of the plane of bytes and unroll. All of it, and the other dtypes, are in the full suite.
void begin(Registration* rows) {
  rows->ArgNames({"bytes [per lane]", "unroll [accesses in flight per thread]"})
      ->Axis("dtype", {"fp32"});
}
void fp64(Registration* rows) {
  rows->Rest(Suite::full)->Axis("dtype", {"fp64"})->ForRoofs({16, 4});
  rows->ArgsProduct({{16, 8}, {4, 1, 2, 8}});
}
void swept(Registration* rows) {
  begin(rows);
  rows->Args({4, 1})->ArgsProduct({{16}, {4, 8}});
  rows->Rest(Suite::full)->ArgsProduct({{8, 4, 16}, {1, 2, 4, 8}});
  fp64(rows);
}
void at_best(Registration* rows) {
  begin(rows);
  rows->Args({16, 4})->Rest(Suite::full)->ArgsProduct({{4, 8, 16}, {1, 2, 4, 8}});
  fp64(rows);
}
void narrow(Registration* rows) {
  for (const std::int64_t bytes : {1, 2}) {
    rows->Rest(Suite::full)->Axis("dtype", {bytes == 1 ? "int8" : "int16"});
    rows->ArgsProduct({{bytes}, {4, 1, 2, 8}});
  }
}

GPU_BENCHMARK_OF_TYPE(stream, read, read<T>)
    ->Axis<float, double, std::int8_t, std::int16_t>("dtype")
    ->Apply(swept)
    ->Apply(narrow);
GPU_BENCHMARK_OF_TYPE(stream, write, write<T>)
    ->Axis<float, double, std::int8_t, std::int16_t>("dtype")
    ->Apply(at_best)
    ->Apply(narrow);
GPU_BENCHMARK_OF_TYPE(stream, copy, one_to_one<Copied, T>)
    ->Axis<float, double, std::int8_t, std::int16_t>("dtype")
    ->Apply(swept)
    ->Apply(narrow);
GPU_BENCHMARK_OF_TYPE(stream, scale, one_to_one<Scaled, T>)
    ->Axis<float, double>("dtype")
    ->Apply(at_best);
GPU_BENCHMARK_OF_TYPE(stream, add, two_to_one<Added, T>)
    ->Axis<float, double>("dtype")
    ->Apply(at_best);
GPU_BENCHMARK_OF_TYPE(stream, triad, two_to_one<Triad, T>)
    ->Axis<float, double>("dtype")
    ->Apply(at_best);
GPU_BENCHMARK_OF_TYPE(stream, dot, dot<T>)->Axis<float, double>("dtype")->Apply(at_best);

}  // namespace
