#include "tests/model/pipeline_kernels.hpp"

#include <cuda_pipeline_primitives.h>

#include "bulk_copy.hpp"
#include "harness/cuda/launch.hpp"

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
__global__ void copy_wrongly_kernel(CopyMistake mistake, float* out, const float* in) {
  __shared__ float stage[32];
  float* target = stage;
  const float* source = in;
  std::size_t bytes = 8, zeros = 0;
  if (mistake == CopyMistake::size) bytes = 12;
  if (mistake == CopyMistake::zeros) zeros = 9;
  if (mistake == CopyMistake::target) target = stage + 1;
  if (mistake == CopyMistake::source) source = in + 1;
  if (mistake == CopyMistake::to_global) target = out;
  if (mistake == CopyMistake::from_shared) source = stage;
  __pipeline_memcpy_async(target, source, bytes, zeros);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  out[0] = stage[0];
}

__global__ void read_early_kernel(Early early, float* out, const float* in) {
  __shared__ float stage[2][32];
  const unsigned lane = threadIdx.x;
  for (unsigned s = 0; s < 2; ++s) {
    __pipeline_memcpy_async(&stage[s][lane], &in[lane], 4);
    if (early != Early::no_commit || s == 0) __pipeline_commit();
  }
  if (early == Early::barrier_first) __syncthreads();
  if (early == Early::store) stage[1][lane] = 0;
  if (early != Early::no_wait) __pipeline_wait_prior(early == Early::short_wait ? 1 : 0);
  if (early != Early::no_barrier && early != Early::barrier_first) __syncthreads();
  out[lane] = stage[0][31 - lane];
  out[lane] += stage[1][31 - lane];
}

__global__ void read_of_first_kernel(float* out, const float* in) {
  __shared__ float stage[32];
  __pipeline_memcpy_async(&stage[threadIdx.x], &in[threadIdx.x], 4);
  __pipeline_commit();
  __syncthreads();
  __pipeline_wait_prior(0);
  out[threadIdx.x] = stage[0];
}

constexpr unsigned bulk_floats = 64;

__global__ void copy_in_bulk_kernel(Bulk bulk, float* out, const float* in) {
  __shared__ __align__(16) float stage[bulk_floats];
  __shared__ Mbarrier arrived;
  const unsigned thread = threadIdx.x;
  if (thread == 0 && bulk != Bulk::no_barrier) mbarrier_init(&arrived);
  if (bulk != Bulk::unmet_barrier) __syncthreads();
  if (thread == 0) {
    unsigned bytes = sizeof(stage);
    if (bulk == Bulk::size) bytes = 12;
    mbarrier_expect(&arrived, bytes + (bulk == Bulk::lost_bytes ? 16 : 0));
    if (bulk == Bulk::second_arrival) mbarrier_expect(&arrived, bytes);
    const float* from = in + (bulk == Bulk::misaligned ? 1 : bulk == Bulk::beyond ? 4 : 0);
    bulk_copy(stage, from, bytes, &arrived);
  }
  const bool waits = thread == 0 || (bulk != Bulk::one_waits && bulk != Bulk::one_waits_for_all);
  if (waits) mbarrier_wait(&arrived, bulk == Bulk::wrong_phase ? 1 : 0);
  if (bulk == Bulk::one_waits_for_all) __syncthreads();
  out[thread] = stage[bulk_floats - 1 - thread];
}

__global__ void sum_bulk_tiles_kernel(float* out, const float* in, unsigned tiles) {
  __shared__ __align__(16) float stage[2][bulk_floats];
  __shared__ Mbarrier arrived[2];
  const unsigned thread = threadIdx.x;
  if (thread == 0) mbarrier_init(&arrived[0]);
  if (thread == 0) mbarrier_init(&arrived[1]);
  __syncthreads();
  float sum = 0;
  for (unsigned tile = 0; tile <= tiles; ++tile) {
    if (tile > 0) mbarrier_wait(&arrived[(tile - 1) % 2], (tile - 1) / 2 % 2);
    __syncthreads();
    if (thread == 0 && tile < tiles) {
      mbarrier_expect(&arrived[tile % 2], sizeof(stage[0]));
      bulk_copy(stage[tile % 2], in + tile * bulk_floats, sizeof(stage[0]), &arrived[tile % 2]);
    }
    if (tile > 0) sum += stage[(tile - 1) % 2][bulk_floats - 1 - thread];
  }
  out[thread] = sum;
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
void copy_wrongly(CopyMistake mistake, float* out, const float* in) {
  launch(copy_wrongly_kernel, 1, 1, 0, nullptr, mistake, out, in);
}
void read_early(Early early, float* out, const float* in) {
  launch(read_early_kernel, 1, 32, 0, nullptr, early, out, in);
}
void read_of_first(float* out, const float* in) {
  launch(read_of_first_kernel, 1, 32, 0, nullptr, out, in);
}
void copy_in_bulk(Bulk bulk, float* out, const float* in) {
  launch(copy_in_bulk_kernel, 1, bulk_floats, 0, nullptr, bulk, out, in);
}
void sum_bulk_tiles(float* out, const float* in, unsigned tiles) {
  launch(sum_bulk_tiles_kernel, 1, bulk_floats, 0, nullptr, out, in, tiles);
}

}  // namespace gpubench::kernels
