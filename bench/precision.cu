// precision: which dtype, and what does it lose?
//
// Expected  On the Tensor Cores, from tf32 down, half the bits give about twice the rate, and cost
//           accuracy: rounding random operands to nearest loses sqrt(2/7) u, where u is half of the
//           step from 1 to the next number: 2.1e-3 in bf16, 2.6e-4 in fp16 and tf32, 3.6e-2 in fp8.
//           Sums add their own error: in fp32 it is small, in fp16 (`fp16_acc16`) it exceeds that
//           of the operands and grows as sqrt(k). Outliers ruin int8; floating-point types do not
//           mind. `emulated` builds an accurate product from several cheap ones. `tcgen05` is a
//           kernel of the suite's own, which loses what the library loses with the same scales;
//           in `tcgen05_pair` two SMs multiply a tile together, and each loads half of B for it.
// Units     n [elements]: D[n][n] = sum of A[n][n] * B[n][n], uniform in [-1, 1). One in 1024
//           of `outliers` is 32 times larger. relative_error is ||D - D64|| / ||D64||
//           (Frobenius), of elements spread over D; error_law is what theory says. `emulated`
//           counts the FLOPs of the multiplication that it stands for. scale [factor of the loss,
//           and so of gradients]; flushed_fraction is the share of gradients that became zero.
// Confirm   ncu --metrics sm__inst_executed_pipe_tensor.sum; `unit` is what the library reports
#include "kernels/precision.cuh"

#include <algorithm>
#include <cmath>

#include "harness/bench/bench.hpp"
#include "harness/bench/precision/emulated_row.hpp"
#include "harness/bench/precision/library_row.hpp"
#include "harness/bench/precision/tcgen05_row.hpp"

