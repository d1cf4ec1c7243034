// What GPUs exchange in a step: an all-reduce of the gradients, in buckets behind the backward pass
// or at its end; or, with sharded states, a reduce-scatter of the gradients and, once each GPU has
// stepped its share of the weights, an all-gather of these (Rajbhandari et al., "ZeRO", arXiv
// 1910.02054, stage 1).
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

enum class Way { at_end, in_buckets, sharded };

template <class T>
class Exchange {
 public:
  using Number = Wide<T>;

  Exchange(const gpubench::GpuRanks& ranks, Weights<T>& weights, Way way)
      : ranks_(ranks), weights_(weights), way_(way), communicator_(ranks) {
    int least = 0, greatest = 0;
    CUDA_CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    ranks.each([&](int i) {
      wires_.emplace_back(cudaStreamNonBlocking, greatest);
      if (i == 0) return;
      add(gradients_, weights.gradient.size(), Zero<T>{});
      add(tables_, weights.table_gradient.size(), Zero<Number>{});
      if (way == Way::sharded) add(copies_, weights.copy.size(), InitialWeight<T>{});
    });
  }

  // For Step's OnReady: the gradients [begin, end) of all weights can go.
  void send(cudaStream_t s, std::size_t begin, std::size_t end) {
    if (way_ != Way::in_buckets) return;
    leave(s);
    exchange_gradients(begin, end);
  }
  // All gradients, or this GPU's shards, are there when what `s` gets from now on begins.
  void finish(cudaStream_t s) {
    if (way_ != Way::in_buckets) {
      leave(s);
      exchange_gradients(0, products());
      exchange_gradients(products(), products() + weights_.table_gradient.size());
    }
    arrive(s);
  }
  // So are all GPUs' weights, if each of them steps only its own.
  void gather(cudaStream_t s) {
    if (way_ != Way::sharded) return;
    leave(s);
    queue(Collective::all_gather, weights_.copy, copies_, 0, products());
    queue(Collective::all_gather, weights_.copy, copies_, products(),
          weights_.copy.size() - products());
    arrive(s);
  }

  // Whether the first gradients of all, if they are ones, add up to the number of ranks, and each
  // rank's weights get to the first; "" or what is wrong.
  std::string check(cudaStream_t s) {
    constexpr std::size_t n = 512;
    ranks_.each([&](int i) { set(i == 0 ? weights_.gradient : other(gradients_, i), n, 1); });
    leave(s);
    exchange_gradients(0, n);
    const auto sum = static_cast<float>(ranks_.count());
    const std::size_t mine = way_ == Way::sharded ? n / std::size_t(ranks_.count()) : n;
    std::string wrong = check_numbers(weights_.gradient, mine, [&](std::size_t) { return sum; });
    if (way_ != Way::sharded || !wrong.empty()) return wrong;
    ranks_.each([&](int i) {
      set(i == 0 ? weights_.copy : other(copies_, i), n, static_cast<float>(ranks_.rank(i) + 1));
    });
    leave(s);
    queue(Collective::all_gather, weights_.copy, copies_, 0, n);
    return check_numbers(weights_.copy, n,
                         [&](std::size_t i) { return static_cast<float>(1 + i / mine); });
  }

 private:
  using Collective = gpubench::Collective;
  template <class Element>
  using Buffer = gpubench::DeviceBuffer<Element>;

  template <class Element, class Content>
  static void add(std::vector<Buffer<Element>>& to, std::size_t n, Content content) {
    to.emplace_back(n);
    gpubench::fill_random(to.back().data(), n, content);
  }
  static Buffer<T>& other(std::vector<Buffer<T>>& of, int rank) {
    return of[std::size_t(rank) - 1];
  }
  static void set(Buffer<T>& buffer, std::size_t n, float to) {
    const std::vector<T> numbers(n, static_cast<T>(to));
    buffer.upload(numbers);
  }
  template <class Want>
  std::string check_numbers(const Buffer<T>& buffer, std::size_t n, Want want) {
    received_.record(wires_[0]);
    received_.synchronize();
    std::vector<T> got(n);
    CUDA_CHECK(cudaMemcpy(got.data(), buffer.data(), n * sizeof(T), cudaMemcpyDeviceToHost));
    for (std::size_t i = 0; i < n; ++i) {
      if (static_cast<float>(got[i]) == want(i)) continue;
      return "what the ranks exchange is wrong at " + std::to_string(i);
    }
    return "";
  }

  std::size_t products() const { return weights_.gradient.size(); }
  void leave(cudaStream_t s) {
    ready_.record(s);
    ready_.hold(wires_[0]);
  }
  void arrive(cudaStream_t s) {
    received_.record(wires_[0]);
    received_.hold(s);
  }
  // Either of products' weights or of the embedding's table, whose gradient is a buffer of its own.
  void exchange_gradients(std::size_t begin, std::size_t end) {
    const auto what = way_ == Way::sharded ? Collective::reduce_scatter : Collective::all_reduce;
    if (begin < products()) {
      queue(what, weights_.gradient, gradients_, begin, end - begin);
    } else {
      queue(what, weights_.table_gradient, tables_, begin - products(), end - begin);
    }
  }
  // In place: a rank's shard is where it is among all elements.
  template <class Element>
  void queue(Collective what, const Buffer<Element>& own,
             const std::vector<Buffer<Element>>& others, std::size_t first, std::size_t count) {
    const std::size_t shard =
        what == Collective::all_reduce ? count : count / std::size_t(ranks_.count());
    std::vector<gpubench::Ends> ends;
    for (int i = 0; i < ranks_.local(); ++i) {
      Element* const all = (i == 0 ? own : others[std::size_t(i) - 1]).data() + first;
      Element* const mine =
          all + std::size_t(ranks_.rank(i)) * shard;  // of no use to an all-reduce
      ends.push_back({what == Collective::all_gather ? mine : all,
                      what == Collective::reduce_scatter ? mine : all});
    }
    communicator_.queue(what, gpubench::number_of<Element>, shard, ends,
                        [&](int i) -> cudaStream_t { return wires_[static_cast<std::size_t>(i)]; });
  }

  const gpubench::GpuRanks& ranks_;
  Weights<T>& weights_;
  Way way_;
  gpubench::Communicator communicator_;
  std::vector<gpubench::Stream> wires_;
  std::vector<Buffer<T>> gradients_, copies_;  // of the ranks after the first
  std::vector<Buffer<Number>> tables_;
  gpubench::Event ready_{cudaEventDisableTiming}, received_{cudaEventDisableTiming};
};

}  // namespace training_step
