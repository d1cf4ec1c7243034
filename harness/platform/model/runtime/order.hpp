// What comes before what, by CUDA's rules alone: streams, events, graphs and the host's waits.
//
// The timeline carries operations out one after the other, so that two that nothing orders may look
// fine on the model and not on a device. Here each operation knows which others are certain to have
// ended before it begins; two that are not ordered, touch the same bytes and do not both only read
// are an error that names them.
//
// Operations that follow each other for certain form a chain: a stream, or a branch of a graph in
// one. What an operation knows is the newest operation of each chain that comes before it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "harness/platform/model/memory/touches.hpp"

namespace gpubench::model {

using Chain = std::int64_t;

// That of a stream, and of a branch of a graph that runs in it (0: the stream's own).
Chain chain_of(int device, int stream, std::int64_t branch = 0);

// By chain, the newest operation that comes before. Few chains: a sorted list.
class Clock {
 public:
  std::uint64_t of(Chain chain) const;  // 0: none
  void learn(Chain chain, std::uint64_t number);
  void learn(const Clock& other);
  void forget_up_to(std::uint64_t number);
  const std::vector<std::pair<Chain, std::uint64_t>>& entries() const { return entries_; }

 private:
  std::vector<std::pair<Chain, std::uint64_t>> entries_;
};

// What the host knew at a moment; every operation issued from then on comes after that.
struct HostKnowledge {
  std::uint64_t all_up_to = 0;  // operations up to this number, of every chain
  Clock beyond{};
  bool knows(Chain chain, std::uint64_t number) const {
    return number <= all_up_to || number <= beyond.of(chain);
  }
};

// An operation's place in the order.
struct InOrder {
  Chain chain = 0;
  std::uint64_t number = 0;  // order of issue, from 1
  Clock before{};            // beyond what the host knew
  std::shared_ptr<const HostKnowledge> host{};

  bool comes_after(Chain other, std::uint64_t other_number) const {
    return other_number <= before.of(other) || host->knows(other, other_number);
  }
  void come_after(const InOrder& earlier);
};

class Order {
 public:
  // An operation is issued; it comes after all that the host knows of.
  InOrder issue(Chain chain);
  // The host has seen the operation end.
  void host_learns(const InOrder& ended);
  void host_learns_all();

  // The operation was carried out and touched so much. DeviceFault: something that it is not
  // ordered with did so too.
  void carried_out(const InOrder& place, const std::string& name, int stream,
                   const Touches& touches);
  // Nothing that was issued is still to be carried out: what the host knows of can be forgotten.
  void nothing_pending();

 private:
  struct Open {  // operations of a chain that the host does not know of
    std::uint64_t first = 0, last = 0;
  };
  struct Done {
    std::uint64_t number = 0;
    std::string name;
    int stream = 0;
    Touches touches;
  };
  // In a chain that nobody waits for, only the newest are compared with.
  static constexpr std::size_t most_done = 1024;

  void know(Chain chain, std::uint64_t number);

  std::uint64_t issued_ = 0;
  std::shared_ptr<const HostKnowledge> host_ = std::make_shared<HostKnowledge>();
  std::map<Chain, Open> open_;
  std::map<Chain, std::deque<Done>> done_;
};

}  // namespace gpubench::model
