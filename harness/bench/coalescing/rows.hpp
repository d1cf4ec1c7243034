// The rows of coalescing: what they read, check and promise.
#pragma once

#include <cmath>
#include <numeric>
#include <string>
#include <type_traits>

#include "harness/bench/bench.hpp"
#include "kernels/coalescing.cuh"

namespace coalescing::rows {

inline constexpr std::size_t n = std::size_t{1} << 25;  // useful words
inline constexpr unsigned blocks = n / words_a_block;
// Kernels that write shifted words, or read whole records, get more, so that the launch is little
// of their time.
inline constexpr std::size_t many = 4 * n;

inline Law strided_law(const Bench& bench, double stride) {
  const auto fetch = bench.device().find("dram_fetch_bytes");
  if (!fetch) return {};  // nobody has said what a fetch is on this device
  return law_of_roof("dram", 1 / fetched_per_useful_byte(stride, *fetch));
}

// Its launch takes a short row up to 12 % of its time on an H200, and with fewer bytes in flight
// than the roof has, loads wait for a memory that is nearly busy: another 6 %.
inline constexpr double tolerance = 0.2;

// `kernel` sums up those of `words` in memory that `chosen` names, with so many sectors per
// request (0: nobody can say).
template <class Chosen, class... P, class... A>
void read(Bench& bench, std::size_t words, Chosen chosen, const Law& law, double of_a_request,
          void (*kernel)(P...), A... further) {
  const auto in = bench.input<word>(words);
  const auto sums = bench.output<word>(blocks);
  bench.verify(sums, ExpectedSum{in.values(), chosen});
  bench.work({.useful_bytes = n * sizeof(word),
              .law = law,
              .law_tolerance = tolerance,
              .law_per_request = of_a_request});
  bench.run([&](cudaStream_t s) {
    launch(kernel, blocks, threads, 0, s, in.data(), sums.data(), further...);
  });
}

inline void strided_read(Bench& bench) {
  const auto stride = bench.arg<unsigned>("stride");
  read(bench, n * stride, Strided{stride}, strided_law(bench, stride), sectors(stride),
       coalescing::strided_read, stride);
}

inline void strided_write(Bench& bench) {
  const auto stride = bench.arg<unsigned>("stride");
  const auto out = bench.output<word>(n * stride);
  bench.verify(out, ExpectedStrided{stride, NAN});
  // A sector of which only some words are written is first read: a price the law leaves out.
  bench.work({.useful_bytes = n * sizeof(word),
              .access = RowAccess::global_store,
              .law_per_request = static_cast<double>(sectors(stride))});
  bench.run([&](cudaStream_t s) {
    launch(coalescing::strided_write, blocks, threads, 0, s, out.data(), stride);
  });
}

inline void misaligned_read(Bench& bench) {
  const auto offset = bench.arg<unsigned>("offset");
  read(bench, n + 32, Shifted{offset}, law_of_roof("dram"), sectors(1, offset),
       coalescing::misaligned_read, offset);
}
// `kernel` writes all words from `offset` on.
template <class... P, class... A>
void write(Bench& bench, unsigned offset, double of_a_request, void (*kernel)(P...), A... further) {
  const auto out = bench.output<word>(many + offset);
  bench.verify(out, ExpectedWords{offset, NAN});
  bench.work({.useful_bytes = many * sizeof(word),
              .access = RowAccess::global_store,
              .law = law_of_roof("dram"),
              .law_per_request = of_a_request});
  bench.run([&](cudaStream_t s) {
    launch(kernel, static_cast<unsigned>(many / words_a_block), threads, 0, s, out.data(),
           further...);
  });
}

inline void misaligned_write(Bench& bench) {
  const auto offset = bench.arg<unsigned>("offset");
  write(bench, offset, sectors(1, offset), coalescing::misaligned_write, offset);
}

template <class Layout>
void records(Bench& bench) {
  const auto fields = bench.arg<unsigned>("fields"), field = fields / 2;
  const bool strides = std::is_same_v<Layout, ArrayOfStructs>;
  read(bench, n * fields, Field<Layout>{fields, field, n},
       strides ? strided_law(bench, fields) : law_of_roof("dram"),
       strides ? sectors(fields, field) : sectors(1), read_field<Layout>, fields, field, n);
}

inline void vector_read(Bench& bench) {
  gpubench::with_float_vector(bench.arg("bytes"), [&](auto vector) {
    read(bench, n, Shifted{0}, law_of_roof("dram"),
         sectors(sizeof vector / sizeof(word), 0, sizeof vector / sizeof(word)),
         coalescing::vector_read<decltype(vector)>);
  });
}

inline void vector_write(Bench& bench) {
  gpubench::with_float_vector(bench.arg("bytes"), [&](auto vector) {
    constexpr unsigned words = sizeof vector / sizeof(word);
    write(bench, 0, sectors(words, 0, words), coalescing::vector_write<decltype(vector)>);
  });
}
// Whole records: `of_a_request` sectors are those of a load, whoever gets the words in the end, and
// its words pass the banks of L1 in `wavefronts`.
template <class Layout, class... P>
void read_whole(Bench& bench, unsigned fields, double of_a_request, double wavefronts,
                void (*kernel)(P...)) {
  const auto in = bench.input<word>(many);
  const auto sums = bench.output<word>(many / threads / words_of_records);
  bench.verify(sums,
               ExpectedRecords<decltype(in.values()), Layout>{in.values(), fields, many / fields});
  bench.work({.useful_bytes = many * sizeof(word),
              .law = law_of_lowest({{"dram", 1}, {"l1", 1 / wavefronts}}),
              .law_tolerance = tolerance,
              .law_per_request = of_a_request});
  bench.run([&](cudaStream_t s) {
    launch(kernel, static_cast<unsigned>(sums.size()), threads, 0, s, in.data(), sums.data(),
           many / fields);
  });
}

inline void whole_records(Bench& bench) {
  const std::string& by = bench.axis("by");
  gpubench::with_constant<4u, 8u, 16u>(bench.arg("fields"), [&](auto fields) {
    using Structs = ArrayOfStructs;
    using Arrays = StructOfArrays;
    // Lanes `fields` words apart meet at the same banks, as in shared memory.
    by == "words"     ? read_whole<Structs>(bench, fields, sectors(fields), std::gcd(fields(), 32u),
                                        read_records<Structs, fields>)
    : by == "vectors" ? read_whole<Structs>(bench, fields, sectors(fields, 0, 4), fields() / 4.0,
                                            read_records_by_vectors<fields>)
    : by == "shared"
        ? read_whole<Structs>(bench, fields, sectors(1), 1, read_records_through_shared<fields>)
        : read_whole<Arrays>(bench, fields, sectors(1), 1, read_records<Arrays, fields>);
  });
}

inline void gather(Bench& bench) {
  const auto words = static_cast<unsigned>(bench.arg("window") / sizeof(word));
  bench.scattered_over(bench.arg<double>("window"));
  read(bench, words, Gathered{words}, {}, 0, coalescing::gather, words);
}

}  // namespace coalescing::rows
