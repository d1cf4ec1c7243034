// attention: what does FlashAttention save by never writing the score matrix?
//
// Expected  The standard way has three steps: multiply, softmax, multiply. It writes the N x N
//           scores and reads them back, then does the same with the weights. That is 8 N^2 bytes
//           of DRAM traffic per head for 4 N^2 head_dim FLOPs, so memory limits it at any length.
//           The tiled way never writes the scores. From a few hundred tokens on, it is limited by
//           the Tensor Cores, at the rate that mma.sync reaches. (Shared memory is just as busy,
//           because tiles are read as fast as they are multiplied.) If everything overlapped, the
//           tiled way would be faster by a factor of 2 x tensor / (head_dim x dram). This is the
//           law. On an H200, the factor is 2.5 at head_dim 128 and 5 at head_dim 64, at any length
//           that fills the GPU, and more if Q, K and V are a large part of the bytes. But a warp
//           must wait for its products before it can take their softmax, so the kernel reaches
//           only about half of the law (on the model, it is 1.7 and 2.7 times as fast as the
//           standard way). `wgmma` is the tiled way for Hopper, as FlashAttention-3 has it: while
//           one of two warpgroups multiplies, the other one takes its softmax. Its law is the
//           Tensor Cores' whole peak; of the data sheet's 989 TFLOP/s, FlashAttention-3 reaches 75
//           % with head_dim 256, and about half with head_dim 64, where exponentials take as long
//           as products. `tcgen05` is the same for Blackwell, as FlashAttention-4 has it: one
//           thread multiplies for two tiles of queries in turn, while two warpgroups take the
//           softmax of their scores in tensor memory; the weights multiply V from there. Every
//           tiled way's memory grows with N, not N^2. With a causal mask, half of the
//           multiplications are not needed. The library does all of them anyway, so the standard
//           way saves only reads.
//           `decode` makes one token per sequence, for which it reads the keys and values of the
//           whole context: one FLOP per byte for each query head that shares them, 1 to 32. So
//           memory is the limit, and the law is their bytes over its bandwidth. If 4 query heads
//           share a head of keys and values, as in Llama 3, bytes and time are a quarter. If all 32
//           do, the time is 1/22 of multi-head attention's, not 1/32: a third of it is launches and
//           combining splits. One long sequence comes close to the bandwidth that many reach,
//           because its keys are split over all SMs. Pages (a cache in pieces, found by a table)
//           cost up to 4 % on the model, at any size from 16 tokens, since a warp looks up the page
//           of every 16 keys. In the forward pass, sharing (`grouped`) saves bytes
//           but hardly any time, since a block there reads keys once for 128 queries.
//           `backward` makes the gradients of Q, K and V in 2.5 times the FLOPs of forward, since
//           it computes the scores again: by one kernel for K and V, and by another for Q. They
//           read tiles from shared memory more often than they multiply them, so that is their law.
// Units     seq [tokens per sequence]. A batch has 16 Ki tokens in all (or one sequence, if that is
//           longer) and 2048 / head_dim heads. Up to 16 Ki tokens, the bytes of Q, K, V and the
//           result are therefore the same in all rows. FLOPs grow with seq: 4 N^2 head_dim per
//           head, half of that if causal. memory_bytes counts all buffers, but not the library's
//           own workspace. Moved bytes come from the model or a profiler. For `standard`, they are
//           counted as if L2 kept nothing from one pass to the next. `decode` has 32 heads with
//           head_dim 128; batch [sequences], context [tokens of each], page [tokens] (0: the cache
//           is contiguous). tokens_per_second is for this one layer, bytes_per_token are the keys
//           and values of a sequence, and splits the blocks that share them. `grouped` is `tiled`,
//           `wgmma` or `tcgen05` with 16 heads of queries, head_dim 128, no mask. `backward` counts
//           five products per score, though its two kernels make seven, and has no mask either.
// Confirm   ncu --metrics dram__bytes.sum,sm__inst_executed_pipe_tensor.sum
#include "kernels/attention.cuh"

#include <algorithm>

