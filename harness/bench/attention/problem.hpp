// What a row of forward attention computes, and how its result is checked.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "harness/bench/bench.hpp"
#include "kernels/attention.cuh"

namespace attention::forward {

using Random = gpubench::Generator<element>;

inline constexpr std::size_t tokens = 16384, hidden = 2048;

struct Problem {
  std::size_t seq, head_dim, heads;  // heads of the whole batch
  bool causal;
  std::size_t group = 1;  // heads that share one of K and V
  Shape shape;

  explicit Problem(const gpubench::Bench& bench)
      : Problem(bench.arg<std::size_t>("seq"), bench.arg<std::size_t>("head_dim"),
                std::max<std::size_t>(tokens / bench.arg<std::size_t>("seq"), 1) * hidden /
                    bench.arg<std::size_t>("head_dim"),
                bench.arg("causal") != 0) {}
  Problem(std::size_t of_seq, std::size_t of_head_dim, std::size_t of_heads, bool is_causal,
          std::size_t of_group = 1)
      : seq(of_seq),
        head_dim(of_head_dim),
        heads(of_heads),
        causal(is_causal),
        group(of_group),
        shape{static_cast<double>(heads), static_cast<double>(seq), static_cast<double>(head_dim),
              causal, static_cast<double>(group)} {}
  // The problem of a row of `grouped`.
  static Problem grouped(const gpubench::Bench& bench) {
    constexpr std::size_t of_head = 128, heads = hidden / of_head;
    const auto seq = bench.arg<std::size_t>("seq");
    return {seq, of_head, tokens / seq * heads, false, heads / bench.arg<std::size_t>("kv_heads")};
  }
  std::size_t elements() const { return heads * seq * head_dim; }
  std::size_t kv_elements() const { return elements() / group; }
  // By sequence and row of it.
  std::size_t head_elements() const { return seq * head_dim; }
};

// "" or what is wrong with the rows of `out` that were chosen: at the ends, in the middle, and
// some by chance; of those the ones that blocks of the model's sample have written.
inline std::string check_rows(const Problem& p, const element* out, Random q, Random k, Random v,
                              bool only_written) {
  // As many as 64 Ki keys are looked at for, on one core.
  const std::size_t most = std::clamp<std::size_t>((std::size_t{1} << 16) / p.seq, 2, 16);
  std::vector<std::pair<std::size_t, std::size_t>> rows{
      {0, 0}, {p.heads - 1, p.seq - 1}, {p.heads - 1, p.seq / 2}, {0, p.seq - 1}};
  for (std::size_t i = 0; i < 64; ++i) {
    const std::uint64_t bits = gpubench::random_bits(1, i);
    rows.emplace_back((bits >> 32) % p.heads, (bits & 0xffffffff) % p.seq);
  }
  std::size_t checked = 0;
  std::vector<element> got(p.head_dim);
  for (const auto& [head, query] : rows) {
    const std::size_t begin = head * p.head_elements() + query * p.head_dim;
    CUDA_CHECK(
        cudaMemcpy(got.data(), out + begin, got.size() * sizeof(element), cudaMemcpyDeviceToHost));
    if (only_written && gpubench::is_poison(got[0])) continue;
    const auto want = expected_row(q, k, v, p.seq, p.head_dim, p.causal, head, query, p.group);
    for (std::size_t d = 0; d < want.size(); ++d) {
      const double is = static_cast<float>(got[d]);
      if (!gpubench::is_right(is, want[d], 0, allowed_error(want, d))) {
        return gpubench::describe_wrong(begin + d, is, want[d]);
      }
    }
    if (++checked == most) break;
  }
  return checked > 0 ? "" : "none of the rows that were to be checked was written";
}

// What one set of the row's buffers takes.
template <class... Buffers>
void note_memory(gpubench::Bench& bench, const Buffers&... buffers) {
  bench.note("memory_bytes", static_cast<double>((buffers.size() + ...) * sizeof(element)));
}

}  // namespace attention::forward
