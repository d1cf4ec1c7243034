// What lab 13's three steps queue. What it computes is the checker's business.
//
// All of these return as soon as their work is queued, but for ask() and learn_from(), which may
// wait.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

// --- steps A and C: a small model of 16 tensors ---

inline constexpr unsigned tensors = 16;

// Step A: the forward and backward pass of step number `step`. It leaves the step's loss in *loss,
// on the device or in the host's pinned memory, and the gradient of every tensor where update()
// looks for it.
void learn(unsigned step, float* loss, cudaStream_t stream);

// Steps A and C: the optimizer, for one tensor or for all of them in one kernel. Each tensor has to
// be updated once after each pass.
void update(unsigned tensor, cudaStream_t stream);
void update_all(cudaStream_t stream);

// --- step C: the same model, with batches that a data loader makes ---

inline constexpr unsigned most_asked = 8;

// Has the loader make batch number `batch`. It has four workers, and each takes 120 us for a batch.
// Ask for batches in order, each once, and for at most `most_asked` that learn_from() has not taken
// yet. There are as many as step_c() has steps. From number `most_asked` on, ask() waits on the
// host until the batch that is `most_asked` before this one has been copied to the device.
void ask(unsigned batch);
// Waits on the host until the batch has been made, then queues its copy to the device and its
// forward and backward pass. Take batches in order.
void learn_from(unsigned batch, cudaStream_t stream);

// --- step B: a model with one large tensor, and an optimizer of seven operations on it ---

// AdamW without bias correction. Each operation is a kernel that handles all n elements i.
// `scratch` is an array that only they use.
enum class Operation {
  decay,            // weight[i] *= decay_factor
  average,          // exp_avg[i] = beta1 * exp_avg[i] + (1 - beta1) * gradient[i]
  square,           // scratch[i] = gradient[i] * gradient[i]
  average_squares,  // exp_avg_sq[i] = beta2 * exp_avg_sq[i] + (1 - beta2) * scratch[i]
  root,             // scratch[i] = sqrtf(exp_avg_sq[i])
  ratio,            // scratch[i] = exp_avg[i] / (scratch[i] + epsilon)
};
inline constexpr float decay_factor = 0.9995f, beta1 = 0.9f, beta2 = 0.99f, epsilon = 1e-3f,
                       learning_rate = 0.01f;

// The forward and backward pass of step number `step`: it leaves gradient[i], which depends on
// weight[i].
void learn_wide(unsigned step, cudaStream_t stream);
void run_operation(Operation operation, cudaStream_t stream);
// The seventh operation is your own kernel `finish`: blocks of 256 threads, one for every 1024
// elements.
void run_finish(cudaStream_t stream);
