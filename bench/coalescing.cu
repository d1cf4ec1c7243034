// coalescing: what does a warp pay for touching scattered words?
//
// Expected  At strides 1, 2, 4 and 8, useful bandwidth should be 100, 50, 25 and 12.5 % of the DRAM
//           roof, because a 32-byte sector is always moved as a whole. Beyond stride 8 the DRAM
//           fetch size decides: the curve is flat if DRAM fetches 32 bytes, and halves once more if
//           it fetches 64. This law is for reads. From stride 2 on, strided writes lose twice as
//           much, because a partly written sector is read first. A read whose offset is not a
//           multiple of 8 words touches 5 sectors per request instead of 4, but the caches hide
//           that. Reading one field of an array of structs is a stride in disguise. A gather slows
//           down as its window outgrows L1, L2 and the TLB (the model has no TLB).
// Units     stride, offset, fields [4-byte words]; bytes [per lane and load]; window [bytes]. All
//           rows have the same number of useful words; the buffer grows with the stride. Kernels
//           that read write only one sum per block.
// Confirm   ncu --metrics l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio
#include <cmath>

#include "harness/bench/bench.hpp"
#include "kernels/coalescing.cuh"

namespace {

using namespace coalescing;
using gpubench::type;

constexpr std::size_t n = std::size_t{1} << 25;  // useful words
constexpr unsigned blocks = n / words_a_block;

Law strided_law(const Bench& bench, double stride) {
  const auto fetch = bench.device().find("dram_fetch_bytes");
  if (!fetch) return {};  // nobody has said what a fetch is on this device
  return law_of_roof("dram", 1 / fetched_per_useful_byte(stride, *fetch));
}

// Of `words` in memory, `kernel` sums up those that `chosen` names.
template <class Chosen, class... P, class... A>
void read(Bench& bench, std::size_t words, Chosen chosen, const Law& law, void (*kernel)(P...),
          A... further) {
  const auto in = bench.input<word>(words);
  const auto sums = bench.output<word>(blocks);
  bench.verify(sums, ExpectedSum{in.values(), chosen});
  // Its launch takes a short row up to 12 % of its time on an H200, and with fewer bytes in flight
  // than the roof has, loads wait for a memory that is nearly busy: another 6 %.
  bench.work({.useful_bytes = n * sizeof(word), .law = law, .law_tolerance = 0.2});
  bench.run([&](cudaStream_t s) {
    launch(kernel, blocks, threads, 0, s, in.data(), sums.data(), further...);
  });
}

void strided_read(Bench& bench) {
  const auto stride = bench.arg<unsigned>("stride");
  read(bench, n * stride, Strided{stride}, strided_law(bench, stride), coalescing::strided_read,
       stride);
}
GPU_BENCHMARK(coalescing, strided_read)->ArgName("stride [words]", {1, 64})->Range(1, 32);

void strided_write(Bench& bench) {
  const auto stride = bench.arg<unsigned>("stride");
  const auto out = bench.output<word>(n * stride);
  bench.verify(out, ExpectedStrided{stride, NAN});
  // A sector of which only some words are written is first read: a price the law leaves out.
  bench.work({.useful_bytes = n * sizeof(word), .access = RowAccess::global_store});
  bench.run([&](cudaStream_t s) {
    launch(coalescing::strided_write, blocks, threads, 0, s, out.data(), stride);
  });
}
GPU_BENCHMARK(coalescing, strided_write)->ArgName("stride [words]", {1, 64})->Range(1, 32);

void misaligned_read(Bench& bench) {
  const auto offset = bench.arg<unsigned>("offset");
  read(bench, n + 32, Shifted{offset}, law_of_roof("dram"), coalescing::misaligned_read, offset);
}
GPU_BENCHMARK(coalescing, misaligned_read)
    ->ArgName("offset [words]", {0, 32})
    ->Each({0, 1, 8, 31})
    ->Rest(Suite::full)
    ->DenseRange(2, 30);

template <class Layout>
void records(Bench& bench) {
  const auto fields = bench.arg<unsigned>("fields"), field = fields / 2;
  const bool strides = std::is_same_v<Layout, ArrayOfStructs>;
  read(bench, n * fields, Field<Layout>{fields, field, n},
       strides ? strided_law(bench, fields) : law_of_roof("dram"), read_field<Layout>, fields,
       field, n);
}
GPU_BENCHMARK_OF_TYPE(coalescing, records, records<T>)
    ->Axis("layout", type<ArrayOfStructs>("aos"), type<StructOfArrays>("soa"),
           type<ArrayOfStructsOfArrays>("aosoa"))
    ->ArgName("fields [words]", {1, 32})
    ->Range(4, 16);

void vector_read(Bench& bench) {
  gpubench::with_float_vector(bench.arg("bytes"), [&](auto vector) {
    read(bench, n, Shifted{0}, law_of_roof("dram"), coalescing::vector_read<decltype(vector)>);
  });
}
GPU_BENCHMARK(coalescing, vector_read)->ArgName("bytes [per lane]")->Range(4, 16);

void gather(Bench& bench) {
  const auto words = static_cast<unsigned>(bench.arg("window") / sizeof(word));
  bench.scattered_over(bench.arg<double>("window"));
  read(bench, words, Gathered{words}, {}, coalescing::gather, words);
}
GPU_BENCHMARK(coalescing, gather)
    ->ArgName("window [bytes]")
    ->Each({1 << 16, 1 << 24, 1 << 30})
    ->Rest(Suite::full)
    ->Each({32, 64, 256, 1024, 4096, 1 << 14, 1 << 18, 1 << 20, 1 << 22, 1 << 26, 1 << 28});

}  // namespace
