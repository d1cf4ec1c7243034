// A collective of NCCL's over all ranks: its buffers, what it moves, and whether it is right.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "harness/bench/bench.hpp"
#include "harness/cuda/communicator.hpp"
#include "kernels/all_reduce.cuh"

namespace all_reduce {

using gpubench::Bench;
using gpubench::Collective;
using gpubench::Communicator;
using gpubench::DeviceBuffer;
using gpubench::GpuRanks;

// Beyond this size latency is gone, and the law is the wire's: a ring has a step for each rank.
constexpr double wire_bytes(double ranks) { return (1 << 23) * std::max(32.0, ranks); }

inline double factor(Collective what, double ranks) {
  return what == Collective::all_reduce  ? all_reduce_factor(ranks)
         : what == Collective::broadcast ? broadcast_factor(ranks)
                                         : scatter_or_gather_factor(ranks);
}

// Ranks in the fullest node.
inline double in_node_of(const Bench& bench, double ranks) {
  return std::min(ranks, bench.device().find("node_gpus").value_or(ranks));
}

// One direction of what connects the ranks [bytes/s]; nothing where nobody has said. Each rank has
// a way of its own to the network; of nodes with unequally many, as many ways as a node has on
// average.
inline std::optional<double> wire(const Bench& bench, double ranks) {
  const auto link = bench.device().find("nvlink_bytes_per_second");
  const double in_node = in_node_of(bench, ranks);
  if (ranks == in_node || !link) return link;
  const auto network = bench.device().find("network_bytes_per_second");
  const double ways = ranks / std::ceil(ranks / in_node);
  return network ? std::optional(std::min(*link, ways * *network)) : std::nullopt;
}

// The vector's bytes per second where only wires cost time.
inline std::optional<double> rate_of(const Bench& bench, Collective what, double ranks) {
  const auto bandwidth = wire(bench, ranks);
  const double in_node = in_node_of(bench, ranks);
  if (!bandwidth) return std::nullopt;
  if (what != Collective::all_to_all || ranks == in_node) return *bandwidth / factor(what, ranks);
  // What leaves the node leaves it by each rank's own card, most of it from the smallest node.
  const double left_over = std::fmod(ranks, in_node);
  const double fewest = left_over > 0 ? left_over : in_node;
  const auto& device = bench.device();  // wire() has found both
  const double between = device["network_bytes_per_second"] * ranks / (ranks - fewest);
  return in_node > 1 ? std::min(between, device["nvlink_bytes_per_second"] * ranks / (in_node - 1))
                     : between;
}

inline void say_work(Bench& bench, std::optional<double> rate, double size, double ranks) {
  gpubench::Law law;
  if (size >= wire_bytes(ranks) && rate) law = [rate](const Roofs&) { return *rate; };
  // NVLS reads up to 27 % above the wire (H100: 476 to 376 GB/s).
  bench.work({.useful_bytes = size, .law = law, .law_tolerance = 0.3});
}

inline void say_bandwidths(Bench& bench, Collective what, double size, double ranks) {
  bench.counter("algorithm_bytes_per_second", size / bench.seconds());
  bench.counter("bus_bytes_per_second", size / bench.seconds() * factor(what, ranks));
}

// Elements of a vector of `size` bytes as NCCL's call counts them.
template <class T>
std::size_t count_of(Collective what, std::size_t size, int ranks) {
  const bool shares = has_part_for_each(what) || has_part_of_each(what);
  return size / sizeof(T) / (shares ? static_cast<std::size_t>(ranks) : 1);
}

// A collective over all ranks, with its buffers: `brought` and `taken` elements a rank.
template <class T>
class RankedCollective {
  // The buffers of all ranks of this process.
  struct Buffers {
    std::vector<DeviceBuffer<T>> all;
    std::vector<gpubench::Ends> ends;
    T* add(std::size_t elements) { return all.emplace_back(elements).data(); }
  };

