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

// All seven operations on one element.
static __device__ void optimize(float& weight, float gradient, float& exp_avg, float& exp_avg_sq) {
  exp_avg = fmaf(beta1, exp_avg, (1 - beta1) * gradient);
  exp_avg_sq = fmaf(beta2, exp_avg_sq, (1 - beta2) * (gradient * gradient));
  weight = fmaf(-learning_rate, exp_avg / (sqrtf(exp_avg_sq) + epsilon), weight * decay_factor);
}

static __global__ void finish(float* weight, const float* gradient, float* exp_avg,
                              float* exp_avg_sq, const float* scratch, unsigned n) {
  (void)scratch;
  const unsigned i = 4 * (blockIdx.x * 256 + threadIdx.x);
  if (i >= n) return;
  float4 w = *reinterpret_cast<const float4*>(weight + i);
  float4 m = *reinterpret_cast<const float4*>(exp_avg + i);
  float4 p = *reinterpret_cast<const float4*>(exp_avg_sq + i);
  const float4 g = *reinterpret_cast<const float4*>(gradient + i);
  optimize(w.x, g.x, m.x, p.x);
  optimize(w.y, g.y, m.y, p.y);
  optimize(w.z, g.z, m.z, p.z);
  optimize(w.w, g.w, m.w, p.w);
  *reinterpret_cast<float4*>(weight + i) = w;
  *reinterpret_cast<float4*>(exp_avg + i) = m;
  *reinterpret_cast<float4*>(exp_avg_sq + i) = p;
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
