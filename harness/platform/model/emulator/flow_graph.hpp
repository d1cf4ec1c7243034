// The control flow that traces have shown so far, and its loops.
//
// Lanes of a warp take part in one request when they are at the same access, on the same call path,
// in the same iteration of every enclosing loop (loop_nest.hpp).
//
// Beyond what traces can tell: ways out that no lane takes, without which the one that lanes do
// take looks like the loop's continuation.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "harness/platform/model/emulator/loop_nest.hpp"
#include "harness/platform/model/emulator/trace.hpp"

namespace gpubench::model {

class FlowGraph {
 public:
  // Adds the edges of one lane's trace.
  void learn(std::span<const Event> trace);

  // For every access, collective and arithmetic event of `trace`, in order, a key that two lanes
  // share iff they are there together. All traces that are to be compared must have been learned
  // before.
  void keys(std::span<const Event> trace, std::vector<std::uint64_t>& out);

  // How many bytes per lane the store has with which the trace ends, if there are more ways in
  // which the kernel ends with a store of that size, else 0.
  unsigned merged_tail_bytes(std::span<const Event> trace) const;

 private:
  bool is_tail(const BasicBlock& block) const;
  Node node(std::uint64_t code_address);

  std::unordered_map<std::uint64_t, Node> index_;
  std::vector<BasicBlock> blocks_;
  std::vector<Node> entries_;
  LoopNest loops_;
  bool stale_ = true;
};

}  // namespace gpubench::model
