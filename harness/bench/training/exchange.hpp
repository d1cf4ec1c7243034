// The all-reduce of a step's gradients, in buckets behind the backward pass or at its end.
//
// One GPU computes the step. The others take part in the all-reduce with gradients that are zeros,
// so that the sums are those of the first: what its neighbours compute meanwhile makes no
// difference to its time as long as they are no slower.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "device_fill.hpp"
#include "harness/bench/training/memory.hpp"
#include "harness/cuda/buffer.hpp"
#include "harness/cuda/communicator.hpp"
#include "harness/cuda/event.hpp"
#include "harness/cuda/stream.hpp"

namespace training_step {

template <class T>
class Exchange {
 public:
  using Number = Wide<T>;

  Exchange(const gpubench::GpuRanks& ranks, Weights<T>& weights, bool in_buckets)
      : ranks_(ranks), weights_(weights), in_buckets_(in_buckets), communicator_(ranks) {
    int least = 0, greatest = 0;
    CUDA_CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    ranks.each([&](int i) {
      wires_.emplace_back(cudaStreamNonBlocking, greatest);
      if (i == 0) return;
      gradients_.emplace_back(weights.gradient.size());
      tables_.emplace_back(weights.table_gradient.size());
      gpubench::fill_random(gradients_.back().data(), gradients_.back().size(), Zero<T>{});
      gpubench::fill_random(tables_.back().data(), tables_.back().size(), Zero<Number>{});
    });
  }

  // For Step's OnReady: the gradients [begin, end) of all weights can go.
  void send(cudaStream_t s, std::size_t begin, std::size_t end) {
    if (in_buckets_) all_reduce(s, begin, end);
  }
  // All of them are there when what `s` gets from now on begins.
  void finish(cudaStream_t s) {
    if (!in_buckets_) {
      all_reduce(s, 0, weights_.gradient.size());
      all_reduce(s, weights_.gradient.size(), weights_.master.size());
    }
    received_.record(wires_[0]);
    received_.hold(s);
  }

  // Whether a sum of ones is what it must be, in the first gradients of all; "" or what is wrong.
  std::string check(cudaStream_t s) {
    constexpr std::size_t n = 512;
    const std::vector<T> ones(n, static_cast<T>(1.0f));
    const auto set = [&](const gpubench::DeviceBuffer<T>& gradients) {
      gradients.upload(std::span(ones).first(std::min(n, gradients.size())));
    };
    ranks_.each([&](int i) { set(i == 0 ? weights_.gradient : gradients_[std::size_t(i) - 1]); });
    all_reduce(s, 0, n);
    received_.record(wires_[0]);
    received_.synchronize();
    std::vector<T> sums(n);
    CUDA_CHECK(
        cudaMemcpy(sums.data(), weights_.gradient.data(), n * sizeof(T), cudaMemcpyDeviceToHost));
    for (std::size_t i = 0; i < n; ++i) {
      if (static_cast<float>(sums[i]) == static_cast<float>(ranks_.count())) continue;
      return "the sum of all ranks' gradients is wrong at " + std::to_string(i);
    }
    return "";
  }

 private:
  // Either of products' weights or of the embedding's table, whose gradient is a buffer of its own.
  void all_reduce(cudaStream_t s, std::size_t begin, std::size_t end) {
    ready_.record(s);
    ready_.hold(wires_[0]);
    const std::size_t products = weights_.gradient.size();
    if (begin < products) {
      queue(weights_.gradient, gradients_, begin, end - begin);
    } else {
      queue(weights_.table_gradient, tables_, begin - products, end - begin);
    }
  }
  template <class Element>
  void queue(const gpubench::DeviceBuffer<Element>& own,
             const std::vector<gpubench::DeviceBuffer<Element>>& others, std::size_t first,
             std::size_t count) {
    std::vector<gpubench::Ends> ends{{own.data() + first, own.data() + first}};
    for (const auto& other : others) ends.push_back({other.data() + first, other.data() + first});
    communicator_.queue(gpubench::Collective::all_reduce, gpubench::number_of<Element>, count, ends,
                        [&](int i) -> cudaStream_t { return wires_[static_cast<std::size_t>(i)]; });
  }

  const gpubench::GpuRanks& ranks_;
  Weights<T>& weights_;
  bool in_buckets_;
  gpubench::Communicator communicator_;
  std::vector<gpubench::Stream> wires_;
  std::vector<gpubench::DeviceBuffer<T>> gradients_;  // of the ranks after the first
  std::vector<gpubench::DeviceBuffer<Number>> tables_;
  gpubench::Event ready_{cudaEventDisableTiming}, received_{cudaEventDisableTiming};
};

}  // namespace training_step
