// The control flow that traces have shown so far, and its loops.
//
// Lanes of a warp take part in one request when they are at the same access, on the same call path,
// in the same iteration of every enclosing loop. Loops are the strongly connected components of the
// flow graph, nested as in Bourdoncle's weak topological order (1993): the head of a component is
// the block through which it was entered, and what remains without the head is searched again.
//
// What a lane does on its way out (`if (found) { store; break; }`) is outside the component but
// belongs to the iteration it left from: lanes that leave meet again where all ways out do. Where
// that is only at the function's end, because lanes return from inside the loop, the way out of
// the loop's own condition is taken for its continuation.
//
// Beyond what traces can tell: loops that share one head block; the last stores before a return
// that leaves several loops at once; ways out that no lane takes, without which the one that lanes
// do take looks like the loop's continuation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

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

 private:
  using Node = std::uint32_t;
  static constexpr Node none = ~Node{0};

  Node node(std::uint64_t code_address);
  void find_loops();
  void nest(const std::vector<Node>& members, std::span<const Node> roots);
  struct Loop {
    Node head;
    std::vector<Node> blocks;  // without the head
  };
  // What can be reached, and whether that leads on.
  struct Region {
    std::vector<Node> blocks;
    bool leaves = false;
  };
  struct Exits {
    std::vector<Node> continuations, others;  // where the loop's condition leads, and the rest
  };
  std::vector<Node> ways_out(const Loop& loop, const std::vector<bool>& inside) const;
  Region reach(const std::vector<Node>& from, const std::vector<bool>& avoided,
               const std::vector<bool>& inside) const;
  std::vector<bool> exits_of(const std::vector<Node>& loop, const std::vector<bool>& inside) const;
  Exits sorted_exits(const std::vector<Node>& loop, Node head,
                     const std::vector<bool>& is_exit) const;
  std::optional<std::vector<Node>> before_meeting(const std::vector<Node>& exits,
                                                  const std::vector<Node>& after,
                                                  const std::vector<bool>& inside) const;
  bool is_successor(Node of, Node block) const;
  bool is_mere_return(Node n) const { return blocks_[n].is_last && !blocks_[n].is_busy; }

  struct BasicBlock {
    std::vector<Node> successors;
    bool is_last = false;  // the function ended in it
    bool is_busy = false;  // something happens in it
  };

  std::unordered_map<std::uint64_t, Node> index_;
  std::vector<BasicBlock> blocks_;
  std::vector<Node> entries_;
  std::vector<std::vector<Node>> loops_;  // of a block: heads of its loops, outermost first
  bool stale_ = true;
};

}  // namespace gpubench::model
