// host_sync: a training loop that looks at its loss.
//
// A step is `layers` kernels in a row, each as long as asked; the last leaves the loss of the step
// in a single word, which the host reads back now and then.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "kernels/common/paced_work.cuh"

namespace host_sync {

inline constexpr unsigned steps = 8;
inline constexpr unsigned layers = 3;
inline constexpr unsigned rounds = 64;  // a thread and layer: 512 multiply-adds

// One element per thread. `loss` is null in all layers but the last.
[[maybe_unused]] static __global__ void layer(const float* in, float* out, float* loss,
                                              unsigned step) {
  const std::size_t i = blockIdx.x * std::size_t{paced_work::threads} + threadIdx.x;
  const float x = paced_work::after(in[i], rounds);
  out[i] = x;
  if (loss != nullptr && i == 0) *loss = x + static_cast<float>(step);
}

// --- what it must compute ---

// The losses of every `every`-th step, as the host reads them.
template <class Source>
struct ExpectedLoss {
  Source in;
  unsigned every;
  float operator()(std::size_t read) const {
    return paced_work::after(in(0), rounds) +
           static_cast<float>((static_cast<unsigned>(read) + 1) * every - 1);
  }
};

// --- what theory says it costs ---

// What lies around kernels [s]: a copy of one word, the host's way out of a wait, the way of a
// launch to the device, and what one call costs the host.
struct RoundTrip {
  double copy, wake, launch, call;
};

// How long the GPU idles for each read: nothing is queued, so the word travels, the host wakes, and
// the next launch travels back. Mapped memory saves the copy. A poll notices half a call late
// rather than waking.
constexpr double idle_seconds(const RoundTrip& t, bool copies, bool polls) {
  return (copies ? t.copy : 0) + (polls ? t.call / 2 : t.wake) + t.launch;
}

// The whole loop, from the event before the first launch. A layer's `lead_seconds` overlap the
// next one, if nobody waits in between.
constexpr double loop_seconds(double layer_seconds, double lead_seconds, double reads,
                              double idle) {
  return steps * layers * (layer_seconds - lead_seconds) + (reads > 0 ? reads : 1) * lead_seconds +
         reads * idle;
}

// A loop that reads one step late. While a step runs, the word of the one before travels, the
// host wakes, and the step after it is queued, by a call for each layer and four around the copy;
// its first launch is on the way while the others are queued. The loop waits for the longer of the
// two; the last word travels behind it. The event behind a step keeps the next one from starting
// beside its end.
constexpr double late_loop_seconds(double layer_seconds, double lead_seconds, const RoundTrip& t) {
  const double step = layers * (layer_seconds - lead_seconds) + lead_seconds;
  const double trip = t.copy + t.wake + (layers + 4) * t.call;
  return steps * (step > trip ? step : trip) + t.copy;
}

}  // namespace host_sync
