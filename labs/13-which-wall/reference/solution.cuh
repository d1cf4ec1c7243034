// A: no wait in the loop, and one kernel for all tensors. B: each word of the optimizer moves once.
// C: all workers of the loader have something to do, all the time.
#pragma once

#include <cuda_runtime.h>

#include <cmath>

static void step_a(float* on_device, float* losses, unsigned n, cudaStream_t stream) {
  for (unsigned step = 0; step < n; ++step) {
    learn(step, on_device + step, stream);
    update_all(stream);
  }
  cudaMemcpyAsync(losses, on_device, n * sizeof(float), cudaMemcpyDeviceToHost, stream);
}

// One element of all seven passes.
static __device__ void optimize(float& weight, float gradient, float& mean, float& power) {
  mean = fmaf(mean_kept, mean, (1 - mean_kept) * gradient);
  power = fmaf(power_kept, power, (1 - power_kept) * (gradient * gradient));
  weight = fmaf(-rate, mean / (sqrtf(power) + smallest), weight * kept);
}

static __global__ void finish(float* weight, const float* gradient, float* mean, float* power,
                              const float* scratch, unsigned n) {
  (void)scratch;
  const unsigned i = 4 * (blockIdx.x * 256 + threadIdx.x);
  if (i >= n) return;
  float4 w = *reinterpret_cast<const float4*>(weight + i);
  float4 m = *reinterpret_cast<const float4*>(mean + i);
  float4 p = *reinterpret_cast<const float4*>(power + i);
  const float4 g = *reinterpret_cast<const float4*>(gradient + i);
  optimize(w.x, g.x, m.x, p.x);
  optimize(w.y, g.y, m.y, p.y);
  optimize(w.z, g.z, m.z, p.z);
  optimize(w.w, g.w, m.w, p.w);
  *reinterpret_cast<float4*>(weight + i) = w;
  *reinterpret_cast<float4*>(mean + i) = m;
  *reinterpret_cast<float4*>(power + i) = p;
}

static void step_b(unsigned n, cudaStream_t stream) {
  for (unsigned step = 0; step < n; ++step) {
    learn_wide(step, stream);
    run_finish(stream);
  }
}

static void step_c(unsigned n, cudaStream_t stream) {
  unsigned asked = 0;
  for (unsigned batch = 0; batch < n; ++batch) {
    while (asked < n && asked < batch + most_asked) ask(asked++);
    learn_from(batch, stream);
    update_all(stream);
  }
}
