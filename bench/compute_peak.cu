// compute_peak: how close do kernels come to the peak compute rate?
//
// Expected  At least 98 % of the peak, which is operations per clock and SM x SMs x the observed
//           clock, except by mma.sync on Hopper and data-centre Blackwell: there it reaches about
//           two thirds of wgmma's rate, and a quarter of tcgen05's (as on a B300). The kernels wait
//           for nothing but arithmetic, and a loop of hundreds of multiply-adds has only three
//           other instructions. The data sheet's peak may differ, because it may assume another
//           clock. In `tcgen05_pair` two SMs make each product together, at the rate of two.
// Units     dtype is the type of the factors: mxfp8 and nvfp4 have a scale for each 32 and 16
//           elements along k. Sums are fp32, except int32 for int8 and fp64 for fp64. A
//           multiply-add is two operations, except in int32 (IMAD), where it is one. `fma` runs 128
//           blocks of 256 threads per SM, the other kernels 64 blocks of 128.
// Confirm   ncu --metrics sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active (fp64, fp16,
//           alu; tensor: sm__inst_executed_pipe_tensor)
#include "harness/bench/compute_peak/rows.hpp"

namespace {

using namespace compute_peak;
using gpubench::type;

GPU_BENCHMARK_OF_TYPE(compute_peak, fma, rows::fma_row<T>)
    ->Axis("dtype", type<Fp32>("fp32"), type<Fp64>("fp64"), type<Fp16x2>("fp16x2"),
           type<Int32>("int32"), type<Bf16x2>("bf16x2"))
    ->ForRoofs();
GPU_BENCHMARK_OF_TYPE(compute_peak, mma, rows::mma_row<T>)
    ->Axis("dtype", type<Bf16>("bf16"), type<Fp16>("fp16"), type<Tf32>("tf32"), type<Int8>("int8"),
           type<TensorFp64>("fp64"), type<Fp8>("fp8"))
    ->ForRoofs();
// The rest of the same kernel's rows: types whose blocks along k have scales.
GPU_BENCHMARK_OF_TYPE(compute_peak, mma, rows::scaled_mma_row<T>)
    ->Axis("dtype", type<Mxfp8>("mxfp8"), type<Nvfp4>("nvfp4"))
    ->In(Suite::full)
    ->ForRoofs();
GPU_BENCHMARK_OF_TYPE(compute_peak, wgmma, rows::wgmma_row<T>)
    ->Axis("dtype", type<Bf16>("bf16"), type<Fp16>("fp16"), type<Tf32>("tf32"), type<Int8>("int8"),
           type<Fp8>("fp8"))
    ->ForRoofs();
GPU_BENCHMARK_OF_TYPE(compute_peak, tcgen05, rows::tcgen05_row<T>)
    ->Axis("dtype", type<Bf16>("bf16"), type<Fp16>("fp16"), type<Tf32>("tf32"), type<Int8>("int8"),
           type<Fp8>("fp8"))
    ->ForRoofs();
GPU_BENCHMARK_OF_TYPE(compute_peak, tcgen05_pair, rows::tcgen05_pair_row<T>)
    ->Axis("dtype", type<Bf16>("bf16"), type<Fp16>("fp16"), type<Tf32>("tf32"), type<Int8>("int8"),
           type<Fp8>("fp8"))
    ->In(Suite::full)
    ->ForRoofs();
GPU_BENCHMARK_OF_TYPE(compute_peak, tcgen05, rows::scaled_tcgen05_row<T>)
    ->Axis("dtype", type<Mxfp8>("mxfp8"), type<Nvfp4>("nvfp4"))
    ->In(Suite::full)
    ->ForRoofs();
GPU_BENCHMARK_OF_TYPE(compute_peak, tcgen05_pair, rows::scaled_tcgen05_pair_row<T>)
    ->Axis("dtype", type<Mxfp8>("mxfp8"), type<Nvfp4>("nvfp4"))
    ->In(Suite::full)
    ->ForRoofs();

}  // namespace
