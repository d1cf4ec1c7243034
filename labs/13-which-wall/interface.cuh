// What the checker calls and launches: unit.cu takes it from the solution.
#pragma once

#include <cuda_runtime.h>

namespace lab {

inline constexpr unsigned finish_threads = 256, finish_elements = 1024;  // of a block

// losses[step], on the host, of all steps < n, each with learn() and the update of all tensors;
// `on_device` has n words on the device.
using StepA = void(float* on_device, float* losses, unsigned n, cudaStream_t stream);
// n steps of learn_wide() and the seven operations, of which `finish` is the last.
using StepB = void(unsigned n, cudaStream_t stream);
using Finish = void(float* weight, const float* gradient, float* exp_avg, float* exp_avg_sq,
                    const float* scratch, unsigned n);
// n batches, each with learn_from() and the update of all tensors.
using StepC = void(unsigned n, cudaStream_t stream);
extern StepA* const step_a;
extern StepB* const step_b;
extern Finish* const finish;
extern StepC* const step_c;

}  // namespace lab
