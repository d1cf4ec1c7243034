// coalescing: what does a warp pay for touching scattered words?
//
// Expected  Useful bandwidth is 100, 50, 25, 12.5 % of stride 1 at strides 1, 2, 4, 8, because each
//           32-byte sector is paid for whole. Beyond 8 the DRAM fetch size decides: flat where it
//           is 32 bytes, halved once more where it is 64. An offset that is not a multiple of 8
//           words touches 5 sectors per request instead of 4, and the caches hide the price. One
//           field of an array of structs is a stride in disguise. A gather slows down in steps as
//           its window outgrows L1, L2 and the reach of the TLB (which the model leaves out).
// Units     stride, offset, fields [4-byte words]; bytes [per lane and load]; window [bytes].
//           Useful words are the same in every row; inputs grow with the stride; block sums are
//           written.
// Confirm   ncu --metrics l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio
#include <cmath>

#include "harness/bench/bench.hpp"
#include "kernels/coalescing.cuh"

namespace {

using namespace coalescing;
using gpubench::Bench;
using gpubench::Roofs;
using gpubench::RowAccess;

constexpr std::size_t n = std::size_t{1} << 25;  // useful words
constexpr unsigned blocks = n / words_a_block;

// Its launch takes a short row up to 8 % of its time; and with fewer bytes in flight than the roof
// has, loads wait for a memory that is nearly busy.
constexpr double tolerance = 0.15;

gpubench::Law share_of_dram(double bytes_fetched_a_useful_byte) {
  return [=](const Roofs& roofs) { return roofs.at("dram") / bytes_fetched_a_useful_byte; };
}

gpubench::Law strided_law(const Bench& bench, double stride) {
  const auto fetch = bench.device().find("dram_fetch_bytes");
  if (!fetch) return {};  // nobody has said what a fetch is on this device
  return share_of_dram(fetched_per_useful_byte(stride, *fetch));
}

void strided_read(Bench& bench) {
  const auto stride = static_cast<unsigned>(bench.arg("stride"));
  const auto in = bench.input<word>(n * stride);
  const auto sums = bench.output<word>(blocks);
  bench.verify(sums, ExpectedSum{in.values(), Strided{stride}});
  bench.work({.useful_bytes = n * sizeof(word),
              .law = strided_law(bench, stride),
              .law_tolerance = tolerance});
  bench.run([&](cudaStream_t s) {
    launch(coalescing::strided_read, blocks, threads, 0, s, in.data(), sums.data(), stride);
  });
}
GPU_BENCHMARK(coalescing, strided_read)->ArgName("stride")->RangeMultiplier(2)->Range(1, 32);

void strided_write(Bench& bench) {
  const auto stride = static_cast<unsigned>(bench.arg("stride"));
  const auto out = bench.output<word>(n * stride);
  bench.verify(out, ExpectedStrided{stride, NAN});
  // A sector of which only some words are written is first read: a price the law leaves out.
  bench.work({.useful_bytes = n * sizeof(word), .access = RowAccess::global_store});
  bench.run([&](cudaStream_t s) {
    launch(coalescing::strided_write, blocks, threads, 0, s, out.data(), stride);
  });
}
GPU_BENCHMARK(coalescing, strided_write)->ArgName("stride")->RangeMultiplier(2)->Range(1, 32);

void misaligned_read(Bench& bench) {
  const auto offset = static_cast<unsigned>(bench.arg("offset"));
  const auto in = bench.input<word>(n + 32);
  const auto sums = bench.output<word>(blocks);
  bench.verify(sums, ExpectedSum{in.values(), Shifted{offset}});
  bench.work(
      {.useful_bytes = n * sizeof(word), .law = share_of_dram(1), .law_tolerance = tolerance});
  bench.run([&](cudaStream_t s) {
    launch(coalescing::misaligned_read, blocks, threads, 0, s, in.data(), sums.data(), offset);
  });
}
GPU_BENCHMARK(coalescing, misaligned_read)->ArgName("offset")->ArgsProduct({{0, 1, 7, 8, 31}});
GPU_BENCHMARK(coalescing, misaligned_read)
    ->ArgName("offset")
    ->In(gpubench::Suite::full)
    ->ArgsProduct({{2, 3, 4, 5, 6}})
    ->DenseRange(9, 30);

template <class Layout>
void one_field(Bench& bench, const gpubench::Law& law) {
  const auto fields = static_cast<unsigned>(bench.arg("fields"));
  const unsigned field = fields / 2;
  const auto in = bench.input<word>(n * fields);
  const auto sums = bench.output<word>(blocks);
  bench.verify(sums, ExpectedSum{in.values(), Field<Layout>{fields, field, n}});
  bench.work({.useful_bytes = n * sizeof(word), .law = law, .law_tolerance = tolerance});
  bench.run([&](cudaStream_t s) {
    launch(read_field<Layout>, blocks, threads, 0, s, in.data(), sums.data(), fields, field, n);
  });
}

void records(Bench& bench) {
  const std::string& layout = bench.axis("layout");
  const auto fields = static_cast<double>(bench.arg("fields"));
  if (layout == "aos") {
    one_field<ArrayOfStructs>(bench, strided_law(bench, fields));
  } else if (layout == "soa") {
    one_field<StructOfArrays>(bench, share_of_dram(1));
  } else {
    one_field<ArrayOfStructsOfArrays>(bench, share_of_dram(1));
  }
}
GPU_BENCHMARK(coalescing, records)
    ->Axis("layout", {"aos", "soa", "aosoa"})
    ->ArgName("fields")
    ->RangeMultiplier(2)
    ->Range(4, 16);

template <class Vector>
void read_by(Bench& bench) {
  const auto in = bench.input<word>(n);
  const auto sums = bench.output<word>(blocks);
  bench.verify(sums, ExpectedSum{in.values(), Shifted{0}});
  bench.work(
      {.useful_bytes = n * sizeof(word), .law = share_of_dram(1), .law_tolerance = tolerance});
  bench.run([&](cudaStream_t s) {
    launch(coalescing::vector_read<Vector>, blocks, threads, 0, s, in.data(), sums.data());
  });
}

void vector_read(Bench& bench) {
  switch (bench.arg("bytes")) {
    case 4:
      return read_by<float>(bench);
    case 8:
      return read_by<float2>(bench);
    default:
      return read_by<float4>(bench);
  }
}
GPU_BENCHMARK(coalescing, vector_read)->ArgName("bytes")->RangeMultiplier(2)->Range(4, 16);

void gather(Bench& bench) {
  const auto window = static_cast<std::size_t>(bench.arg("window"));
  const auto words = static_cast<unsigned>(window / sizeof(word));
  const auto in = bench.input<word>(words);
  const auto sums = bench.output<word>(blocks);
  bench.verify(sums, ExpectedSum{in.values(), Gathered{words}});
  bench.work({.useful_bytes = n * sizeof(word)});
  bench.run([&](cudaStream_t s) {
    launch(coalescing::gather, blocks, threads, 0, s, in.data(), sums.data(), words);
  });
}
GPU_BENCHMARK(coalescing, gather)
    ->ArgName("window")
    ->ArgsProduct({{32, 4096, 1 << 16, 1 << 20, 1 << 24, 1 << 26, 1 << 28, 1 << 30}});
GPU_BENCHMARK(coalescing, gather)
    ->ArgName("window")
    ->In(gpubench::Suite::full)
    ->ArgsProduct({{64, 256, 1024, 1 << 14, 1 << 18, 1 << 22}});

}  // namespace
