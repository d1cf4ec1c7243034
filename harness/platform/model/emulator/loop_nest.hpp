// The loops of a flow graph, and for every block in which of them an iteration passes through it.
//
// Loops are the strongly connected components of the graph, nested as in Bourdoncle's weak
// topological order (1993): the head of a component is the block through which it was entered, and
// what remains without the head is searched again. Loops may share their head (`do { do ...`): what
// lies on the way to a repetition is a loop of its own if whoever leaves it stays in the larger
// one.
//
// What a lane does on its way out (`if (found) { store; break; }`) is outside the component but
// belongs to the iteration it left from: lanes that leave meet where all ways out do, their
// immediate post-dominator. A way that only returns is none, since nobody waits for lanes that have
// ended. Where several ways return after having done something, lanes meet on the one that stands
// last in the code, the function's own end; the others belong to the iterations.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace gpubench::model {

using Node = std::uint32_t;
inline constexpr Node no_node = ~Node{0};

struct BasicBlock {
  std::uint64_t code_address = 0;
  std::vector<Node> successors{};
  bool is_last = false;           // the function ended in it
  bool is_busy = false;           // something happens in it
  unsigned last_store_bytes = 0;  // of a store that is the last that happens in it

  bool leads_to(Node block) const;
};

// Whether a block only returns.
inline bool is_mere_return(const BasicBlock& block) { return block.is_last && !block.is_busy; }

// The loops of a block are numbers, outermost first.
struct LoopNest {
  using Loop = std::uint32_t;
  std::vector<std::vector<Loop>> around;  // by block
  std::vector<Node> heads;                // by loop
};

// `entries`: the functions' first blocks.
LoopNest find_loops(std::span<const BasicBlock> blocks, std::span<const Node> entries);

}  // namespace gpubench::model
