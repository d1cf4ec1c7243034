// Lab 08: two programs for the host that do not make the device wait.
//
// given.cuh has train_step() and transform(): each queues a kernel and returns. Memory on the host
// is pinned. You need not wait for the end: the checker does, and counts the time up to there. From
// CUDA you may call cudaMemcpy, cudaMemcpyAsync, cudaMemsetAsync, cudaStreamSynchronize,
// cudaDeviceSynchronize, and cudaEventCreateWithFlags, cudaEventDestroy, cudaEventRecord,
// cudaEventQuery, cudaEventSynchronize, cudaStreamWaitEvent.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

// losses[step] = the loss of step `step`, for all steps below n. `on_device` has room for n words.
static void train(float* on_device, float* losses, unsigned n, cudaStream_t stream) {
  // TODO: this is `loss.item()`. Who waits for whom?
  //   for (unsigned step = 0; step < n; ++step) {
  //     train_step(step, on_device, stream);
  //     cudaMemcpyAsync(losses + step, on_device, sizeof(float), cudaMemcpyDeviceToHost, stream);
  //     cudaStreamSynchronize(stream);
  //   }
  (void)on_device, (void)losses, (void)n, (void)stream;
}

// to = what transform() makes of `from`, by way of in and out on the device; n words each. There
// are four streams.
static void pipeline(const float* from, float* in, float* out, float* to, std::size_t n,
                     const cudaStream_t* streams) {
  // TODO: a copy there, a kernel, a copy back. What could happen at the same time?
  (void)from, (void)in, (void)out, (void)to, (void)n, (void)streams;
}
