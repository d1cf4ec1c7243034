// Decoding one token of each sequence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "harness/bench/bench.hpp"
#include "harness/cuda/stream.hpp"
#include "kernels/attention.cuh"
#include "kernels/attention/decode.cuh"
#include "kernels/attention/decode_expected.cuh"

namespace attention::decoding {

struct Sequences {
  unsigned batch, context, kv_heads, page;  // page: 0 if the cache is contiguous

  unsigned group() const { return heads / kv_heads; }
  unsigned tiles() const { return (context + tile_keys - 1) / tile_keys; }
  unsigned pages() const { return page == 0 ? 0 : batch * ((context + page - 1) / page); }
  std::size_t rows() const { return std::size_t{batch} * heads; }
  // Elements of keys, and as many of values.
  std::size_t cache_elements() const {
    const std::size_t tokens =
        page == 0 ? std::size_t{batch} * context : std::size_t{pages()} * page;
    return tokens * kv_heads * head_dim;
  }
};

// In device memory; `table` only if the cache is paged, `of_splits` and `log_sums` only if there
// are several splits.
struct Memory {
  const element *q, *k, *v;
  const unsigned* table;
  float *of_splits, *log_sums;
  element* out;
};

template <unsigned parts, class Cache>
void queue_attend(cudaStream_t s, const Sequences& of, unsigned splits, const Memory& at,
                  const Cache& cache) {
  gpubench::launch(attend<parts, Cache>, dim3(splits, of.kv_heads, of.batch), threads,
                   shared_bytes(parts), s, at.q, at.k, at.v, cache, at.out, at.of_splits,
                   at.log_sums, of.group(), scale_of(head_dim));
}

inline void queue(cudaStream_t s, const Sequences& of, unsigned splits, const Memory& at) {
  const Contiguous contiguous{of.context, of.kv_heads};
  const Paged paged{of.context, of.kv_heads, of.page, at.table};
  gpubench::with_constant<1u, 2u>(parts_of(of.group()), [&](auto parts) {
    of.page == 0 ? queue_attend<parts>(s, of, splits, at, contiguous)
                 : queue_attend<parts>(s, of, splits, at, paged);
  });
  if (splits == 1) return;
  gpubench::launch(combine, static_cast<unsigned>(of.rows()), combining_threads, 0, s, at.of_splits,
                   at.log_sums, at.out, splits);
}

inline unsigned splits_here(const Sequences& of) {
  unsigned resident = 0;
  gpubench::with_constant<1u, 2u>(parts_of(of.group()), [&](auto parts) {
    resident = gpubench::residency(attend<parts, Contiguous>, threads, shared_bytes(parts)).blocks;
  });
  return splits_of(of.context, of.group(), of.batch * of.kv_heads,
                   std::max(resident, 1u) * gpubench::sm_count());
}

// --- the check ---

// Values of Q, K and V by index.
struct Contents {
  gpubench::Generator<element> q, k, v;
};

// "" or the first element of a row, the `first` of all, that is too far off.
template <class T>
std::string compare(const T* got, const std::vector<double>& want, std::size_t first) {
  for (std::size_t d = 0; d < want.size(); ++d) {
    const double is = static_cast<float>(got[d]);
    if (!gpubench::is_right(is, want[d], 0, allowed_error(want, d))) {
      return gpubench::describe_wrong(first + d, is, want[d]);
    }
  }
  return "";
}

class Check {
 public:
  Check(const Sequences& of, unsigned splits, Contents contents, const Memory& at)
      : of_(of), splits_(splits), contents_(contents), at_(at) {}

  // "" or what is wrong with some rows: at the ends, and others by chance. `only_written`: of what
  // blocks of the model's sample have written; a row is looked at once all of its splits are there.
  std::string operator()(bool only_written) const {
    constexpr std::size_t most_keys = std::size_t{1} << 17;  // that are looked at, on one core
    std::size_t keys = 0;
    for (std::size_t i = 0; i < 64 && keys < most_keys; ++i) {
      const std::size_t row = i == 0   ? 0
                              : i == 1 ? of_.rows() - 1
                                       : gpubench::random_bits(1, i) % of_.rows();
      if (const std::string wrong = check_row(row, only_written, keys); !wrong.empty()) {
        return wrong;
      }
    }
    return keys > 0 ? "" : "none of the rows that were to be checked was written";
  }

 private:
  template <class T>
  static std::vector<T> download(const T* from, std::size_t n) {
    std::vector<T> got(n);
    CUDA_CHECK(cudaMemcpy(got.data(), from, n * sizeof(T), cudaMemcpyDeviceToHost));
    return got;
  }

  ExpectedPart expected(std::size_t row, unsigned begin, unsigned end) const {
    const auto part = [&](const auto& cache) {
      return expected_part(contents_.q, contents_.k, contents_.v, cache,
                           static_cast<unsigned>(row / heads), static_cast<unsigned>(row % heads),
                           begin, end);
    };
    if (of_.page == 0) return part(Contiguous{of_.context, of_.kv_heads});
    return part(PagedBy<ShuffledPages>{of_.context, of_.kv_heads, of_.page, {of_.pages()}});
  }

