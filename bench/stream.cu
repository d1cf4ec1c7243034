// stream: what is the memory roof?
//
// Expected  88 % of the data sheet or more (a goal on an H200: read 4.4, copy 4.3, triad 4.2 TB/s).
//           The best row is the roof in every chart. Whether it is reached is Little's law: bytes
//           in flight an SM, threads x bytes x unroll, against latency x bandwidth. So narrow
//           accesses need unrolling, and 16 bytes an access hardly any. The dtype does not matter.
// Units     bytes [a lane's access], unroll [accesses a thread has in flight, of each input].
// Arrays
//           are of 256 MiB in every row; bytes that the computation needs, one way each.
// Confirm   ncu --metrics dram__throughput.avg.pct_of_peak_sustained_elapsed
#include <cstdint>

#include "harness/bench.hpp"
#include "kernels/stream.cuh"

namespace {

using namespace stream;
using gpubench::Bench;
using gpubench::Registration;
using gpubench::Roofs;
using gpubench::Suite;

constexpr std::size_t array_bytes = std::size_t{256} << 20;

template <class Tile>
constexpr std::size_t elements = array_bytes / sizeof(typename Tile::Element);
template <class Tile>
constexpr unsigned blocks = elements<Tile> / Tile::elements;

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

struct Read {
  template <class Tile>
  static void run(Bench& bench) {
    const auto in = bench.input<typename Tile::Element>(elements<Tile>);
    const auto sums = bench.output<Sum<typename Tile::Element>>(blocks<Tile>);
    bench.verify(sums, ExpectedSum{in.values(), Tile::elements});
    work(bench, 1);
    bench.run([&](cudaStream_t s) {
      launch(stream::read<Tile>, blocks<Tile>, threads, 0, s, in.data(), sums.data());
    });
  }
};

struct Write {
  template <class Tile>
  static void run(Bench& bench) {
    const auto out = bench.output<typename Tile::Element>(elements<Tile>);
    bench.verify(out, ExpectedWritten<typename Tile::Element>{});
    work(bench, 1);
    bench.run([&](cudaStream_t s) {
      launch(stream::write<Tile>, blocks<Tile>, threads, 0, s, out.data());
    });
  }
};

template <class Operation>
struct OneToOne {
  template <class Tile>
  static void run(Bench& bench) {
    const auto a = bench.input<typename Tile::Element>(elements<Tile>);
    const auto out = bench.output<typename Tile::Element>(elements<Tile>);
    bench.verify(out, ExpectedOfOne<Operation, decltype(a.values())>{a.values()});
    work(bench, 2);
    bench.run([&](cudaStream_t s) {
      launch(one_to_one<Operation, Tile>, blocks<Tile>, threads, 0, s, a.data(), out.data());
    });
  }
};

template <class Operation>
struct TwoToOne {
  template <class Tile>
  static void run(Bench& bench) {
    const auto a = bench.input<typename Tile::Element>(elements<Tile>);
    const auto b = bench.input<typename Tile::Element>(elements<Tile>);
    const auto out = bench.output<typename Tile::Element>(elements<Tile>);
    bench.verify(out, ExpectedOfTwo<Operation, decltype(a.values())>{a.values(), b.values()});
    work(bench, 3);
    bench.run([&](cudaStream_t s) {
      launch(two_to_one<Operation, Tile>, blocks<Tile>, threads, 0, s, a.data(), b.data(),
             out.data());
    });
  }
};

struct Dot {
  template <class Tile>
  static void run(Bench& bench) {
    const auto a = bench.input<typename Tile::Element>(elements<Tile>);
    const auto b = bench.input<typename Tile::Element>(elements<Tile>);
    const auto sums = bench.output<typename Tile::Element>(blocks<Tile>);
    using Products = ExpectedOfTwo<Multiplied, decltype(a.values())>;
    // Products are multiples of 2^-20, of which fp32 does not hold sums beyond 16.
    bench.verify(sums, ExpectedSum<Products>{{a.values(), b.values()}, Tile::elements},
                 {.absolute = 1e-4});
    work(bench, 2);
    bench.run([&](cudaStream_t s) {
      launch(stream::dot<Tile>, blocks<Tile>, threads, 0, s, a.data(), b.data(), sums.data());
    });
  }
};

template <class Kernel, class T, class Vector>
void by_unroll(Bench& bench) {
  switch (bench.arg("unroll")) {
    case 1:
      return Kernel::template run<Tile<T, Vector, 1>>(bench);
    case 2:
      return Kernel::template run<Tile<T, Vector, 2>>(bench);
    case 4:
      return Kernel::template run<Tile<T, Vector, 4>>(bench);
    default:
      return Kernel::template run<Tile<T, Vector, 8>>(bench);
  }
}

template <class Kernel>
void floating(Bench& bench) {
  const auto bytes = bench.arg("bytes");
  if (bench.axis("dtype") == "fp64") {
    return bytes == 8 ? by_unroll<Kernel, double, double>(bench)
                      : by_unroll<Kernel, double, double2>(bench);
  }
  switch (bytes) {
    case 4:
      return by_unroll<Kernel, float, float>(bench);
    case 8:
      return by_unroll<Kernel, float, float2>(bench);
    default:
      return by_unroll<Kernel, float, float4>(bench);
  }
}

template <class Kernel>
void narrow(Bench& bench) {
  return bench.axis("dtype") == "int8" ? by_unroll<Kernel, std::int8_t, std::int8_t>(bench)
                                       : by_unroll<Kernel, std::int16_t, std::int16_t>(bench);
}

// Every kernel at its best in every dtype; more of the plane of bytes and unroll for `swept` ones,
// and all of it in the full suite.
void add(const char* kernel, gpubench::BenchFunction function, bool swept) {
  const auto rows = [&](const char* dtype, Suite suite) {
    return gpubench::record("stream", kernel, function)
        ->Axis("dtype", {dtype})
        ->ArgNames({"bytes", "unroll"})
        ->In(suite);
  };
  if (swept) {
    rows("fp32", Suite::standard)->ArgsProduct({{4, 16}, {1, 4, 8}});
    rows("fp32", Suite::full)->ArgsProduct({{8}, {1, 2, 4, 8}})->ArgsProduct({{4, 16}, {2}});
  } else {
    rows("fp32", Suite::standard)->Args({16, 4});
    rows("fp32", Suite::full)->ArgsProduct({{4, 8}, {1, 2, 4, 8}})->ArgsProduct({{16}, {1, 2, 8}});
  }
  rows("fp64", Suite::standard)->Args({16, 4})->ForRoofs();
  rows("fp64", Suite::full)->ArgsProduct({{8}, {1, 2, 4, 8}})->ArgsProduct({{16}, {1, 2, 8}});
}

void add_narrow(const char* kernel, gpubench::BenchFunction function, Suite best) {
  for (const auto& [dtype, bytes] : {std::pair{"int8", 1}, std::pair{"int16", 2}}) {
    const auto rows = [&, d = dtype](Suite suite) {
      return gpubench::record("stream", kernel, function)
          ->Axis("dtype", {d})
          ->ArgNames({"bytes", "unroll"})
          ->In(suite);
    };
    rows(best)->Args({bytes, 4});
    rows(Suite::full)->ArgsProduct({{bytes}, {1, 2, 8}});
  }
}

[[maybe_unused]] const bool added = [] {
  add("read", floating<Read>, true);
  add_narrow("read", narrow<Read>, Suite::standard);
  add("write", floating<Write>, false);
  add_narrow("write", narrow<Write>, Suite::full);
  add("copy", floating<OneToOne<Copied>>, true);
  add_narrow("copy", narrow<OneToOne<Copied>>, Suite::full);
  add("scale", floating<OneToOne<Scaled>>, false);
  add("add", floating<TwoToOne<Added>>, false);
  add("triad", floating<TwoToOne<Triad>>, false);
  add("dot", floating<Dot>, false);
  return true;
}();

}  // namespace
