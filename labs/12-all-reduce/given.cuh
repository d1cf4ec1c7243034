// What lab 12's programs queue. What it computes is the checker's business.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

// One GPU of several. Its streams and events are there to be used by the calls of CUDA's runtime,
// whichever device is the current one.
struct Gpu {
  float* data;   // n words: what it brings, and at the end the sum over all GPUs
  float* inbox;  // n words, for what comes from others
  cudaStream_t pass, wire;
  cudaEvent_t passed,
      sent;  // can be recorded over and over: a wait is for the last record before it
};

// The backward pass goes from the last layer to the first. It leaves layer l's share of the
// gradient at data[n * l / layers] to data[n * (l + 1) / layers - 1].
inline constexpr unsigned layers = 8;

// All of these queue their work in `stream`, and return; nothing to do is fine.

// to[i] = from[i]: n words of the memory of any two GPUs, or of one.
void copy(float* to, const float* from, std::size_t n, cudaStream_t stream);

// to[i] += from[i]: n words of the memory of that GPU whose stream it is.
void add(float* to, const float* from, std::size_t n, cudaStream_t stream);

// The backward pass of a layer on that GPU whose stream it is.
void backward(unsigned layer, cudaStream_t stream);
