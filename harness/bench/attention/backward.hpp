// The gradients of attention.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "harness/bench/bench.hpp"
#include "kernels/attention.cuh"
#include "kernels/attention/backward.cuh"
#include "kernels/attention/backward_expected.cuh"

namespace attention::backward {

struct Heads {
  std::size_t heads, seq, head_dim;  // heads of the whole batch

  std::size_t rows() const { return heads * seq; }
  std::size_t elements() const { return rows() * head_dim; }
};

// About what the weights of random operands add up to: their scores are small.
struct LogSum {
  float value;
  __host__ __device__ float operator()(std::size_t) const { return value; }
};
using Random = gpubench::Generator<element>;
using RandomOperands = Operands<Random, Random, Random, Random, Random, LogSum>;

struct Memory {
  const element *q, *k, *v, *out, *d_out;
  const float* log_sums;
  float* products;
  element *d_q, *d_k, *d_v;
};

inline void queue(cudaStream_t s, const Heads& of, const Memory& at) {
  const auto seq = static_cast<unsigned>(of.seq);
  const dim3 grid(blocks_of(seq), static_cast<unsigned>(of.heads));
  const QuerySums sums{at.log_sums, at.products};
  const float root = 1 / std::sqrt(static_cast<float>(of.head_dim));
  gpubench::with_constant<64u, 128u>(static_cast<std::int64_t>(of.head_dim), [&](auto head_dim) {
    gpubench::launch(row_products<head_dim>, grid, threads, 0, s, at.out, at.d_out, at.products,
                     seq);
    gpubench::launch(keys_and_values<head_dim>, grid, threads, shared_bytes<head_dim>(), s, at.q,
                     at.k, at.v, at.d_out, sums, at.d_k, at.d_v, seq, scale_of(head_dim), root,
                     false);
    gpubench::launch(queries<head_dim>, grid, threads, shared_bytes<head_dim>(), s, at.q, at.k,
                     at.v, at.d_out, sums, at.d_q, seq, scale_of(head_dim), root, false);
  });
}

// --- the check ---

// "" or the first element of a row that is too far off. Weights and changes are rounded to bf16,
// and changes are differences.
inline std::string check_row(const element* from, std::size_t row,
                             const std::vector<double>& want) {
  std::vector<element> got(want.size());
  const std::size_t first = row * want.size();
  CUDA_CHECK(
      cudaMemcpy(got.data(), from + first, got.size() * sizeof(element), cudaMemcpyDeviceToHost));
  double largest = 0;
  for (const double x : want) largest = std::fmax(largest, std::fabs(x));
  for (std::size_t d = 0; d < want.size(); ++d) {
    const double is = static_cast<float>(got[d]);
    if (!gpubench::is_right(is, want[d], 0, 0.01 * largest)) {
      return gpubench::describe_wrong(first + d, is, want[d]);
    }
  }
  return "";
}

// "" or what is wrong with some rows of all gradients.
inline std::string check(const Heads& of, const RandomOperands& operands, const Memory& at) {
  const Expected<RandomOperands> expected(operands, of.seq, of.head_dim, false);
  for (std::size_t i = 0; i < 4; ++i) {
    const std::size_t row = i == 0 ? of.rows() - 1 : gpubench::random_bits(1, i) % of.rows();
    const std::size_t head = row / of.seq, number = row % of.seq;
    for (const auto& [what, gradient, want] :
         {std::tuple{"dQ: ", at.d_q, expected.d_q(head, number)},
          {"dK: ", at.d_k, expected.d_k(head, number)},
          {"dV: ", at.d_v, expected.d_v(head, number)}}) {
      if (const std::string wrong = check_row(gradient, row, want); !wrong.empty()) {
        return what + wrong;
      }
    }
  }
  return "";
}

// The model runs some of a row's blocks, and each kernel needs what all blocks of the one before
// have written: here one block per head has all rows.
inline std::string check_in_small(std::size_t head_dim) {
  using gpubench::DeviceBuffer;
  const Heads of{2, own_rows - 3, head_dim};
  const RandomOperands operands{{1}, {2}, {3}, {4}, {5}, {std::log2(float(of.seq))}};
  const DeviceBuffer<element> q(of.elements()), k(of.elements()), v(of.elements()),
      out(of.elements()), d_out(of.elements()), d_q(of.elements()), d_k(of.elements()),
      d_v(of.elements());
  const DeviceBuffer<float> log_sums(of.rows()), products(of.rows());
  gpubench::fill_random(q.data(), q.size(), operands.q);
  gpubench::fill_random(k.data(), k.size(), operands.k);
  gpubench::fill_random(v.data(), v.size(), operands.v);
  gpubench::fill_random(out.data(), out.size(), operands.out);
  gpubench::fill_random(d_out.data(), d_out.size(), operands.d_out);
  gpubench::fill_random(log_sums.data(), log_sums.size(), operands.log_sums);
  const Memory at{q.data(),        k.data(),        v.data(),   out.data(), d_out.data(),
                  log_sums.data(), products.data(), d_q.data(), d_k.data(), d_v.data()};
  queue(nullptr, of, at);
  CUDA_CHECK(cudaDeviceSynchronize());
  return check(of, operands, at);
}

// --- the row ---

// Five products are needed, 2.5 times as many FLOPs as forward; the two kernels make seven, and two
// exponentials of each score. A warp has 16 rows of its own and reads them again for each tile of
// 32 others: in `keys_and_values`, two products read 48 rows for 16 x 32 scores, and two read 32;
// in `queries`, there is one of the latter.
inline gpubench::Law law_of(const gpubench::Bench& bench, const Heads& of, double flops) {
  const auto sms = bench.device().find("sm_count"), clock = bench.device().find("sm_clock_hz"),
             special = bench.device().find("sfu_ops_per_clock_per_sm"),
             floor = bench.device().find("kernel_floor_seconds"),
             next = bench.device().find("launch_stream_seconds");
  if (!sms || !clock || !special || !floor || !next) return {};
  constexpr double rows_read = 2 * (2 * (16 + tile_rows)) + 3 * tile_rows;
  const double scores = 1.0 * of.rows() * of.seq,
               shared = scores / (16 * tile_rows) * rows_read * of.head_dim * sizeof(element),
               reach = bench.device().find("mma_sync_efficiency").value_or(1),
               exponentials = 2 * scores / (*special * *sms * *clock),
               launches = *floor + 2 * *next;
  return [=](const gpubench::Roofs& roofs) {
    const double multiplications = 7.0 / 5 * flops / (reach * roofs.at("tensor_bf16"));
    return flops /
           (launches + std::max({multiplications, exponentials, shared / roofs.at("shared")}));
  };
}

// Between two barriers, a block reads, multiplies and weighs in turn, and so few blocks share an SM
// that these overlap only in part.
inline constexpr double tolerance = 0.5;

inline void row(gpubench::Bench& bench, const Heads& of) {
  bench.needs_capability(8, "attention by mma.sync of bf16 and cp.async");
  const LogSum log_sum{std::log2(static_cast<float>(of.seq))};
  const auto q = bench.input<element>(of.elements()), k = bench.input<element>(of.elements()),
             v = bench.input<element>(of.elements()), out = bench.input<element>(of.elements()),
             d_out = bench.input<element>(of.elements());
  const auto log_sums = bench.input<float>(of.rows(), log_sum);
  const auto products = bench.output<float>(of.rows());
  const auto d_q = bench.output<element>(of.elements()), d_k = bench.output<element>(of.elements()),
             d_v = bench.output<element>(of.elements());
  const auto memory = [=] {
    return Memory{q.data(),        k.data(),        v.data(),   out.data(), d_out.data(),
                  log_sums.data(), products.data(), d_q.data(), d_k.data(), d_v.data()};
  };
  bench.check([=](bool only_written) {
    const RandomOperands operands{q.values(),   k.values(),     v.values(),
                                  out.values(), d_out.values(), log_sum};
    return only_written ? check_in_small(of.head_dim) : check(of, operands, memory());
  });
  const double flops = 10.0 * of.elements() * of.seq;
  bench.work({.useful_bytes = 8.0 * of.elements() * sizeof(element),
              .flops = flops,
              .law = law_of(bench, of, flops),
              .law_tolerance = tolerance});
  bench.run([=](cudaStream_t s) { queue(s, of, memory()); });
}

}  // namespace attention::backward
