// Those of emulator_kernels.hpp whose lanes go different ways.
#include "harness/cuda/launch.hpp"
#include "tests/model/emulator_kernels.hpp"

namespace gpubench::kernels {
namespace {

__global__ void branch_kernel(float* out, float* other, const float* a, const float* b,
                              unsigned split) {
  const unsigned lane = threadIdx.x;
  if (lane < split) {
    out[lane] = a[lane];
  } else {
    other[lane] = 2 * b[lane];
  }
  out[32 + lane] = 1;
}

__global__ void lane_trips_kernel(float* out, const float* in) {
  const unsigned lane = threadIdx.x;
  float sum = 0;
  for (unsigned k = 0; k < lane; ++k) sum += in[k * 32 + lane];
  out[lane] = sum;
}

__global__ void alternate_kernel(float* out, const float* a, const float* b, unsigned trips) {
  const unsigned lane = threadIdx.x;
  float sum = 0;
  for (unsigned k = 0; k < trips; ++k) {
    if ((lane + k) % 2 == 1) {
      sum += a[k * 32 + lane];
    } else {
      sum -= 2 * b[k * 32 + lane];
    }
  }
  out[lane] = sum;
}

__global__ void break_kernel(float* out, const float* in, unsigned trips) {
  const unsigned lane = threadIdx.x;
  float sum = 0;
  for (unsigned k = 0; k < trips; ++k) {
    if (k == lane % 7) break;
    sum += in[k * 32 + lane];
  }
  out[lane] = sum;
}

__global__ void store_and_break_kernel(float* out, const float* in, unsigned trips) {
  const unsigned lane = threadIdx.x;
  float sum = 0;
  for (unsigned k = 0; k < trips; ++k) {
    if (k == lane % 7) {
      out[32 + lane] = static_cast<float>(k);
      break;
    }
    sum += in[k * 32 + lane];
  }
  out[lane] = sum;
}

__global__ void skip_kernel(float* out, const float* in, unsigned trips) {
  const unsigned lane = threadIdx.x;
  float sum = 0;
  for (unsigned k = 0; k < trips; ++k) {
    if ((lane + k) % 2 == 1) continue;
    sum += in[k * 32 + lane];
  }
  out[lane] = sum;
}

__global__ void nested_trips_kernel(float* out, const float* in) {
  const unsigned lane = threadIdx.x;
  float sum = 0;
  for (unsigned j = 0; j < lane % 4; ++j) {
    for (unsigned k = 0; k <= j; ++k) sum += in[(j * 4 + k) * 32 + lane];
  }
  out[lane] = sum;
}

__attribute__((noinline)) __device__ float sum_two(const float* in) { return in[0] + in[32]; }

__global__ void call_kernel(float* out, const float* in, unsigned split) {
  const unsigned lane = threadIdx.x;
  if (lane < split) {
    out[lane] = sum_two(in + lane);
  } else {
    out[lane] = 2 * sum_two(in + 64 + lane);
  }
}

__global__ void return_early_kernel(float* out, const float* in, unsigned trips) {
  const unsigned lane = threadIdx.x;
  float sum = 0;
  for (unsigned k = 0; k < trips + lane % 2; ++k) {
    if (k == lane % 7) return;
    sum += in[k * 32 + lane];
  }
  out[lane] = sum;
}

__global__ void walk_kernel(float* out, const float* in, unsigned seed) {
  const unsigned thread = threadIdx.x;
  const auto chosen = [&](unsigned what, unsigned j, unsigned k, unsigned one_in) {
    return choice(seed, what, j, k, thread, one_in);
  };
  const auto at = [&](unsigned site, unsigned j, unsigned k) {
    return in[((site * walk_trips + j) * walk_inner_trips + k) * 128 + thread];
  };
  float sum = 0;
  for (unsigned j = 0; j < walk_trips; ++j) {
    if (chosen(0, j, 0, 6)) break;
    if (chosen(1, j, 0, 2)) {
      sum += at(0, j, 0);
      if (chosen(2, j, 0, 3)) continue;
      sum = 2 * sum + at(1, j, 0);
    } else {
      for (unsigned k = 0; k < walk_inner_trips; ++k) {
        if (chosen(3, j, k, 4)) continue;
        sum -= at(2, j, k);
        if (chosen(4, j, k, 5)) break;
        if (chosen(5, j, k, 2)) sum = 3 * sum + at(3, j, k);
      }
    }
    sum = sum / 2 + at(4, j, 0);
  }
  out[thread] = sum;
}

}  // namespace

void branch(float* out, float* other, const float* a, const float* b, unsigned split) {
  launch(branch_kernel, 1, 32, 0, nullptr, out, other, a, b, split);
}
void lane_trips(float* out, const float* in) {
  launch(lane_trips_kernel, 1, 32, 0, nullptr, out, in);
}
void alternate(float* out, const float* a, const float* b, unsigned trips) {
  launch(alternate_kernel, 1, 32, 0, nullptr, out, a, b, trips);
}
void break_at(float* out, const float* in, unsigned trips) {
  launch(break_kernel, 1, 32, 0, nullptr, out, in, trips);
}
void store_and_break(float* out, const float* in, unsigned trips) {
  launch(store_and_break_kernel, 1, 32, 0, nullptr, out, in, trips);
}
void skip_alternate(float* out, const float* in, unsigned trips) {
  launch(skip_kernel, 1, 32, 0, nullptr, out, in, trips);
}
void nested_trips(float* out, const float* in) {
  launch(nested_trips_kernel, 1, 32, 0, nullptr, out, in);
}
void call_from_two_places(float* out, const float* in, unsigned split) {
  launch(call_kernel, 1, 32, 0, nullptr, out, in, split);
}
void return_early(float* out, const float* in, unsigned trips) {
  launch(return_early_kernel, 1, 32, 0, nullptr, out, in, trips);
}

void walk(float* out, const float* in, unsigned seed) {
  launch(walk_kernel, 1, 128, 0, nullptr, out, in, seed);
}

}  // namespace gpubench::kernels