namespace {

using namespace precision;
using gpubench::GemmType;

Contents contents_of(const Bench& bench) {
  const std::string& words = bench.axis("contents");
  return words == "uniform"    ? Contents::uniform
         : words == "outliers" ? Contents::outliers
         : words == "zeros"    ? Contents::zeros
                               : Contents::constant;
}

// --- the library's rows ---

// The scale that makes a matrix's largest element that of the format; for constants the power of
// two below, so that Tensor Cores whose sums keep 14 bits (fp8 on Ada and Hopper) add them up
// exactly.
double scale_of(const Values& values, double largest) {
  if (largest <= 1) return 1;
  return values.contents == Contents::constant ? std::exp2(std::floor(std::log2(largest)))
                                               : largest / values.largest();
}

template <GemmType type, class A, class Out, class B = A>
void scaled_as_a_whole(Bench& bench, double largest_a = 1, double largest_b = 1) {
  const auto n = bench.arg<std::size_t>("n");
  const Values a{contents_of(bench), 1, n}, b{contents_of(bench), 2, n};
  const double scale_a = scale_of(a, largest_a), scale_b = scale_of(b, largest_b);
  library_row<Out>(bench, Matrix<Rounded<A>>{{a, scale_a}, n, type},
                   Matrix<Rounded<B>>{{b, scale_b}, n, type}, 1 / (scale_a * scale_b));
}

template <GemmType type, class Format>
void scaled_by_blocks(Bench& bench) {
  const auto n = bench.arg<std::size_t>("n");
  const Format a{{contents_of(bench), 1, n}}, b{{contents_of(bench), 2, n}};
  library_row<float>(bench, Matrix<Format>{a, n, type}, Matrix<Format>{b, n, type},
                     a.unscale() * b.unscale());
}

void gemm(Bench& bench) {
  using enum GemmType;
  const std::string& dtype = bench.axis("dtype");
  if (dtype == "fp64") return scaled_as_a_whole<fp64, double, double>(bench);
  if (dtype == "fp32") return scaled_as_a_whole<fp32, float, float>(bench);
  if (dtype == "tf32") return scaled_as_a_whole<tf32, float, float>(bench);
  if (dtype == "fp16") return scaled_as_a_whole<fp16, __half, float>(bench);
  if (dtype == "fp16_acc16") return scaled_as_a_whole<fp16_acc16, __half, __half>(bench);
  if (dtype == "bf16") return scaled_as_a_whole<bf16, __nv_bfloat16, float>(bench);
  if (dtype == "fp8")
    return scaled_as_a_whole<fp8, __nv_fp8_e4m3, float>(bench, largest_e4m3, largest_e4m3);
  if (dtype == "fp8_e5m2")
    return scaled_as_a_whole<fp8_e5m2, __nv_fp8_e5m2, float, __nv_fp8_e4m3>(bench, largest_e5m2,
                                                                            largest_e4m3);
  if (dtype == "mxfp8") return scaled_by_blocks<mxfp8, Mxfp8>(bench);
  if (dtype == "nvfp4") return scaled_by_blocks<nvfp4, Nvfp4>(bench);
  scaled_as_a_whole<int8, std::int8_t, std::int32_t>(bench, largest_int8, largest_int8);
}

const std::vector<std::string> wide{"fp64", "fp32", "tf32", "fp16", "fp16_acc16", "bf16"},
    narrow{"fp8", "int8", "nvfp4", "fp8_e5m2", "mxfp8"};
void types(Registration* to) {
  to->Axis("dtype", {"fp64", "fp32", "fp16", "fp16_acc16", "bf16", "fp8", "int8", "nvfp4"});
  to->Axis("contents", {"uniform"})->ArgName("n [elements]")->Arg(8192);
  to->Rest(Suite::full)->Axis("dtype", wide)->Each({1024, 4096, 8192, 16384});
  to->Rest(Suite::full)->Axis("dtype", narrow)->Each({8192, 16384});
  for (const auto& some : {wide, narrow}) {
    to->Rest(Suite::full)->Axis("dtype", some)->Axis("contents", {"outliers"})->Arg(8192);
  }
}
GPU_BENCHMARK(precision, gemm)->Apply(types);
GPU_BENCHMARK_AS(precision, inputs, gemm)
    ->Axis("dtype", {"bf16", "fp8"})
    ->Axis("contents", {"uniform", "zeros", "constant"})
    ->ArgName("n [elements]")
    ->In(Suite::full)
    ->Arg(8192);

// --- the same by a kernel of the suite's own ---

template <unsigned blocks>
void by_tcgen05(Bench& bench) {
  return bench.axis("dtype") == "mxfp8"
             ? tcgen05_row<GemmType::mxfp8, Mxfp8, blocks>(bench, contents_of(bench))
             : tcgen05_row<GemmType::nvfp4, Nvfp4, blocks>(bench, contents_of(bench));
}
void with_block_scales(Registration* to) {
  to->Axis("dtype", {"mxfp8", "nvfp4"})->Axis("contents", {"uniform"});
  to->ArgName("n [elements]", {256, 16384, 256})->In(Suite::full)->Each({2048, 4096});
  to->Rest(Suite::full)->Axis("dtype", {"mxfp8", "nvfp4"})->Axis("contents", {"outliers"});
  to->Arg(2048);
}
GPU_BENCHMARK_AS(precision, tcgen05, by_tcgen05<1>)->Apply(with_block_scales);
GPU_BENCHMARK_AS(precision, tcgen05_pair, by_tcgen05<2>)->Apply(with_block_scales);

// --- many bits from products of few ---

void emulated(Bench& bench) {
  const std::string& by = bench.axis("by");
  const auto k = static_cast<double>(bench.arg("n"));
  const double step = gemm_step(GemmType::bf16, bench.device().compute_capability());
  using Bf16 = __nv_bfloat16;
  if (by == "bf16x3")
    return emulated_row<float, Bf16, float, float, 2>(bench, GemmType::bf16,
                                                      bf16_parts_loss(2, k, step));
  if (by == "bf16x6")
    return emulated_row<float, Bf16, float, float, 3>(bench, GemmType::bf16,
                                                      bf16_parts_loss(3, k, step));
  if (by == "int8x28")
    return emulated_row<double, std::int8_t, std::int32_t, double, 7>(bench, GemmType::int8,
                                                                      int8_parts_loss(7));
  emulated_row<double, std::int8_t, std::int32_t, double, 8>(bench, GemmType::int8,
                                                             int8_parts_loss(8));
}
GPU_BENCHMARK(precision, emulated)
    ->Axis("by", {"bf16x3", "int8x36"})
    ->ArgName("n [elements]")
    ->Arg(4096)
    ->Rest(Suite::full)
    ->Axis("by", {"bf16x3", "bf16x6", "int8x28", "int8x36"})
    ->Arg(4096);

// --- sums ---

template <class Order>
void sum_row(Bench& bench, double law) {
  constexpr std::size_t columns = std::size_t{1} << 18, looked_at = sum_threads;
  const auto n = bench.arg<unsigned>("n");
  const Addends addends{1};
  const auto in = bench.input<float>(n * columns, addends);
  const auto out = bench.output<float>(columns);
  bench.verify(out, ExpectedSum<Order>{{addends}, n, columns});
  double error = NAN;
  bench.check([=, &error](bool) {
    std::vector<float> got(looked_at);
    CUDA_CHECK(
        cudaMemcpy(got.data(), out.data(), got.size() * sizeof(float), cudaMemcpyDeviceToHost));
    double lost = 0, all = 0;
    for (std::size_t column = 0; column < looked_at; ++column) {
      if (gpubench::is_poison(got[column])) continue;
      double sum = 0;
      for (unsigned i = 0; i < n; ++i) sum += addends(i * columns + column);
      lost += (got[column] - sum) * (got[column] - sum);
      all += sum * sum;
    }
    error = std::sqrt(lost / all);
    return gpubench::judge_error(error, law, 0, law);
  });
  bench.work({.useful_bytes = static_cast<double>((n + 1) * columns * sizeof(float)),
              .law = law_of_roof("dram"),
              .law_tolerance = 0.15});
  bench.run([&](cudaStream_t s) {
    launch(sum_columns<Order>, columns / sum_threads, sum_threads, 0, s, in.data(), out.data(), n,
           columns);
  });
  bench.counter("relative_error", error);
  bench.counter("error_law", law);
}

template <class Sum>
void sum_of(Bench& bench, double u) {
  const auto n = static_cast<double>(bench.arg("n"));
  return bench.axis("order") == "running" ? sum_row<Running<Sum>>(bench, running_sum_loss(u, n))
                                          : sum_row<Pairwise<Sum>>(bench, pairwise_sum_loss(u));
}
void long_sum(Bench& bench) {
  const std::string& dtype = bench.axis("dtype");
  return dtype == "bf16"   ? sum_of<__nv_bfloat16>(bench, u_bf16)
         : dtype == "fp16" ? sum_of<__half>(bench, u_fp16)
                           : sum_of<float>(bench, u_fp32);
}
GPU_BENCHMARK(precision, long_sum)
    ->Axis("dtype", {"bf16"})
    ->Axis("order", {"running", "pairwise"})
    ->ArgName("n [addends]")
    ->Arg(2048)
    ->Rest(Suite::full)
    ->Axis("dtype", {"fp16", "fp32"})
    ->Arg(2048)
    ->Rest(Suite::full)
    ->Axis("dtype", {"fp16"})
    ->Axis("order", {"running"})
    ->Arg(8192);

// --- underflow ---

template <class To>
void cast_row(Bench& bench, int smallest) {
  constexpr std::size_t n = std::size_t{1} << 28, looked_at = std::size_t{1} << 11;
  const auto factor = bench.arg<int>("scale");
  int power = 0;
  while (1 << power < factor) ++power;
  const auto scale = static_cast<float>(factor);
  const Gradients gradients{1};
  const auto in = bench.input<float>(n, gradients);
  const auto out = bench.output<To>(n);
  bench.verify(out, ExpectedCast<To>{gradients, scale});
  const double law = flushed_share(smallest, power);
  double flushed = NAN;
  bench.check([=, &flushed](bool) {
    std::vector<To> got(looked_at);
    CUDA_CHECK(cudaMemcpy(got.data(), out.data(), got.size() * sizeof(To), cudaMemcpyDeviceToHost));
    const auto zeros =
        std::count_if(got.begin(), got.end(), [](To x) { return static_cast<float>(x) == 0.0f; });
    flushed = static_cast<double>(zeros) / looked_at;
    return std::abs(flushed - law) < 0.01
               ? std::string()
               : "the share that became zero is " + gpubench::number_text(flushed) + ", expected " +
                     gpubench::number_text(law);
  });
  bench.work({.useful_bytes = static_cast<double>(n * (sizeof(float) + sizeof(To))),
              .law = law_of_roof("dram")});
  bench.run([&](cudaStream_t s) {
    launch(cast<To>, n / (cast_threads * cast_each), cast_threads, 0, s, in.data(), out.data(),
           scale, n);
  });
  bench.counter("flushed_fraction", flushed);
  bench.counter("flushed_law", law);
}
void underflow(Bench& bench) {
  constexpr int smallest_half = -24, smallest_bf16 = -133;
  return bench.axis("dtype") == "fp16" ? cast_row<__half>(bench, smallest_half)
                                       : cast_row<__nv_bfloat16>(bench, smallest_bf16);
}
GPU_BENCHMARK(precision, underflow)
    ->Axis("dtype", {"fp16"})
    ->ArgName("scale [factor]")
    ->Each({1, 1024})
    ->Rest(Suite::full)
    ->Axis("dtype", {"fp16", "bf16"})
    ->Each({1, 16, 1024, 16384});

}  // namespace