#include "harness/bench/attention/backward.hpp"
#include "harness/bench/attention/decode.hpp"
#include "harness/bench/attention/problem.hpp"
#include "harness/bench/bench.hpp"
#include "harness/bench/gemm_row.hpp"
#include "harness/bench/tcgen05.hpp"
#include "harness/bench/wgmma.hpp"
#include "harness/cuda/tensor_map.hpp"

namespace {

using namespace attention;
using namespace attention::forward;
using gpubench::Gemm;
using gpubench::GemmShape;
using gpubench::GemmType;
using gpubench::Generator;

// --- tiled, by mma.sync, wgmma or tcgen05 ---

// One of the three: how it differs for the law.
struct Way {
  double computed;  // the share of the scores that it computes
  double reach;     // of the Tensor Cores' peak
  // Tokens that have a law: of 64 elements per head, and of causal blocks that take two turns.
  std::size_t shortest_of_64, shortest_of_turns;
  double tolerance;
};

// What the arithmetic takes: the Tensor Cores, as far as they are reached, or the exponentials
// beside them; the blocks of the last wave count whole. Or the bytes. By mma.sync and wgmma, no law
// for short causal rows of two turns, whose second asks for keys of the first again: what L2 still
// has decides; nor for the shortest rows of 64 elements: their blocks do not hide how long a tile
// takes to come.
gpubench::Law tiled_law(const Bench& bench, const Problem& p, double blocks, const Way& way) {
  const auto sms = bench.device().find("sm_count"), clock = bench.device().find("sm_clock_hz"),
             special = bench.device().find("sfu_ops_per_clock_per_sm"),
             floor = bench.device().find("kernel_floor_seconds");
  if (!sms || !clock || !special || !floor) return {};
  const bool two_turns = p.causal && groups_of(p.seq) > 1;
  if (two_turns && p.seq < way.shortest_of_turns) return {};
  if (p.head_dim == 64 && p.seq < way.shortest_of_64) return {};
  const double waves = std::ceil(blocks / *sms) * *sms / blocks;
  const double scores = p.shape.heads * p.shape.seq * p.shape.seq * waves * way.computed;
  const double exponentials = scores / (*special * *sms * *clock),
               flops = 4 * p.shape.head_dim * scores;
  return [=, shape = p.shape, floor = *floor, reach = way.reach](const Roofs& roofs) {
    const double multiplications = flops / (reach * roofs.at("tensor_bf16"));
    const double bytes = shape.operand_bytes() / roofs.at("dram");
    return shape.flops() / (floor + std::max({multiplications, exponentials, bytes}));
  };
}

// A kernel that never writes the scores. run(s, grid, q, k, v, out) launches it.
template <class Run>
void without_scores(Bench& bench, const Problem& p, const Way& way, unsigned group_queries,
                    const Run& run) {
  const auto q = bench.input<element>(p.elements()), k = bench.input<element>(p.kv_elements()),
             v = bench.input<element>(p.kv_elements());
  const auto out = bench.output<element>(p.elements());
  bench.check([=](bool only_written) {
    return check_rows(p, out.data(), q.values(), k.values(), v.values(), only_written);
  });
  const dim3 grid(blocks_of(p.seq, p.causal, group_queries), static_cast<unsigned>(p.heads));
  bench.work({.useful_bytes = p.shape.operand_bytes(),
              .flops = p.shape.flops(),
              .law = tiled_law(bench, p, double{1} * grid.x * grid.y, way),
              .law_tolerance = way.tolerance});
  note_memory(bench, q, k, v, out);
  bench.run([&](cudaStream_t s) { run(s, grid, q.data(), k.data(), v.data(), out.data()); });
}

void tiled_row(Bench& bench, const Problem& p) {
  bench.needs_capability(8, "attention by mma.sync of bf16 and cp.async");
  const auto kernel = p.head_dim == 64 ? attention::tiled<64> : attention::tiled<128>;
  const std::size_t shared = p.head_dim == 64 ? shared_bytes<64>() : shared_bytes<128>();
  // Multiplying, weighing and waiting of two blocks do not overlap completely.
  const Way way{.computed = computed_share(p.seq, p.causal),
                .reach = bench.device().find("mma_sync_efficiency").value_or(1),
                .shortest_of_64 = 512,
                .shortest_of_turns = 2048,
                .tolerance = 0.6};
  without_scores(bench, p, way, queries,
                 [&](cudaStream_t s, dim3 grid, auto* q, auto* k, auto* v, auto* out) {
                   launch(kernel, grid, threads, shared, s, q, k, v, out,
                          static_cast<unsigned>(p.seq), static_cast<unsigned>(p.group),
                          scale_of(static_cast<unsigned>(p.head_dim)), p.causal);
                 });
}
void tiled(Bench& bench) { tiled_row(bench, Problem(bench)); }
void grouped_tiled(Bench& bench) { tiled_row(bench, Problem::grouped(bench)); }

// By a kernel that has the copy engine bring tiles, whose blocks have `group_queries` each.
template <class Kernel>
void row_of_tiles(Bench& bench, const Problem& p, Kernel* kernel, unsigned group_queries,
                  unsigned block_threads, std::size_t shared, const Way& way) {
  const auto map = [&](const element* matrix, std::size_t heads) {
    return gpubench::tensor_map(matrix, heads * p.seq, p.head_dim, p.head_dim, rings::tile_rows);
  };
  const std::size_t kv_heads = p.heads / p.group;
  without_scores(bench, p, way, group_queries,
                 [&](cudaStream_t s, dim3 grid, auto* q, auto* k, auto* v, auto* out) {
                   launch(kernel, grid, block_threads, shared, s, map(q, p.heads), map(k, kv_heads),
                          map(v, kv_heads), out, static_cast<unsigned>(p.seq),
                          static_cast<unsigned>(p.group),
                          scale_of(static_cast<unsigned>(p.head_dim)), p.causal);
                 });
}

void wgmma_row(Bench& bench, const Problem& p) {
  if (const std::string why = gpubench::why_no_wgmma(); !why.empty()) bench.skip(why);
  using namespace wgmma_parts;
  // Without a mask, FlashAttention-3, whose way this is, reaches 47 to 66 % of the data sheet's
  // peak with 128 elements per head, and 40 to 50 % with 64 (arXiv 2407.08608, from 512 and 1024
  // tokens on).
  row_of_tiles(bench, p, p.head_dim == 64 ? attention::wgmma<64> : attention::wgmma<128>, queries,
               wgmma_parts::threads, p.head_dim == 64 ? Pipeline<64>::bytes : Pipeline<128>::bytes,
               {.computed = wgmma_parts::computed_share(p.seq, p.causal),
                .reach = 1,
                .shortest_of_64 = 1024,
                .shortest_of_turns = 2048,
                .tolerance = 0.65});
}
void wgmma(Bench& bench) { wgmma_row(bench, Problem(bench)); }
void grouped_wgmma(Bench& bench) { wgmma_row(bench, Problem::grouped(bench)); }

void tcgen05_row(Bench& bench, const Problem& p) {
  if (const std::string why = gpubench::why_no_tcgen05(); !why.empty()) bench.skip(why);
  using namespace tcgen05_parts;
  // FlashAttention-4, whose way this is, reaches up to 71 % of the data sheet's peak
  // (together.ai/blog/flashattention-4).
  row_of_tiles(bench, p, p.head_dim == 64 ? attention::tcgen05<64> : attention::tcgen05<128>,
               group_queries, tcgen05_parts::threads,
               p.head_dim == 64 ? Pipeline<64>::bytes : Pipeline<128>::bytes,
               {.computed = tcgen05_parts::computed_share(p.seq, p.causal),
                .reach = 1,
                .shortest_of_64 = 0,
                .shortest_of_turns = 0,
                .tolerance = 0.65});
}
void tcgen05(Bench& bench) { tcgen05_row(bench, Problem(bench)); }
void grouped_tcgen05(Bench& bench) { tcgen05_row(bench, Problem::grouped(bench)); }

// --- standard ---

// The library's multiplications and the kernel between them.
class Standard {
 public:
  explicit Standard(const Problem& p)
      : p_(p),
        scores_(GemmShape::dense(GemmType::bf16, p.seq, p.seq, p.head_dim),
                {p.heads, p.head_elements(), p.head_elements(), p.seq * p.seq}),
        results_(GemmShape::textbook(GemmType::bf16, p.seq, p.head_dim, p.seq),
                 {p.heads, p.seq * p.seq, p.head_elements(), p.head_elements()}) {}
  // Has the library's fastest algorithms found on these operands.
  void tune(const element* q, const element* k, const element* v, element* weights, element* out) {
    scores_.tune(q, k, weights);
    results_.tune(weights, v, out);
  }
  void queue(cudaStream_t s, const element* q, const element* k, const element* v, element* weights,
             element* out) const {
    scores_.queue(s, q, k, weights);
    const auto packs = static_cast<unsigned>(p_.seq / chunk),
               rows = static_cast<unsigned>(p_.heads * p_.seq);
    const normalization::Shape shape = normalization::shape_of(packs);
    auto* const kernel = packs <= normalization::few_packs * shape.lanes
                             ? softmax<normalization::few_packs>
                             : softmax<normalization::most_packs>;
    launch(kernel, (rows + shape.rows_a_block - 1) / shape.rows_a_block,
           dim3(shape.lanes, shape.rows_a_block), 0, s, weights, static_cast<unsigned>(p_.seq),
           rows, scale_of(static_cast<unsigned>(p_.head_dim)), p_.causal);
    results_.queue(s, weights, v, out);
  }

