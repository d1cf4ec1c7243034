// stream: how high is the roof of memory?
//
// Expected  88 % of the data sheet or more (goal on an H200: read 4.4, copy 4.3, triad 4.2 TB/s).
//           The best row is the roof in every chart. Whether a row reaches it is Little's law:
//           bytes in flight per SM (threads x bytes x unroll) against latency x bandwidth. So
//           narrow accesses need unrolling, and 16-byte accesses hardly any. The dtype does not
//           matter.
// Units     bytes [per lane and access], unroll [accesses in flight per thread, of each input].
//           Every array is 256 MiB; useful bytes count each array once, in its one direction.
// Confirm   ncu --metrics dram__throughput.avg.pct_of_peak_sustained_elapsed
#include <cstdint>

#include "harness/bench/bench.hpp"
#include "kernels/stream.cuh"

namespace {

using namespace stream;
using gpubench::Bench;
using gpubench::Registration;
using gpubench::Roofs;
using gpubench::Suite;

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

// No FLOPs are told even where there are some: the headline of this concept is bytes a second.
void work(Bench& bench, double arrays) {
  const double bytes = arrays * array_bytes;
  gpubench::Law law;
  if (bench.arg("bytes") == 16 && bench.arg("unroll") >= 4) {
    law = [](const Roofs& roofs) { return roofs.at("dram"); };
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

gpubench::Registration* rows(const char* name, const char* dtype, gpubench::BenchFunction function,
                             Suite suite) {
  return gpubench::record("stream", name, function)
      ->Axis("dtype", {dtype})
      ->ArgNames({"bytes", "unroll"})
      ->In(suite);
}

// Every kernel at its best in every dtype; more of the plane of bytes and unroll for `swept` ones,
// and all of it in the full suite.
void add(const char* name, gpubench::BenchFunction fp32, gpubench::BenchFunction fp64, bool swept) {
  if (swept) {
    rows(name, "fp32", fp32, Suite::standard)
        ->ArgsProduct({{4}, {1, 4}})
        ->ArgsProduct({{16}, {1, 4, 8}});
    rows(name, "fp32", fp32, Suite::full)
        ->ArgsProduct({{8}, {1, 2, 4, 8}})
        ->ArgsProduct({{4}, {2, 8}})
        ->ArgsProduct({{16}, {2}});
  } else {
    rows(name, "fp32", fp32, Suite::standard)->Args({16, 4});
    rows(name, "fp32", fp32, Suite::full)
        ->ArgsProduct({{4, 8}, {1, 2, 4, 8}})
        ->ArgsProduct({{16}, {1, 2, 8}});
  }
  rows(name, "fp64", fp64, Suite::standard)->Args({16, 4})->ForRoofs();
  rows(name, "fp64", fp64, Suite::full)
      ->ArgsProduct({{8}, {1, 2, 4, 8}})
      ->ArgsProduct({{16}, {1, 2, 8}});
}

void add_narrow(const char* name, gpubench::BenchFunction int8, gpubench::BenchFunction int16,
                Suite best) {
  rows(name, "int8", int8, best)->Args({1, 4});
  rows(name, "int8", int8, Suite::full)->ArgsProduct({{1}, {1, 2, 8}});
  rows(name, "int16", int16, best)->Args({2, 4});
  rows(name, "int16", int16, Suite::full)->ArgsProduct({{2}, {1, 2, 8}});
}

[[maybe_unused]] const bool added = [] {
  add("read", read<float>, read<double>, true);
  add_narrow("read", read<std::int8_t>, read<std::int16_t>, Suite::standard);
  add("write", write<float>, write<double>, false);
  add_narrow("write", write<std::int8_t>, write<std::int16_t>, Suite::full);
  add("copy", one_to_one<Copied, float>, one_to_one<Copied, double>, true);
  add_narrow("copy", one_to_one<Copied, std::int8_t>, one_to_one<Copied, std::int16_t>,
             Suite::full);
  add("scale", one_to_one<Scaled, float>, one_to_one<Scaled, double>, false);
  add("add", two_to_one<Added, float>, two_to_one<Added, double>, false);
  add("triad", two_to_one<Triad, float>, two_to_one<Triad, double>, false);
  add("dot", dot<float>, dot<double>, false);
  return true;
}();

}  // namespace
