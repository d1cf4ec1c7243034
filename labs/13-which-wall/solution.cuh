// Lab 13: three training steps that are right and slow. Diagnose them before you read on: their
// profiles are on the lab's page, your answers go into answers.toml, and no code is graded without
// them. Then make each step fast. What it computes has to stay the same.
//
// given.cuh has what the steps queue. You need not wait for the end: the checker does, and counts
// the time up to there. From CUDA you may call cudaMemcpy, cudaMemcpyAsync, cudaStreamSynchronize
// and cudaDeviceSynchronize. Memory on the host is pinned.
#pragma once

#include <cuda_runtime.h>

#include <cmath>

// n steps; losses[step] = the loss of step `step`, on the host. `on_device` has room for n words.
static void step_a(float* on_device, float* losses, unsigned n, cudaStream_t stream) {
  for (unsigned step = 0; step < n; ++step) {
    learn(step, on_device, stream);
    for (unsigned tensor = 0; tensor < tensors; ++tensor) update(tensor, stream);
    cudaMemcpyAsync(losses + step, on_device, sizeof(float), cudaMemcpyDeviceToHost, stream);
    cudaStreamSynchronize(stream);
  }
}

// The last of the optimizer's seven operations: weight[i] -= learning_rate * scratch[i]. n is a
// multiple of 4, and arrays begin at multiples of 16 bytes.
static __global__ void finish(float* weight, const float* gradient, float* exp_avg,
                              float* exp_avg_sq, const float* scratch, unsigned n) {
  (void)gradient, (void)exp_avg, (void)exp_avg_sq;
  const unsigned first = blockIdx.x * 1024 + threadIdx.x;
  for (unsigned i = first; i < first + 1024 && i < n; i += 256) {
    weight[i] = fmaf(-learning_rate, scratch[i], weight[i]);
  }
}

// n steps.
static void step_b(unsigned n, cudaStream_t stream) {
  for (unsigned step = 0; step < n; ++step) {
    learn_wide(step, stream);
    run_operation(Operation::decay, stream);
    run_operation(Operation::average, stream);
    run_operation(Operation::square, stream);
    run_operation(Operation::average_squares, stream);
    run_operation(Operation::root, stream);
    run_operation(Operation::ratio, stream);
    run_finish(stream);
  }
}

// One step for each of n batches.
static void step_c(unsigned n, cudaStream_t stream) {
  for (unsigned batch = 0; batch < n; ++batch) {
    ask(batch);
    learn_from(batch, stream);
    for (unsigned tensor = 0; tensor < tensors; ++tensor) update(tensor, stream);
  }
}