 public:
  RankedCollective(Bench& bench, const GpuRanks& ranks, Collective what, std::size_t count,
                   bool in_place)
      : ranks_(ranks), what_(what), count_(count), communicator_(ranks) {
    const auto n = static_cast<std::size_t>(ranks.count());
    const std::size_t brought = has_part_for_each(what) ? count * n : count;
    const std::size_t taken = has_part_of_each(what) ? count * n : count;
    const std::size_t elements = in_place ? std::max(brought, taken) : brought + taken;
    buffers_ = bench.per_set(elements * sizeof(T), [=, &ranks] {
      Buffers made;
      ranks.each([&](int i) {
        const auto rank = static_cast<std::size_t>(ranks.rank(i));
        T* const send = made.add(in_place ? elements : brought);
        T* const receive = in_place ? send : made.add(taken);
        // In place, a share lies where it belongs in the whole.
        const std::size_t share = in_place ? rank * count : 0;
        made.ends.push_back({send + (what == Collective::all_gather ? share : 0),
                             receive + (what == Collective::reduce_scatter ? share : 0)});
        if (!in_place || what != Collective::all_gather) {
          gpubench::fill_random(send, brought, Contribution<T>{static_cast<unsigned>(rank)});
        } else {
          gpubench::fill_random(send, taken, ExpectedGather<T>{count});
        }
      });
      return made;
    });
  }

  // `count` elements a rank from its element `first` on, in the ranks' streams of that name.
  template <class StreamOf>
  void queue(std::size_t first, std::size_t count, const StreamOf& stream) const {
    std::vector<gpubench::Ends> ends;
    for (const auto& [send, receive] : buffers_->ends) {
      ends.push_back({static_cast<const T*>(send) + first, static_cast<T*>(receive) + first});
    }
    communicator_.queue(what_, gpubench::number_of<T>, count, ends, stream);
  }
  void queue(cudaStream_t s, std::size_t count) const {
    ranks_.fork(s);
    queue(0, count, [&](int i) { return ranks_.stream(i, s); });
    ranks_.join(s);
  }
  void operator()(cudaStream_t s) const { queue(s, count_); }

  // "" or what is wrong. What the model has only priced is checked on its first elements: so few
  // that it computes them, a share from each rank to each.
  std::string wrong(bool priced) const {
    const auto ranks = static_cast<std::size_t>(ranks_.count());
    const std::size_t few = std::min<std::size_t>(1009, (1 << 20) / (ranks * ranks));
    const std::size_t count = priced ? std::min(count_, few) : count_;
    if (priced) {
      const gpubench::Stream s;
      queue(s, count);
      s.synchronize();
    }
    std::string found;
    ranks_.each([&](int i) {
      const T* got = static_cast<const T*>(buffers_->ends[static_cast<std::size_t>(i)].receive);
      const auto n = static_cast<unsigned>(ranks_.count());
      const auto rank = static_cast<std::size_t>(ranks_.rank(i));
      const auto check = [&](std::size_t elements, auto expected) {
        return elements == 0 ? std::string()
                             : gpubench::check_elements(got, elements, expected, 0, 0, false);
      };
      std::string here;
      switch (what_) {
        case Collective::all_reduce:
          here = check(count, ExpectedSum<T>{n, 0});
          break;
        case Collective::reduce_scatter:
          here = check(count, ExpectedSum<T>{n, rank * count});
          break;
        case Collective::all_gather:
          here = check(count * n, ExpectedGather<T>{count});
          break;
        case Collective::broadcast:
          here = check(count, Contribution<T>{0});
          break;
        case Collective::all_to_all:
          here = check(count * n, ExpectedExchange<T>{rank, count});
          break;
      }
      if (!here.empty()) found = "rank " + std::to_string(rank) + ": " + here;
    });
    return found;
  }

 private:
  const GpuRanks& ranks_;
  Collective what_;
  std::size_t count_;
  Communicator communicator_;
  gpubench::PerSet<Buffers> buffers_;
};

}  // namespace all_reduce
