// The control flow that traces have shown so far, and its loops.
//
// Lanes of a warp take part in one request when they are at the same access, on the same call path,
// in the same iteration of every enclosing loop. Loops are the strongly connected components of the
// flow graph, nested as in Bourdoncle's weak topological order (1993): the head of a component is
// the block through which it was entered, and what remains without the head is searched again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "harness/model/emulator/trace.hpp"

namespace gpubench::model {

class FlowGraph {
 public:
  // Adds the edges of one lane's trace.
  void learn(std::span<const Event> trace);

  // For every access and collective of `trace`, in order, a key that two lanes share iff they are
  // there together. All traces that are to be compared must have been learned before.
  void keys(std::span<const Event> trace, std::vector<std::uint64_t>& out);

 private:
  using Node = std::uint32_t;
  static constexpr Node none = ~Node{0};

  Node node(std::uint64_t code_address);
  void find_loops();
  void nest(const std::vector<Node>& members, std::span<const Node> roots);

  std::unordered_map<std::uint64_t, Node> index_;
  std::vector<std::vector<Node>> successors_;
  std::vector<Node> entries_;
  std::vector<std::vector<Node>> loops_;  // of a block: heads of its loops, outermost first
  bool stale_ = true;
};

}  // namespace gpubench::model
