// A ring in which each GPU takes from the one before it; behind a backward pass in four pieces,
// each of them under way as soon as its layers are done.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

// The sum of words [first, last) of all GPUs.
static void ring(const Gpu* gpus, unsigned count, std::size_t first, std::size_t last) {
  const auto begin = [&](unsigned chunk) { return first + (last - first) * chunk / count; };
  for (unsigned i = 0; i < count; ++i) cudaEventRecord(gpus[i].sent, gpus[i].wire);
  for (unsigned step = 0; step < 2 * (count - 1); ++step) {
    for (unsigned i = 0; i < count; ++i) {
      cudaStreamWaitEvent(gpus[i].wire, gpus[(i + count - 1) % count].sent, 0);
    }
    for (unsigned i = 0; i < count; ++i) {
      const Gpu &gpu = gpus[i], &left = gpus[(i + count - 1) % count];
      const bool adds = step < count - 1;
      // The chunk that the neighbour has got, or completed, in the step before.
      const unsigned chunk = (i + 2 * count - 1 - step) % count;
      const std::size_t at = begin(chunk), words = begin(chunk + 1) - at;
      copy((adds ? gpu.inbox : gpu.data) + at, left.data + at, words, gpu.wire);
      if (adds) add(gpu.data + at, gpu.inbox + at, words, gpu.wire);
      cudaEventRecord(gpu.sent, gpu.wire);
    }
  }
}

static void all_reduce(const Gpu* gpus, unsigned count, std::size_t n) { ring(gpus, count, 0, n); }

static void train_step(const Gpu* gpus, unsigned count, std::size_t n) {
  constexpr unsigned layers_a_piece = 2;
  for (unsigned layer = layers; layer-- > 0;) {
    for (unsigned i = 0; i < count; ++i) backward(layer, gpus[i].pass);
    if (layer % layers_a_piece > 0) continue;
    for (unsigned i = 0; i < count; ++i) {
      cudaEventRecord(gpus[i].passed, gpus[i].pass);
      cudaStreamWaitEvent(gpus[i].wire, gpus[i].passed, 0);
    }
    ring(gpus, count, n * layer / layers, n * (layer + layers_a_piece) / layers);
  }
}