  std::string check_row(std::size_t row, bool only_written, std::size_t& keys) const {
    if (splits_ == 1 && only_written &&
        gpubench::is_poison(download(at_.out + row * head_dim, 1)[0])) {
      return "";
    }
    std::vector<ExpectedPart> parts;
    for (unsigned split = 0; split < splits_; ++split) {
      const std::size_t at = row * splits_ + split;
      std::vector<float> got;
      if (splits_ > 1) {
        got = download(at_.of_splits + at * head_dim, head_dim);
        if (only_written && gpubench::is_poison(got[0])) continue;
      }
      const unsigned begin = first_tile(of_.tiles(), split, splits_) * tile_keys;
      const unsigned end =
          std::min(first_tile(of_.tiles(), split + 1, splits_) * tile_keys, of_.context);
      parts.push_back(expected(row, begin, end));
      keys += end - begin;
      if (splits_ == 1) break;
      const std::string wrong = compare(got.data(), parts.back().results, at * head_dim);
      if (!wrong.empty()) return "a split: " + wrong;
      const double sum = download(at_.log_sums + at, 1)[0];
      if (!gpubench::is_right(sum, parts.back().log_sum, 0, 0x1p-9)) {
        return "a split's sum: " + gpubench::describe_wrong(at, sum, parts.back().log_sum);
      }
    }
    if (parts.size() < splits_) return "";
    const auto got = download(at_.out + row * head_dim, head_dim);
    if (only_written && gpubench::is_poison(got[0])) return "";
    return compare(got.data(), expected_whole(parts), row * head_dim);
  }

  Sequences of_;
  unsigned splits_;
  Contents contents_;
  Memory at_;
};

// "" or what is wrong with `combine` on two rows of so many splits: the model runs too few blocks
// for whole rows.
inline std::string check_combine(unsigned splits) {
  using gpubench::DeviceBuffer, gpubench::Generator;
  constexpr unsigned rows = 2;
  const Generator<float> results{1}, log_sums{2};
  const DeviceBuffer<float> of_splits(std::size_t{rows} * splits * head_dim),
      of_log_sums(std::size_t{rows} * splits);
  const DeviceBuffer<element> out(rows * head_dim);
  gpubench::fill_random(of_splits.data(), of_splits.size(), results);
  gpubench::fill_random(of_log_sums.data(), of_log_sums.size(), log_sums);
  gpubench::launch(combine, rows, combining_threads, 0, nullptr, of_splits.data(),
                   of_log_sums.data(), out.data(), splits);
  CUDA_CHECK(cudaDeviceSynchronize());
  const std::vector<element> got = out.download();
  for (unsigned row = 0; row < rows; ++row) {
    std::vector<ExpectedPart> parts(splits);
    for (unsigned split = 0; split < splits; ++split) {
      const std::size_t at = std::size_t{row} * splits + split;
      for (unsigned d = 0; d < head_dim; ++d) {
        parts[split].results[d] = results(at * head_dim + d);
      }
      parts[split].log_sum = log_sums(at);
    }
    const std::vector<double> want = expected_whole(parts);
    const std::string wrong = compare(got.data() + row * head_dim, want, row * head_dim);
    if (!wrong.empty()) return "splits combined: " + wrong;
  }
  return "";
}

// --- the row ---

// Where memory brings the keys and values in some ten microseconds only, loads on their way and
// blocks at the end take as long.
inline constexpr double tolerance = 0.3;

// The bytes, and the launches: part of the second one overlaps with the first kernel. No law where
// the bytes take less than half of a launch: then how long a block takes alone decides.
inline gpubench::Law law_of(const gpubench::Bench& bench, const Amount& amount, bool is_split) {
  const auto floor = bench.device().find("kernel_floor_seconds"),
             next = bench.device().find("launch_stream_seconds");
  const auto dram = bench.device().reachable_dram();
  if (!floor || !next || !dram || amount.bytes() / dram->value < *floor / 2) return {};
  const double launches = *floor + (is_split ? *next : 0);
  return [=](const gpubench::Roofs& roofs) {
    return amount.batch / (launches + amount.bytes() / roofs.at("dram"));
  };
}

inline void decode(gpubench::Bench& bench) {
  bench.needs_capability(8, "attention by mma.sync of bf16 and cp.async");
  const Sequences of{bench.arg<unsigned>("batch"), bench.arg<unsigned>("context"),
                     bench.arg<unsigned>("kv_heads"), bench.arg<unsigned>("page")};
  const unsigned splits = splits_here(of);
  const std::size_t results = of.rows() * head_dim, of_splits = splits > 1 ? splits : 0;
  const auto q = bench.input<element>(results);
  const auto k = bench.input<element>(of.cache_elements()),
             v = bench.input<element>(of.cache_elements());
  const auto table = bench.input<unsigned>(of.pages(), ShuffledPages{of.pages()});
  const auto parts = bench.output<float>(results * of_splits),
             log_sums = bench.output<float>(of.rows() * of_splits);
  const auto out = bench.output<element>(results);
  const auto memory = [=] {
    return Memory{q.data(),     k.data(),        v.data(),  table.data(),
                  parts.data(), log_sums.data(), out.data()};
  };
  bench.check([=](bool only_written) {
    const Contents contents{q.values(), k.values(), v.values()};
    const std::string wrong = Check(of, splits, contents, memory())(only_written);
    return wrong.empty() && only_written && splits > 1 ? check_combine(splits) : wrong;
  });
  const Amount amount{double{1} * of.batch, double{1} * of.context, double{1} * of.kv_heads};
  if (of.page > 0) bench.scattered_over(2.0 * k.size() * sizeof(element));
  bench.work({.useful_bytes = amount.bytes(),
              .flops = amount.flops(),
              .law = law_of(bench, amount, splits > 1),
              .law_tolerance = tolerance,
              .headline = gpubench::Headline{"tokens_per_second", "/s"}});
  bench.note("splits", splits);
  bench.run([=](cudaStream_t s) { queue(s, of, splits, memory()); });
  bench.counter("tokens_per_second", of.batch / bench.seconds());
  bench.counter("bytes_per_token", amount.bytes_per_token());
}

}  // namespace attention::decoding
