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
      const bool repeats = std::find(targets.begin(), targets.end(), n) != targets.end();
      if (!loop.blocks.empty() || repeats) loops.push_back(std::move(loop));
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

// The blocks between the loop and the place where all lanes that leave it meet again. `inside`:
// the blocks of one iteration of the enclosing loop, or all.
std::vector<FlowGraph::Node> FlowGraph::ways_out(const Loop& loop,
                                                 const std::vector<bool>& inside) const {
  const auto is_mere_return = [&](Node n) { return blocks_[n].is_last && !blocks_[n].is_busy; };
  // What can be reached from `from` around `avoided`, and whether that leads on without it.
  struct Region {
    std::vector<Node> blocks;
    bool leaves = false;
  };
  const auto reach = [&](const std::vector<Node>& from, const std::vector<bool>& avoided) {
    Region region;
    std::vector<bool> seen = avoided;
    const auto meet = [&](Node n) {
      if (!seen[n]) region.blocks.push_back(n);
      seen[n] = true;
    };
    for (const Node n : from) meet(n);
    for (std::size_t i = 0; i < region.blocks.size(); ++i) {
      const Block& block = blocks_[region.blocks[i]];
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
  };

  const std::vector<bool> nothing(blocks_.size());
  std::vector<bool> in_loop = nothing;
  in_loop[loop.head] = true;
  for (const Node block : loop.blocks) in_loop[block] = true;
  std::vector<Node> all = loop.blocks;
  all.push_back(loop.head);
  std::vector<Node> targets;
  for (const Node block : all) {
    for (const Node to : blocks_[block].successors) {
      if (!in_loop[to] && inside[to]) targets.push_back(to);
    }
  }
  // A return inside the loop, at which no other way out arrives, is no way to what follows.
  std::vector<bool> is_exit = nothing;
  for (const Node to : targets) is_exit[to] = true;
  for (const Node to : targets) {
    if (!is_mere_return(to)) continue;
    std::vector<Node> others = targets;
    std::erase(others, to);
    const std::vector<Node> reached = reach(others, nothing).blocks;
    const bool arrives = std::find(reached.begin(), reached.end(), to) != reached.end();
    if (!others.empty() && !arrives) is_exit[to] = false;
  }
  // The loop's own condition stands where it repeats, if one can leave there, else in its head.
  const auto leaves = [&](Node block) {
    const std::vector<Node>& to = blocks_[block].successors;
    return std::any_of(to.begin(), to.end(), [&](Node n) { return is_exit[n]; });
  };
  const auto repeats = [&](Node block) {
    const std::vector<Node>& to = blocks_[block].successors;
    return std::find(to.begin(), to.end(), loop.head) != to.end();
  };
  const bool tests_last = std::any_of(all.begin(), all.end(),
                                      [&](Node block) { return repeats(block) && leaves(block); });
  std::vector<Node> continuations, others;  // where the condition leads, and the other ways out
  for (const Node block : all) {
    const bool is_condition = tests_last ? repeats(block) : block == loop.head;
    for (const Node to : blocks_[block].successors) {
      if (is_exit[to]) (is_condition ? continuations : others).push_back(to);
    }
  }
  std::vector<Node> exits = continuations;
  exits.insert(exits.end(), others.begin(), others.end());
  const std::vector<Node> after = reach(exits, nothing).blocks;
  std::vector<bool> avoided = nothing;
  // The nearest block without which there is no way on; an empty last block is only the return.
  const std::vector<Node>* nearest = nullptr;
  std::vector<std::vector<Node>> before;
  before.reserve(after.size());
  for (const Node candidate : after) {
    if (is_mere_return(candidate)) continue;
    avoided[candidate] = true;
    Region region = reach(exits, avoided);
    avoided[candidate] = false;
    if (region.leaves) continue;
    before.push_back(std::move(region.blocks));
    if (nearest == nullptr || before.back().size() < nearest->size()) nearest = &before.back();
  }
  if (nearest != nullptr) return *nearest;
  for (const Node n : reach(continuations, avoided).blocks) avoided[n] = true;
  for (const Node n : after) {
    if (is_mere_return(n)) avoided[n] = true;
  }
  return reach(others, avoided).blocks;
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
