#include "harness/platform/model/emulator/flow_graph.hpp"

#include <algorithm>
#include <utility>

namespace gpubench::model {
namespace {

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {  // splitmix64's finaliser
  std::uint64_t z = hash * 0x9e3779b97f4a7c15u + value + 0x632be59bd9b4e019u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

}  // namespace

FlowGraph::Node FlowGraph::node(std::uint64_t code_address) {
  const auto [found, added] = index_.try_emplace(code_address, static_cast<Node>(index_.size()));
  if (added) {
    blocks_.emplace_back();
    stale_ = true;
  }
  return found->second;
}

void FlowGraph::learn(std::span<const Event> trace) {
  std::vector<Node> last{none};  // the block each active function is in
  const auto end_function = [&] {
    if (last.back() != none && !std::exchange(blocks_[last.back()].is_last, true)) stale_ = true;
  };
  for (const Event e : trace) {
    switch (kind_of(e)) {
      case EventKind::enter:
        if (last.back() != none) blocks_[last.back()].is_busy = true;
        last.push_back(none);
        break;
      case EventKind::leave:
        end_function();
        if (last.size() > 1) last.pop_back();
        break;
      case EventKind::block: {
        const Node to = node(code_address_of(e));
        std::vector<Node>& targets =
            last.back() == none ? entries_ : blocks_[last.back()].successors;
        if (std::find(targets.begin(), targets.end(), to) == targets.end()) {
          targets.push_back(to);
          stale_ = true;
        }
        last.back() = to;
        break;
      }
      default:
        if (last.back() != none) blocks_[last.back()].is_busy = true;
        break;
    }
  }
  end_function();
}

void FlowGraph::find_loops() {
  loops_.assign(blocks_.size(), {});
  std::vector<Node> all(blocks_.size());
  for (Node i = 0; i < all.size(); ++i) all[i] = i;
  nest(all, entries_);
  stale_ = false;
}

// Tarjan's components of the graph restricted to `members`, searched from `roots`.
void FlowGraph::nest(const std::vector<Node>& members, std::span<const Node> roots) {
  struct State {
    std::uint32_t order = 0, low = 0;  // order 0: not visited
    bool on_stack = false;
  };
  std::vector<State> states(blocks_.size());
  std::vector<bool> inside(blocks_.size());
  for (const Node n : members) inside[n] = true;
  std::vector<Node> stack;
  std::vector<std::pair<Node, std::size_t>> path;  // a node and its next successor
  std::uint32_t clock = 0;
  std::vector<Loop> loops;

  const auto visit = [&](Node n) {
    states[n] = {++clock, clock, true};
    stack.push_back(n);
    path.emplace_back(n, 0);
  };
  for (const Node root : roots) {
    if (!inside[root] || states[root].order != 0) continue;
    visit(root);
    while (!path.empty()) {
      const Node n = path.back().first;
      const std::vector<Node>& targets = blocks_[n].successors;
      if (path.back().second < targets.size()) {
        const Node to = targets[path.back().second++];
        if (!inside[to]) continue;
        if (states[to].order == 0) {
          visit(to);
        } else if (states[to].on_stack) {
          states[n].low = std::min(states[n].low, states[to].order);
        }
        continue;
      }
      path.pop_back();
      if (!path.empty()) {
        State& parent = states[path.back().first];
        parent.low = std::min(parent.low, states[n].low);
      }
      if (states[n].low != states[n].order) continue;
      // `n` is the first block of its component that the search met: the head.
      Loop loop{n, {}};
      for (Node member = none; member != n;) {
        member = stack.back();
        stack.pop_back();
        states[member].on_stack = false;
        if (member != n) loop.blocks.push_back(member);
      }
      if (!loop.blocks.empty() || is_successor(n, n)) loops.push_back(std::move(loop));
    }
  }
  // Tarjan finds what comes last first; a loop on the way out of another is the inner one.
  for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {
    loops_[loop->head].push_back(loop->head);
    for (const Node block : loop->blocks) loops_[block].push_back(loop->head);
    for (const Node block : ways_out(*loop, inside)) loops_[block].push_back(loop->head);
    nest(loop->blocks, blocks_[loop->head].successors);
  }
}

bool FlowGraph::is_successor(Node of, Node block) const {
  const std::vector<Node>& successors = blocks_[of].successors;
  return std::find(successors.begin(), successors.end(), block) != successors.end();
}

FlowGraph::Region FlowGraph::reach(const std::vector<Node>& from, const std::vector<bool>& avoided,
                                   const std::vector<bool>& inside) const {
  Region region;
  std::vector<bool> seen = avoided;
  const auto meet = [&](Node n) {
    if (!seen[n]) region.blocks.push_back(n);
    seen[n] = true;
  };
  for (const Node n : from) meet(n);
  for (std::size_t i = 0; i < region.blocks.size(); ++i) {
    const BasicBlock& block = blocks_[region.blocks[i]];
    region.leaves |= block.is_last;
    for (const Node to : block.successors) {
      if (inside[to]) {
        meet(to);
      } else {
        region.leaves = true;
      }
    }
  }
  return region;
}

// A return inside the loop, at which no other way out arrives, is no way to what follows.
std::vector<bool> FlowGraph::exits_of(const std::vector<Node>& loop,
                                      const std::vector<bool>& inside) const {
  const std::vector<bool> nothing(blocks_.size());
  std::vector<bool> in_loop = nothing;
  for (const Node block : loop) in_loop[block] = true;
  std::vector<Node> targets;
  for (const Node block : loop) {
    for (const Node to : blocks_[block].successors) {
      if (!in_loop[to] && inside[to]) targets.push_back(to);
    }
  }
  std::vector<bool> is_exit = nothing;
  for (const Node to : targets) is_exit[to] = true;
  for (const Node to : targets) {
    if (!is_mere_return(to)) continue;
    std::vector<Node> others = targets;
    std::erase(others, to);
    const std::vector<Node> reached = reach(others, nothing, inside).blocks;
    const bool arrives = std::find(reached.begin(), reached.end(), to) != reached.end();
    if (!others.empty() && !arrives) is_exit[to] = false;
  }
  return is_exit;
}

// The loop's own condition stands where it repeats, if one can leave there, else in its head.
FlowGraph::Exits FlowGraph::sorted_exits(const std::vector<Node>& loop, Node head,
                                         const std::vector<bool>& is_exit) const {
  const auto leaves = [&](Node block) {
    const std::vector<Node>& to = blocks_[block].successors;
    return std::any_of(to.begin(), to.end(), [&](Node n) { return is_exit[n]; });
  };
  const bool tests_last = std::any_of(loop.begin(), loop.end(), [&](Node block) {
    return is_successor(block, head) && leaves(block);
  });
  Exits exits;
  for (const Node block : loop) {
    const bool is_condition = tests_last ? is_successor(block, head) : block == head;
    for (const Node to : blocks_[block].successors) {
      if (is_exit[to]) (is_condition ? exits.continuations : exits.others).push_back(to);
    }
  }
  return exits;
}

// What lies before the nearest block without which there is no way on, if there is one; an empty
// last block is only the return.
std::optional<std::vector<FlowGraph::Node>> FlowGraph::before_meeting(
    const std::vector<Node>& exits, const std::vector<Node>& after,
    const std::vector<bool>& inside) const {
  std::optional<std::vector<Node>> nearest;
  std::vector<bool> avoided(blocks_.size());
  for (const Node candidate : after) {
    if (is_mere_return(candidate)) continue;
    avoided[candidate] = true;
    Region region = reach(exits, avoided, inside);
    avoided[candidate] = false;
    if (region.leaves) continue;
    if (!nearest || region.blocks.size() < nearest->size()) nearest = std::move(region.blocks);
  }
  return nearest;
}

// The blocks between the loop and the place where all lanes that leave it meet again. `inside`:
// the blocks of one iteration of the enclosing loop, or all.
std::vector<FlowGraph::Node> FlowGraph::ways_out(const Loop& loop,
                                                 const std::vector<bool>& inside) const {
  std::vector<Node> all = loop.blocks;
  all.push_back(loop.head);
  const Exits exits = sorted_exits(all, loop.head, exits_of(all, inside));
  std::vector<Node> both = exits.continuations;
  both.insert(both.end(), exits.others.begin(), exits.others.end());
  std::vector<bool> avoided(blocks_.size());
  const std::vector<Node> after = reach(both, avoided, inside).blocks;
  if (auto found = before_meeting(both, after, inside)) return *std::move(found);
  for (const Node n : reach(exits.continuations, avoided, inside).blocks) avoided[n] = true;
  for (const Node n : after) {
    if (is_mere_return(n)) avoided[n] = true;
  }
  return reach(exits.others, avoided, inside).blocks;
}

void FlowGraph::keys(std::span<const Event> trace, std::vector<std::uint64_t>& out) {
  if (stale_) find_loops();
  struct Activation {
    std::uint64_t path;                                 // how control came to this function
    std::vector<std::pair<Node, std::uint64_t>> loops;  // head and iteration, outermost first
    std::uint64_t place;                                // path and loops in one word
  };
  const auto place_of = [](const Activation& a) {
    std::uint64_t place = a.path;
    for (const auto& [head, iteration] : a.loops) place = mix(mix(place, head), iteration);
    return place;
  };
  std::vector<Activation> active{{0, {}, 0}};
  out.clear();
  Event previous = 0;
  std::uint64_t again = 0;  // how often the same has just happened: pieces of one access
  for (const Event e : trace) {
    again = e == previous ? again + 1 : 0;
    previous = e;
    switch (kind_of(e)) {
      case EventKind::enter: {
        const std::uint64_t path = mix(active.back().place, code_address_of(e));
        active.push_back({path, {}, path});
        break;
      }
      case EventKind::leave:
        if (active.size() > 1) active.pop_back();
        break;
      case EventKind::block: {
        Activation& a = active.back();
        const Node here = index_.at(code_address_of(e));
        const std::vector<Node>& loops = loops_[here];
        std::size_t common = 0;
        while (common < loops.size() && common < a.loops.size() &&
               loops[common] == a.loops[common].first) {
          ++common;
        }
        a.loops.resize(common);
        // Arriving at the head of a loop that one is already in starts its next iteration.
        if (common > 0 && loops[common - 1] == here) ++a.loops.back().second;
        for (std::size_t i = common; i < loops.size(); ++i) {
          // On a loop's way out without having been in it: before its first iteration.
          a.loops.emplace_back(loops[i], loops[i] == here ? 0 : ~std::uint64_t{0});
        }
        a.place = place_of(a);
        break;
      }
      default:
        out.push_back(mix(active.back().place, e));
        if (again > 0) out.back() = mix(out.back(), again);
        break;
    }
  }
}

}  // namespace gpubench::model
