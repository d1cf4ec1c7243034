// gemm_batch: how many tokens per batch make a layer compute-bound?
//
// Expected  A layer reads its weights once, for however many tokens. Up to the ridge, m tokens
//           therefore take as long as one: memory sets the pace, and tokens per second grow with m.
//           Beyond the ridge, arithmetic does, and they grow no more. At the ridge, multiplying
//           takes as long as reading: about 190 tokens of bf16 on an H200, and 180 of fp8, which
//           nearly doubles the FLOP/s and halves the bytes per weight. Around it, `library` takes
//           longer than the law, since loading and multiplying overlap only in part. Weights of
//           half the bits take half the time, until only the launch is left: four bits with a scale
//           per 128 weights have 1/3.88 of the bytes of 16, and take 1/2.9 of the time with the
//           launch. The suite's own kernels (`gemv`) have no Tensor Cores. With four bits, they
//           stop growing at about 4 tokens, where L1 is the limit; with bf16, they still grow at 8.
//           The experts of a mixture are one layer each. `separate` products cost the spacing of
//           their launches on top of reading their weights. `batched` is one
//           launch of the library, which pads each expert to the fullest one: free while memory
//           sets the pace. `one_launch` is the suite's own kernel, which pads to four tokens and
//           has no Tensor Cores.
// Units     m [tokens], n, k [elements]: Y[m][n] = sum of X[m][k] * W[n][k]. Layers are those of
//           Llama 3: 14336 x 4096 and 4096 x 4096 of 8B, 28672 x 8192 of 70B. tokens_per_second is
//           m over the time of this layer alone, ridge_tokens the ridge by the device file. In
//           `grouped`, m is an expert's average: 128 experts of 768 x 2048 (Qwen3 30B-A3B), or 8 of
//           14336 x 4096 (Mixtral 8x7B). `uneven`: of every four experts, the first has m
//           tokens, and the others m/2, m/4 and the rest. A token that visits several experts (8
//           of 128, 2 of 8) counts once for each. padding_fraction is the share of multiplied rows
//           that are no tokens: those up to the fullest expert (`batched`) and to whole tiles, of
//           `one_launch` to four rows. ridge_tokens is absent where memory is the limit at any m.
// Confirm   ncu --metrics dram__bytes_read.sum.pct_of_peak_sustained_elapsed; `split_k` and `tile`
//           are what the library reports
#include "kernels/gemm_batch.cuh"

#include <cuda_bf16.h>
#include <cuda_fp8.h>

#include <vector>

#include "harness/bench/bench.hpp"
#include "harness/bench/gemm_batch/experts.hpp"
#include "harness/bench/gemm_batch/gemv.hpp"
#include "harness/bench/gemm_batch/library.hpp"

namespace {

using namespace gemm_batch;
using gpubench::GemmType;

// --- the library's products ---

using Rows = std::vector<std::vector<std::int64_t>>;
using Values = std::vector<std::int64_t>;
// n and k of layers of Llama 3: the first half of 8B's MLP, the output of its attention, and the
// first half of 70B's MLP.
const Rows mlp{{14336, 4096}}, all_layers{{14336, 4096}, {4096, 4096}, {28672, 8192}};

Rows rows_of(const Rows& layers, const Values& tokens) {
  Rows rows;
  for (const auto& layer : layers) {
    for (const std::int64_t m : tokens) rows.push_back({m, layer[0], layer[1]});
  }
  return rows;
}

// `usual` numbers of tokens are in the default suite, `all` and other layers in the full one.
void of_layers(Registration* to, Values usual, Values all) {
  to->ArgNames({"m [tokens]", "n [elements]", "k [elements]"})->Rows(rows_of(mlp, usual));
  to->Rest(Suite::full)->Rows(rows_of(all_layers, all));
  to->Takes("n", {64, 65536, 64})->Takes("k", {128, 65536, group});
}
const Values to_4096{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096};
GPU_BENCHMARK_AS(gemm_batch, library, library<__nv_bfloat16, GemmType::bf16>)
    ->Axis("dtype", {"bf16"})
    ->Apply(of_layers, {1, 16, 256, 4096}, to_4096)
    ->Takes("m", {1, 16384});
GPU_BENCHMARK_AS(gemm_batch, library, library<__nv_fp8_e4m3, GemmType::fp8>)
    ->Axis("dtype", {"fp8"})
    ->Apply(of_layers, {1, 4096}, to_4096)
    ->Takes("m", {1, 16384});

// --- our own kernel for few tokens ---

void of_small_batches(Registration* to) { of_layers(to, {1}, {1, 2, 4, 8}); }
GPU_BENCHMARK_BY(gemm_batch, gemv)
    ->Functions("dtype", {{"bf16", bf16_gemv}, {"int4", int4_gemv}})
    ->Apply(of_small_batches);

// --- a mixture of experts ---

void mixtures(Registration* to) {
  to->Axis("split", {"even"})->ArgNames({"experts", "m [tokens]"})->Args({128, 4});
  to->Rest(Suite::full)->Axis("split", {"even"})->ArgsProduct({{8, 128}, {1, 4, 16}});
  to->Rest(Suite::full)->Axis("split", {"uneven"})->ArgsProduct({{8, 128}, {4, 16}});
}
GPU_BENCHMARK_BY(gemm_batch, grouped)
    ->Functions("by", {{"separate", separate_products},
                       {"batched", batched_product},
                       {"one_launch", one_launch}})
    ->Apply(mixtures);

}  // namespace
