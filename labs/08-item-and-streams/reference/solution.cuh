// Nobody waits: losses stay on the device until all are there; chunks take turns on the streams.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

static void train(float* on_device, float* losses, unsigned n, cudaStream_t stream) {
  for (unsigned step = 0; step < n; ++step) train_step(step, on_device + step, stream);
  cudaMemcpyAsync(losses, on_device, n * sizeof(float), cudaMemcpyDeviceToHost, stream);
}

static void pipeline(const float* from, float* in, float* out, float* to, std::size_t n,
                     const cudaStream_t* streams) {
  const std::size_t chunk = (n + 7) / 8;
  for (std::size_t first = 0; first < n; first += chunk) {
    const std::size_t words = n - first < chunk ? n - first : chunk, bytes = words * sizeof(float);
    const cudaStream_t s = streams[first / chunk % 4];
    cudaMemcpyAsync(in + first, from + first, bytes, cudaMemcpyHostToDevice, s);
    transform(in + first, out + first, words, s);
    cudaMemcpyAsync(to + first, out + first, bytes, cudaMemcpyDeviceToHost, s);
  }
}
