#include "tests/model/instructions_kernels.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "harness/cuda/launch.hpp"
#include "tests/model/lanes.hpp"

namespace gpubench::kernels {
namespace {

__global__ void branch_to_special_kernel(float* out, const float* in, unsigned split) {
  const float x = in[threadIdx.x];
  if (threadIdx.x % 32 < split) {
    out[threadIdx.x] = tanhf(x);
  } else {
    out[threadIdx.x] = rsqrtf(x) + sqrtf(x);
  }
}

__global__ void special_by_trips_kernel(float* out, const float* in) {
  const float x = in[threadIdx.x];
  float sum = 0;
  for (unsigned k = 0; k < threadIdx.x % 4; ++k) sum += __expf(x);
  out[threadIdx.x] = sum;
}

__global__ void all_special_kernel(float* out, const float* in) {
  const float x = in[threadIdx.x], y = 2;
  float* to = out + threadIdx.x;
#define GPUBENCH_OF_ONE(name, operations) *to = name(x), to += blockDim.x;
#define GPUBENCH_OF_TWO(name, operations) *to = name(x, y), to += blockDim.x;
  GPUBENCH_SPECIAL_OF_LIBM(GPUBENCH_OF_ONE)
  GPUBENCH_SPECIAL_OF_LIBM_OF_TWO(GPUBENCH_OF_TWO)
  GPUBENCH_SPECIAL_OF_CUDA(GPUBENCH_OF_ONE)
  GPUBENCH_SPECIAL_OF_CUDA_OF_TWO(GPUBENCH_OF_TWO)
#undef GPUBENCH_OF_ONE
#undef GPUBENCH_OF_TWO
  *to = erff(x);
}

__global__ void votes_in_part_kernel(unsigned* out) {
  const bool first = threadIdx.x % 32 == 0;
  unsigned* to = out + 5 * threadIdx.x;
  to[0] = __ballot_sync(all_lanes, true);
  to[1] = __all_sync(all_lanes, true);
  to[2] = __all_sync(all_lanes, !first);
  to[3] = __any_sync(all_lanes, first);
  to[4] = __any_sync(all_lanes, false);
}

__global__ void votes_without_the_ended_kernel(unsigned* out, unsigned first, unsigned last) {
  const unsigned lane = threadIdx.x;
  if (lane < first || lane >= last) return;
  out[lane] = __ballot_sync(all_lanes, lane % 2 == 1);
  out[32 + lane] = __all_sync(all_lanes, lane >= first && lane < last);
  __syncwarp();
  out[64 + lane] =
      __shfl_sync(all_lanes, lane, static_cast<int>(lane + 1 < last ? lane + 1 : lane));
}

__global__ void one_of_each_kernel(double* wide, unsigned* bins, const float* in) {
  __shared__ float own[32];
  __shared__ unsigned bin;
  const unsigned lane = threadIdx.x, i = blockIdx.x * 32 + lane;
  own[lane] = in[i];
  if (lane == 0) bin = 0;
  __syncthreads();
  float x = own[31 - lane];
  for (int distance = 1; distance < 16; distance *= 2) x += __shfl_xor_sync(all_lanes, x, distance);
  for (int k = 0; k < 5; ++k) x = fmaf(x, 0.5f, 1.0f);
  for (int k = 0; k < 3; ++k) x = __fadd_rn(x, 1.0f);
  x = fminf(fmaxf(x, 2.0f), 5.0f);
  const __nv_bfloat162 pair = __floats2bfloat162_rn(x, 1.0f);
  x = __low2float(pair) + __low2float(__floats2half2_rn(x, 2.0f));
  double y = x;
  for (int k = 0; k < 6; ++k) y = fma(y, 0.5, 1.0);
  atomicAdd(&bin, 1u);
  __syncthreads();
  if (__any_sync(all_lanes, lane == 40)) x = 0;
  __syncwarp();
  own[lane] = x;
  if (lane == 0) atomicAdd(bins, bin);
  wide[i] = y + own[lane] + in[i];
}

constexpr int stored_line_here = __LINE__ + 2;
__global__ void store_one_word_kernel(unsigned* words) {
  if (threadIdx.x == 0) words[7] = 1;
}

__global__ void load_neighbours_kernel(unsigned* words) {
  const unsigned i = blockIdx.x * 32 + threadIdx.x;
  words[i] = i;
  __syncthreads();
  if (blockIdx.x + 1 < gridDim.x) words[gridDim.x * 32 + i] = words[i + 32];
}
constexpr int loaded_line_here = __LINE__ - 2;

__global__ void share_a_sector_kernel(unsigned* words) {
  if (threadIdx.x == 0) reinterpret_cast<unsigned char*>(words)[blockIdx.x] = 1;
}

__global__ void load_one_word_kernel(unsigned* words) {
  words[64 + blockIdx.x * 32 + threadIdx.x] = words[7];
}

__global__ void sum_last_kernel(unsigned* words) {
  if (threadIdx.x != 0) return;
  words[8 + blockIdx.x] = blockIdx.x;
  if (atomicAdd(&words[0], 1u) + 1 < gridDim.x) return;
  for (unsigned block = 0; block < gridDim.x; ++block) words[1] += words[8 + block];
}

}  // namespace

const int stored_line = stored_line_here, loaded_line = loaded_line_here;
void share(Sharing how, unsigned* words, unsigned blocks) {
  const auto kernel = how == Sharing::one_word_stored     ? store_one_word_kernel
                      : how == Sharing::neighbours_loaded ? load_neighbours_kernel
                      : how == Sharing::bytes_of_a_sector ? share_a_sector_kernel
                      : how == Sharing::one_word_loaded   ? load_one_word_kernel
                                                          : sum_last_kernel;
  launch(kernel, blocks, 32, 0, nullptr, words);
}
void branch_to_special(float* out, const float* in, unsigned split, unsigned threads) {
  launch(branch_to_special_kernel, 1, threads, 0, nullptr, out, in, split);
}
void special_by_trips(float* out, const float* in) {
  launch(special_by_trips_kernel, 1, 32, 0, nullptr, out, in);
}
void all_special(float* out, const float* in, unsigned lanes) {
  launch(all_special_kernel, 1, lanes, 0, nullptr, out, in);
}
void votes_in_part(unsigned* out, unsigned threads) {
  launch(votes_in_part_kernel, 1, threads, 0, nullptr, out);
}
void votes_without_the_ended(unsigned* out, unsigned first, unsigned last) {
  launch(votes_without_the_ended_kernel, 1, 32, 0, nullptr, out, first, last);
}
void one_of_each(double* wide, unsigned* bins, const float* in, unsigned blocks) {
  launch(one_of_each_kernel, blocks, 32, 0, nullptr, wide, bins, in);
}

}  // namespace gpubench::kernels
