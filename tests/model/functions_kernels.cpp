#include "tests/model/functions_kernels.hpp"

#include "harness/cuda/launch.hpp"

namespace gpubench::kernels {
namespace {

template <class Number, class Pair>
__global__ void functions_kernel(Number* out, Pair* pairs, Number x) {
  const Number one[] = {hexp(x),   hexp2(x),  hexp10(x), hlog(x),   hlog2(x),
                        hlog10(x), hrcp(x),   hrsqrt(x), htanh(x),  hsin(x),
                        hcos(x),   hfloor(x), hceil(x),  htrunc(x), hrint(x)};
  const Pair p(x, x);
  const Pair both[] = {h2exp(p),   h2exp2(p),  h2exp10(p), h2log(p),   h2log2(p),
                       h2log10(p), h2rcp(p),   h2rsqrt(p), h2tanh(p),  h2sin(p),
                       h2cos(p),   h2floor(p), h2ceil(p),  h2trunc(p), h2rint(p)};
  for (unsigned k = 0; k < half_functions; ++k) {
    out[k] = one[k];
    pairs[k] = both[k];
  }
}

__global__ void sines_kernel(double* out, const double* x) {
  const double y = *x;
  out[0] = sinpif(static_cast<float>(y));
  out[1] = cospif(static_cast<float>(y));
  out[2] = sinpi(y);
  out[3] = cospi(y);
}

__global__ void directions_kernel(Rounded* out, float a, float b, float c) {
#define GPUBENCH_IN(way, at)                               \
  out->of_floats[at] = __fadd##way(a, b);                  \
  out->of_floats[at + 1] = __fsub##way(a, b);              \
  out->of_floats[at + 2] = __fmul##way(a, b);              \
  out->of_floats[at + 3] = __fmaf##way(a, b, c);           \
  out->of_doubles[at] = __dadd##way(a, b);                 \
  out->of_doubles[at + 1] = __dsub##way(a, b);             \
  out->of_doubles[at + 2] = __dmul##way(a / 3.0, a / 3.0); \
  out->of_doubles[at + 3] = __fma##way(a / 3.0, a / 3.0, c);
  GPUBENCH_IN(_rz, 0)
  GPUBENCH_IN(_ru, 4)
  GPUBENCH_IN(_rd, 8)
#undef GPUBENCH_IN
  out->root = __frsqrt_rn(a);
}

__global__ void add_kernel(Sums* sums, int* found) {
  atomicAdd(&sums->number, __float2half(1.0f));
  atomicAdd(&sums->pair, __floats2half2_rn(1.0f, 2.0f));
  atomicAdd(&sums->bfloats, __floats2bfloat162_rn(1.0f, 2.0f));
  const int lane = static_cast<int>(threadIdx.x);
  atomicAdd_block(&sums->of_block, lane);
  atomicMax_system(&sums->of_system, lane);
  found[lane] = atomicCAS_block(&sums->compared, lane, lane + 1);
}

constexpr int beyond_line_here = __LINE__ + 1;
__global__ void add_beyond_kernel(int* words) { atomicAdd_block(words + 64, 1); }

}  // namespace

const int beyond_line = beyond_line_here;
void half_functions_of(__half* out, __half2* pairs, __half x) {
  launch(functions_kernel<__half, __half2>, 1, 1, 0, nullptr, out, pairs, x);
}
void bfloat_functions_of(__nv_bfloat16* out, __nv_bfloat162* pairs, __nv_bfloat16 x) {
  launch(functions_kernel<__nv_bfloat16, __nv_bfloat162>, 1, 1, 0, nullptr, out, pairs, x);
}
void sines_of_pi_times(double* out, const double* x) {
  launch(sines_kernel, 1, 1, 0, nullptr, out, x);
}
void rounded_by_direction(Rounded* out, float a, float b, float c) {
  launch(directions_kernel, 1, 1, 0, nullptr, out, a, b, c);
}
void add_atomically(Sums* sums, int* found) { launch(add_kernel, 1, 32, 0, nullptr, sums, found); }
void add_beyond(int* words) { launch(add_beyond_kernel, 1, 1, 0, nullptr, words); }

}  // namespace gpubench::kernels
