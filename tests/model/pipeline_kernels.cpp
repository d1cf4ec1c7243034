#include "tests/model/pipeline_kernels.hpp"

#include <cuda_pipeline_primitives.h>

#include "harness/gpu/launch.hpp"

namespace gpubench::kernels {
namespace {

template <class T>
__global__ void copy_kernel(T* out, const T* in, std::size_t zeros) {
  __shared__ T stage[32];
  const unsigned lane = threadIdx.x;
  __pipeline_memcpy_async(&stage[lane], &in[lane], sizeof(T), zeros);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  out[31 - lane] = stage[31 - lane];
}

template <unsigned stages>
__global__ void sum_kernel(float* out, const float* in, unsigned tiles) {
  __shared__ float stage[stages][32];
  const unsigned lane = threadIdx.x;
  for (unsigned tile = 0; tile + 1 < stages; ++tile) {
    if (tile < tiles) __pipeline_memcpy_async(&stage[tile][lane], &in[tile * 32 + lane], 4);
    __pipeline_commit();
  }
  float sum = 0;
  for (unsigned tile = 0; tile < tiles; ++tile) {
    const unsigned next = tile + stages - 1;
    if (next < tiles)
      __pipeline_memcpy_async(&stage[next % stages][lane], &in[next * 32 + lane], 4);
    __pipeline_commit();
    __pipeline_wait_prior(stages - 1);
    __syncthreads();
    sum += stage[tile % stages][31 - lane];
    __syncthreads();
  }
  out[lane] = sum;
}

constexpr int wrong_line = __LINE__ + 12;
__global__ void copy_wrongly_kernel(Mistake mistake, float* out, const float* in) {
  __shared__ float stage[32];
  float* target = stage;
  const float* source = in;
  std::size_t bytes = 8, zeros = 0;
  if (mistake == Mistake::size) bytes = 12;
  if (mistake == Mistake::zeros) zeros = 9;
  if (mistake == Mistake::target) target = stage + 1;
  if (mistake == Mistake::source) source = in + 1;
  if (mistake == Mistake::to_global) target = out;
  if (mistake == Mistake::from_shared) source = stage;
  __pipeline_memcpy_async(target, source, bytes, zeros);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  out[0] = stage[0];
}

}  // namespace

const int copy_line = wrong_line;

void copy_through_shared(unsigned width, void* out, const void* in, std::size_t zeros) {
  const auto run = [&]<class T>(T) {
    launch(copy_kernel<T>, 1, 32, 0, nullptr, static_cast<T*>(out), static_cast<const T*>(in),
           zeros);
  };
  if (width == 4) run(float{});
  if (width == 8) run(float2{});
  if (width == 16) run(float4{});
}
void sum_tiles(unsigned stages, float* out, const float* in, unsigned tiles) {
  const auto kernel = stages == 1 ? sum_kernel<1> : stages == 2 ? sum_kernel<2> : sum_kernel<4>;
  launch(kernel, 1, 32, 0, nullptr, out, in, tiles);
}
void copy_wrongly(Mistake mistake, float* out, const float* in) {
  launch(copy_wrongly_kernel, 1, 1, 0, nullptr, mistake, out, in);
}

}  // namespace gpubench::kernels
