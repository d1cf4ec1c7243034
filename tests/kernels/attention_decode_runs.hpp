#pragma once

#include <vector>

#include "kernels/attention.cuh"
#include "kernels/attention/decode.cuh"
#include "kernels/attention/decode_expected.cuh"
#include "tests/kernels/attention_runs.hpp"

namespace gpubench {

// Sequences of a cache that is contiguous, or in pages of `page` tokens.
struct DecodeShape {
  unsigned batch, context, kv_heads, page, splits;

  unsigned group() const { return attention::decoding::heads / kv_heads; }
  unsigned pages() const { return page == 0 ? 0 : batch * ((context + page - 1) / page); }
};

class AttentionDecodeRuns : public AttentionRuns {
 protected:
  template <unsigned parts, class Cache>
  DeviceBuffer<attention::element> run_decode(const DecodeShape& of, const Cache& cache) {
    using namespace attention::decoding;
    const std::size_t rows = std::size_t{of.batch} * heads;
    const std::size_t tokens =
        of.page == 0 ? std::size_t{of.batch} * of.context : std::size_t{of.pages()} * of.page;
    const auto q = filled(rows * head_dim, of_q), k = filled(tokens * of.kv_heads * head_dim, of_k),
               v = filled(tokens * of.kv_heads * head_dim, of_v);
    auto out = output<attention::element>(rows * head_dim);
    const auto of_splits = output<float>(rows * of.splits * head_dim),
               log_sums = output<float>(rows * of.splits);
    launch(attend<parts, Cache>, dim3(of.splits, of.kv_heads, of.batch), threads,
           shared_bytes(parts), nullptr, q.data(), k.data(), v.data(), cache, out.data(),
           of_splits.data(), log_sums.data(), of.group(), attention::scale_of(head_dim));
    if (of.splits > 1) {
      launch(combine, static_cast<unsigned>(rows), combining_threads, 0, nullptr, of_splits.data(),
             log_sums.data(), out.data(), of.splits);
    }
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess) << diagnostic;
    return out;
  }

  DeviceBuffer<attention::element> run_decode(const DecodeShape& of) {
    using namespace attention::decoding;
    DeviceBuffer<unsigned> table(of.pages());
    if (of.pages() > 0) fill_random(table.data(), table.size(), ShuffledPages{of.pages()});
    const Contiguous contiguous{of.context, of.kv_heads};
    const Paged paged{of.context, of.kv_heads, of.page, table.data()};
    if (parts_of(of.group()) == 1) {
      return of.page == 0 ? run_decode<1>(of, contiguous) : run_decode<1>(of, paged);
    }
    return of.page == 0 ? run_decode<2>(of, contiguous) : run_decode<2>(of, paged);
  }
};

}  // namespace gpubench
