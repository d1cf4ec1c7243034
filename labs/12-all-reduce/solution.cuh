// Lab 12: an all-reduce over a ring of GPUs, and the same behind a backward pass.
//
// given.cuh has the GPUs, and copy(), add() and backward(), which queue their work and return. GPU
// i may only copy to or from its two neighbours in the ring, i - 1 and i + 1. Nothing has to be
// waited for on the host: the checker does, and counts the time up to there. From CUDA you may call
// cudaEventRecord and cudaStreamWaitEvent, cudaStreamSynchronize, cudaEventSynchronize and
// cudaDeviceSynchronize.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

// All GPUs' `data`, n words each, become their sum. What is in `data` is there when a stream `wire`
// begins; `wire` of each GPU is what the checker waits for.
static void all_reduce(const Gpu* gpus, unsigned count, std::size_t n) {
  // TODO: cut n into `count` chunks. In count - 1 steps each GPU takes a chunk from its neighbour
  // and adds it to its own: then each has one chunk that is complete. In as many steps these go
  // round. A chunk may be taken only when the neighbour has it: that is what `sent` is for.
  (void)gpus, (void)count, (void)n;
}

// backward() of all layers on each GPU, from layers - 1 to 0, in its stream `pass`, and the
// all-reduce of what they leave in `data`, in its stream `wire`.
static void train_step(const Gpu* gpus, unsigned count, std::size_t n) {
  // TODO: this sends nothing before the pass is over. What is there earlier?
  //   for each GPU: backward(layer, gpu.pass) of all layers; cudaEventRecord(gpu.passed, gpu.pass);
  //   cudaStreamWaitEvent(gpu.wire, gpu.passed); then all_reduce(gpus, count, n);
  (void)gpus, (void)count, (void)n;
}
