// Pointer chases: each load brings the link to the next.
#pragma once

#include <cstddef>
#include <cstdint>

#include "harness/bench/bench.hpp"
#include "kernels/memory_hierarchy.cuh"

namespace memory_hierarchy {

// Holds a ring of any number of lines, up to its size.
class RingBuffer {
 public:
  explicit RingBuffer(std::size_t bytes)
      : words_(bytes / sizeof(std::uint64_t)), end_(1), never_(1) {}
  void shape(std::size_t lines) {
    lines_ = lines;
    step_ = ring_step(lines);
    const Ring ring{reinterpret_cast<std::uint64_t>(words_.data()), lines_, step_};
    gpubench::fill_random(words_.data(), lines_ * line / sizeof(std::uint64_t), ring);
  }
  const Link* first() const { return reinterpret_cast<const Link*>(words_.data()); }
  // A chase begins in the middle: so it is seen that one of another ring is not the same.
  const Link* after(std::size_t steps) const {
    return first() + (lines_ / 2 + steps * step_) % lines_;
  }

  // Touches the ring, and goes along it.
  void queue(cudaStream_t s, unsigned steps, const Link** end) const {
    const auto blocks = static_cast<unsigned>((lines_ + lines_a_block - 1) / lines_a_block);
    launch(touch, blocks, touch_threads, 0, s, first(), lines_, never_.data());
    launch(chase, 1, 1, 0, s, after(0), steps, end);
  }
  // The time of one load [s]: what twice as many steps take longer. Where not even those come by a
  // line again, fewer say as much.
  double latency(gpubench::Bench& bench, unsigned most_steps, double budget) const {
    const unsigned steps = lines_ > 2 * most_steps ? most_steps / 4 : most_steps;
    const auto time = [&](unsigned taken) {
      return bench.time([&](cudaStream_t s) { queue(s, taken, end_.data()); }, budget);
    };
    return (time(2 * steps) - time(steps)) / steps;
  }

 private:
  gpubench::DeviceBuffer<std::uint64_t> words_;
  gpubench::DeviceBuffer<const Link*> end_;
  gpubench::DeviceBuffer<std::uint64_t> never_;
  std::size_t lines_ = 0, step_ = 0;
};

}  // namespace memory_hierarchy
