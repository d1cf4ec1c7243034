#include "harness/model/emulator/flow_graph.hpp"

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
    successors_.emplace_back();
    stale_ = true;
  }
  return found->second;
}

void FlowGraph::learn(std::span<const Event> trace) {
  std::vector<Node> last{none};  // the block each active function is in
  for (const Event e : trace) {
    switch (kind_of(e)) {
      case EventKind::enter:
        last.push_back(none);
        break;
      case EventKind::leave:
        if (last.size() > 1) last.pop_back();
        break;
      case EventKind::block: {
        const Node to = node(code_address_of(e));
        std::vector<Node>& targets = last.back() == none ? entries_ : successors_[last.back()];
        if (std::find(targets.begin(), targets.end(), to) == targets.end()) {
          targets.push_back(to);
          stale_ = true;
        }
        last.back() = to;
        break;
      }
      default:
        break;
    }
  }
}

void FlowGraph::find_loops() {
  loops_.assign(successors_.size(), {});
  std::vector<Node> all(successors_.size());
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
  std::unordered_map<Node, State> states;
  for (const Node n : members) states.emplace(n, State{});
  std::vector<Node> stack;
  std::vector<std::pair<Node, std::size_t>> path;  // a node and its next successor
  std::uint32_t clock = 0;

  const auto visit = [&](Node n) {
    State& s = states[n];
    s.order = s.low = ++clock;
    s.on_stack = true;
    stack.push_back(n);
    path.emplace_back(n, 0);
  };
  for (const Node root : roots) {
    if (!states.contains(root) || states[root].order != 0) continue;
    visit(root);
    while (!path.empty()) {
      const Node n = path.back().first;
      if (path.back().second < successors_[n].size()) {
        const Node to = successors_[n][path.back().second++];
        const auto found = states.find(to);
        if (found == states.end()) continue;
        if (found->second.order == 0) {
          visit(to);
        } else if (found->second.on_stack) {
          states[n].low = std::min(states[n].low, found->second.order);
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
      std::vector<Node> component;
      Node member = none;
      do {
        member = stack.back();
        stack.pop_back();
        states[member].on_stack = false;
        component.push_back(member);
      } while (member != n);
      const auto& targets = successors_[n];
      const bool is_loop =
          component.size() > 1 || std::find(targets.begin(), targets.end(), n) != targets.end();
      if (!is_loop) continue;
      for (const Node inside : component) loops_[inside].push_back(n);
      std::erase(component, n);
      nest(component, targets);
    }
  }
}

void FlowGraph::keys(std::span<const Event> trace, std::vector<std::uint64_t>& out) {
  if (stale_) find_loops();
  struct Activation {
    std::uint64_t path;                            // how control came to this function
    std::vector<std::pair<Node, std::uint64_t>> loops;  // head and iteration, outermost first
    std::uint64_t place;                           // path and loops in one word
  };
  const auto place_of = [](const Activation& a) {
    std::uint64_t place = a.path;
    for (const auto& [head, iteration] : a.loops) place = mix(mix(place, head), iteration);
    return place;
  };
  std::vector<Activation> active{{0, {}, 0}};
  out.clear();
  for (const Event e : trace) {
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
        for (std::size_t i = common; i < loops.size(); ++i) a.loops.emplace_back(loops[i], 0);
        a.place = place_of(a);
        break;
      }
      default:
        out.push_back(mix(active.back().place, e));
        break;
    }
  }
}

}  // namespace gpubench::model
