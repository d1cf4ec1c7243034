#include "tests/model/checked_arithmetic_kernels.hpp"

#include <cuda_runtime.h>

#include "harness/cuda/launch.hpp"

namespace gpubench::kernels {
namespace {

template <class From, class To>
__global__ void convert_kernel(To* out, const From* in, unsigned lanes) {
  const unsigned lane = threadIdx.x;
  out[lane] = lane < lanes ? static_cast<To>(in[lane]) : To{0};
}

template <class T>
__global__ void shift_kernel(T* out, const T* numbers, const int* by) {
  const unsigned lane = threadIdx.x;
  T* const mine = out + 3 * lane;
  const T number = numbers[lane];
  mine[0] = number << by[lane];
  mine[1] = number >> by[lane];
  mine[2] = number;
  mine[2] <<= by[lane];
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wreturn-type"
__device__ __noinline__ int of_zero(unsigned lane) {
  if (lane == 0) return 7;
}
#pragma GCC diagnostic pop

__global__ void return_value_kernel(int* out) { out[threadIdx.x] = of_zero(threadIdx.x); }

template <class T, int size>
struct Words {
  T words[size];
  __device__ T operator[](int i) const { return words[i]; }
};

// Each array has a neighbour behind it, into which a small index too large leads.
__global__ void index_kernel(float* out, const int* indices, Indexed array) {
  __shared__ float shared[64], beside[64];
  float local[4] = {1, 2, 3, 4}, behind[4] = {5, 6, 7, 8};
  Words<float, 4> words = {{1, 2, 3, 4}}, more = {{5, 6, 7, 8}};
  const unsigned lane = threadIdx.x;
  const int i = indices[lane];
  shared[lane] = shared[lane + 32] = beside[lane] = beside[lane + 32] = static_cast<float>(lane);
  __syncthreads();
  float sum = behind[lane % 4] + more[static_cast<int>(lane % 4)] + beside[lane];
  if (array == Indexed::shared) sum += shared[i];
  if (array == Indexed::local) sum += local[i];
  if (array == Indexed::member) sum += words[i];
  const float* const end = shared + 64;  // no access
  out[lane] = end[-1] + sum;
}

template <unsigned words>
__global__ void fill_static_shared_kernel(unsigned* out) {
  __shared__ unsigned many[words];
  many[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = many[31 - threadIdx.x];
}

}  // namespace

void fill_static_shared(unsigned bytes, unsigned* out) {
  constexpr unsigned most = 49152;
  launch(
      bytes == most ? fill_static_shared_kernel<most / 4> : fill_static_shared_kernel<most / 4 + 1>,
      1, 32, 0, nullptr, out);
}
void index(float* out, const int* indices, Indexed array) {
  launch(index_kernel, 1, 32, 0, nullptr, out, indices, array);
}

template <class From, class To>
void convert(To* out, const From* in, unsigned lanes) {
  launch(convert_kernel<From, To>, 1, 32, 0, nullptr, out, in, lanes);
}
template void convert(int*, const float*, unsigned);
template void convert(int*, const double*, unsigned);
template void convert(int*, const __half*, unsigned);
template void convert(unsigned*, const float*, unsigned);
template void convert(unsigned char*, const float*, unsigned);
template void convert(long long*, const float*, unsigned);
template void convert(unsigned long long*, const double*, unsigned);

template <class T>
void shift(T* out, const T* numbers, const int* by) {
  launch(shift_kernel<T>, 1, 32, 0, nullptr, out, numbers, by);
}
template void shift(int*, const int*, const int*);
template void shift(unsigned*, const unsigned*, const int*);
template void shift(long long*, const long long*, const int*);

void return_value_of_zero(int* out) { launch(return_value_kernel, 1, 2, 0, nullptr, out); }

}  // namespace gpubench::kernels