 private:
  Problem p_;
  Gemm scores_, results_;
};

// The same at a shape that the model computes, not only prices. "" or what is wrong.
std::string check_in_small(std::size_t head_dim, bool causal) {
  const Problem p(72, head_dim, 2, causal);
  const Generator<element> of_q{1}, of_k{2}, of_v{3};
  const gpubench::DeviceBuffer<element> q(p.elements()), k(p.elements()), v(p.elements()),
      weights(p.heads * p.seq * p.seq), out(p.elements());
  gpubench::fill_random(q.data(), q.size(), of_q);
  gpubench::fill_random(k.data(), k.size(), of_k);
  gpubench::fill_random(v.data(), v.size(), of_v);
  out.set(gpubench::poison_byte);
  Standard(p).queue(nullptr, q.data(), k.data(), v.data(), weights.data(), out.data());
  CUDA_CHECK(cudaDeviceSynchronize());
  return check_rows(p, out.data(), of_q, of_k, of_v, false);
}

// Each of the three steps takes its arithmetic, or its bytes: of the scores, each writes or reads
// all, and softmax both; of causal ones it need not read the half that it overwrites with zeros.
// (No law for scores of at most twice what L2 holds: much stays there from step to step.)
gpubench::Law standard_law(const Bench& bench, const Problem& p, double softmax_bytes) {
  const auto best = bench.device().find("gemm_efficiency"),
             floor = bench.device().find("kernel_floor_seconds"),
             next = bench.device().find("launch_stream_seconds"),
             l2 = bench.device().find("l2_bytes");
  if (!best || !floor || !next || !l2 || p.shape.score_bytes() <= 2 * *l2) return {};
  return [=, shape = p.shape, best = *best, launches = *floor + 2 * *next](const Roofs& roofs) {
    const double dram = roofs.at("dram"),
                 multiplication = 2 * shape.heads * shape.seq * shape.seq * shape.head_dim /
                                  (best * roofs.at("tensor_bf16")),
                 bytes = (shape.score_bytes() + 0.75 * shape.operand_bytes()) / dram;
    return shape.flops() / (2 * std::max(multiplication, bytes) + softmax_bytes / dram + launches);
  };
}

void standard(Bench& bench) {
  const Problem p(bench);
  Standard way = [&] {
    try {
      return Standard(p);
    } catch (const gpubench::GemmUnavailable& why) {
      bench.skip(why.what());
    }
  }();
  const auto q = bench.input<element>(p.elements()), k = bench.input<element>(p.elements()),
             v = bench.input<element>(p.elements());
  const auto out = bench.output<element>(p.elements());
  const auto weights = bench.output<element>(p.heads * p.seq * p.seq);
  gpubench::tune_on_operands(bench, out, [=, &way] {
    way.tune(q.data(), k.data(), v.data(), weights.data(), out.data());
  });
  bench.check([=, &bench](bool) {
    return bench.priced() ? check_in_small(p.head_dim, p.causal)
                          : check_rows(p, out.data(), q.values(), k.values(), v.values(), false);
  });
  const double softmax_bytes = (p.causal ? 1.5 : 2) * p.shape.score_bytes();
  bench.work({.useful_bytes = p.shape.operand_bytes(),
              .moved_bytes = 2 * p.shape.score_bytes() + softmax_bytes + p.shape.operand_bytes(),
              .flops = p.shape.flops(),
              .law = standard_law(bench, p, softmax_bytes),
              .law_tolerance = 0.25});
  note_memory(bench, q, k, v, out, weights);
  bench.run([&](cudaStream_t s) {
    way.queue(s, q.data(), k.data(), v.data(), weights.data(), out.data());
  });
}

// A block of 16 Ki keys is a lot of work for the model: in the full suite.
void all_rows(Registration* to) {
  to->Rest(Suite::full)
      ->ArgsProduct(
          {{128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536}, {64, 128}, {0, 1}})
      ->Takes("seq", {128, 65536, 128});
}
Registration* arguments(Registration* to) {
  return to->ArgNames({"seq [tokens]", "head_dim [elements]", "causal"});
}
void rows(Registration* to) {
  arguments(to)->Args({2048, 128, 0})->Args({2048, 128, 1})->Args({4096, 128, 0})->Apply(all_rows);
}
void long_rows(Registration* to) { arguments(to)->Args({4096, 128, 0})->Apply(all_rows); }
void full_rows(Registration* to) { arguments(to)->Apply(all_rows); }
GPU_BENCHMARK(attention, standard)->Apply(rows);
GPU_BENCHMARK(attention, tiled)->Apply(rows);
GPU_BENCHMARK(attention, wgmma)->Apply(long_rows);
GPU_BENCHMARK(attention, tcgen05)->Apply(full_rows);
GPU_BENCHMARK_BY(attention, grouped)
    ->Functions("by",
                {{"tiled", grouped_tiled}, {"wgmma", grouped_wgmma}, {"tcgen05", grouped_tcgen05}})
    ->ArgNames({"seq [tokens]", "kv_heads"})
    ->In(Suite::full)
    ->ArgsProduct({{256, 4096}, {16, 4, 1}});

void gradients(Bench& bench) {
  const auto seq = bench.arg<std::size_t>("seq"), head_dim = bench.arg<std::size_t>("head_dim");
  backward::row(bench, {tokens / seq * hidden / head_dim, seq, head_dim});
}
GPU_BENCHMARK_AS(attention, backward, gradients)
    ->ArgNames({"seq [tokens]", "head_dim [elements]"})
    ->In(Suite::full)
    ->ArgsProduct({{512, 1024, 2048, 4096}, {64, 128}});

GPU_BENCHMARK_AS(attention, decode, decoding::decode)
    ->ArgNames({"batch [sequences]", "context [tokens]", "kv_heads", "page [tokens]"})
    ->Args({16, 8192, 32, 16})
    ->Args({16, 8192, 8, 16})
    ->Args({16, 8192, 8, 0})
    ->Args({1, 65536, 8, 16})
    ->Args({16, 8192, 1, 16})
    ->Rest(Suite::full)
    ->ArgsProduct({{1, 4, 16, 64}, {1024, 8192, 65536}, {32, 8, 1}, {0, 16}})
    ->ArgsProduct({{16}, {8192}, {8}, {32, 64, 128, 256}})
    ->Takes("batch", {1, 64})
    ->Takes("context", {256, 65536})
    ->Takes("page", {0, 256, 16});

}  // namespace
