#include "harness/platform/model/emulator/loop_nest.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace gpubench::model {

bool BasicBlock::leads_to(Node block) const {
  return std::ranges::find(successors, block) != successors.end();
}

namespace {

// Tarjan's strongly connected components of some of a graph's blocks.
class Tarjan {
 public:
  Tarjan(std::span<const BasicBlock> blocks, const std::vector<bool>& inside)
      : blocks_(blocks), inside_(inside), states_(blocks.size()) {}

  // Calls `found(head, blocks)` for each, blocks with the head; what comes last in the graph first.
  template <class Found>
  void search(Node root, Found&& found) {
    if (!inside_[root] || states_[root].order != 0) return;
    visit(root);
    while (!path_.empty()) {
      const Node n = path_.back().first;
      const std::vector<Node>& targets = blocks_[n].successors;
      if (path_.back().second < targets.size()) {
        follow(n, targets[path_.back().second++]);
        continue;
      }
      path_.pop_back();
      if (!path_.empty()) {
        State& parent = states_[path_.back().first];
        parent.low = std::min(parent.low, states_[n].low);
      }
      if (states_[n].low == states_[n].order) found(n, take_down_to(n));
    }
  }

 private:
  struct State {
    std::uint32_t order = 0, low = 0;  // order 0: not visited
    bool on_stack = false;
  };

  void visit(Node n) {
    states_[n] = {++clock_, clock_, true};
    stack_.push_back(n);
    path_.emplace_back(n, 0);
  }
  void follow(Node from, Node to) {
    if (!inside_[to]) return;
    if (states_[to].order == 0) {
      visit(to);
    } else if (states_[to].on_stack) {
      states_[from].low = std::min(states_[from].low, states_[to].order);
    }
  }
  // `n` is the first block of its component that the search met: the head.
  std::vector<Node> take_down_to(Node n) {
    std::vector<Node> taken;
    do {
      taken.push_back(stack_.back());
      states_[stack_.back()].on_stack = false;
      stack_.pop_back();
    } while (taken.back() != n);
    return taken;
  }

  std::span<const BasicBlock> blocks_;
  const std::vector<bool>& inside_;
  std::vector<State> states_;
  std::vector<Node> stack_;
  std::vector<std::pair<Node, std::size_t>> path_;  // a node and its next successor
  std::uint32_t clock_ = 0;
};

class Search {
 public:
  Search(std::span<const BasicBlock> blocks, std::span<const Node> entries) : blocks_(blocks) {
    nest_.around.resize(blocks.size());
    Region all;
    for (Node n = 0; n < blocks.size(); ++n) all.blocks.push_back(n);
    all.entries.assign(entries.begin(), entries.end());
    nest(all);
  }

  LoopNest found() && { return std::move(nest_); }

 private:
  using Set = std::vector<bool>;  // of blocks
  struct Component {
    Node head;
    std::vector<Node> blocks;  // with the head
  };
  // One iteration of the loop around, or a whole function; without that loop's head, `again`.
  struct Region {
    std::vector<Node> blocks;
    std::vector<Node> entries;
    Node again = no_node;
  };
  struct WaysOut {
    std::vector<Node> blocks;  // that belong to the loop's iterations
    Set lead_on;               // from which what follows the loop can be reached
  };

  void nest(const Region& region);
  // Returns the blocks that belong to the loop's iterations without being in the loop.
  std::vector<Node> add(const Component& loop, const Region& around);
  std::vector<Component> components(const Region& region) const;
  std::vector<Node> inner_of_same_head(const Component& loop, const Set& lead_on, Node again) const;
  WaysOut ways_out(const Component& loop, const Region& around) const;
  // Those blocks behind a loop from which one comes straight to a block, or out of the
  // region, and the function's last.
  std::vector<Node> leading_to(Node block, const std::vector<Node>& after) const;
  std::vector<Node> leading_out(const std::vector<Node>& after, const Set& inside) const;
  std::vector<Node> last_of(const std::vector<Node>& after, const Set& inside) const;
  std::vector<Node> before_meeting(const std::vector<Node>& exits, const Set& lead_on,
                                   const std::vector<Node>& ends, bool straight,
                                   Node& meeting) const;
  std::vector<Node> reach(const std::vector<Node>& from, const Set& inside) const;
  std::vector<Node> reach_back(const std::vector<Node>& to, const Set& inside) const;
  Set set_of(const std::vector<Node>& blocks) const;

  std::span<const BasicBlock> blocks_;
  LoopNest nest_;
};

Search::Set Search::set_of(const std::vector<Node>& blocks) const {
  Set set(blocks_.size());
  for (const Node n : blocks) set[n] = true;
  return set;
}

void Search::nest(const Region& region) {
  Set taken(blocks_.size());
  for (const Component& loop : components(region)) {
    // A loop on the way out of another is the inner one.
    if (taken[loop.head]) continue;
    for (const Node n : add(loop, region)) taken[n] = true;
  }
}

// In the order in which control comes to them.
std::vector<Search::Component> Search::components(const Region& region) const {
  const Set inside = set_of(region.blocks);
  std::vector<Component> loops;
  Tarjan tarjan(blocks_, inside);
  for (const Node root : region.entries) {
    tarjan.search(root, [&](Node head, std::vector<Node> blocks) {
      if (blocks.size() > 1 || blocks_[head].leads_to(head)) {
        loops.push_back({head, std::move(blocks)});
      }
    });
  }
  std::ranges::reverse(loops);
  return loops;
}

std::vector<Node> Search::add(const Component& loop, const Region& around) {
  const auto id = static_cast<LoopNest::Loop>(nest_.heads.size());
  nest_.heads.push_back(loop.head);
  WaysOut ways = ways_out(loop, around);
  Region iteration{loop.blocks, {}, loop.head};
  iteration.blocks.insert(iteration.blocks.end(), ways.blocks.begin(), ways.blocks.end());
  for (const Node n : iteration.blocks) nest_.around[n].push_back(id);
  std::erase(iteration.blocks, loop.head);
  std::vector<Node> before{loop.head};  // by which one comes to the rest of the iteration
  if (const std::vector<Node> inner = inner_of_same_head(loop, ways.lead_on, around.again);
      !inner.empty()) {
    before = add({loop.head, inner}, iteration);
    before.insert(before.end(), inner.begin(), inner.end());
    const Set taken = set_of(before);
    std::erase_if(iteration.blocks, [&](Node n) { return taken[n]; });
  }
  for (const Node n : before) {
    const std::vector<Node>& next = blocks_[n].successors;
    iteration.entries.insert(iteration.entries.end(), next.begin(), next.end());
  }
  nest(iteration);
  return std::move(ways.blocks);
}

// What lies on the ways to those repetitions on which nobody leaves the loop: whoever goes on from
// there goes on to the rest of the same iteration.
std::vector<Node> Search::inner_of_same_head(const Component& loop, const Set& lead_on,
                                             Node again) const {
  const Set in_loop = set_of(loop.blocks);
  const auto leaves = [&](Node n) {
    return std::ranges::any_of(blocks_[n].successors, [&](Node to) {
      return !in_loop[to] && (lead_on[to] || to == again);
    });
  };
  if (leaves(loop.head)) return {};
  Set inside = in_loop, taken(blocks_.size());
  inside[loop.head] = false;
  std::vector<Node> inner{loop.head};
  taken[loop.head] = true;
  bool repeats = false;
  for (const Node n : loop.blocks) {
    if (!blocks_[n].leads_to(loop.head)) continue;
    const std::vector<Node> way = n == loop.head ? std::vector<Node>{} : reach_back({n}, inside);
    if (std::ranges::any_of(way, leaves)) continue;
    repeats = true;
    for (const Node on_way : way) {
      if (!taken[on_way]) inner.push_back(on_way);
      taken[on_way] = true;
    }
  }
  return repeats && inner.size() < loop.blocks.size() ? inner : std::vector<Node>{};
}

Search::WaysOut Search::ways_out(const Component& loop, const Region& around) const {
  const Set in_loop = set_of(loop.blocks);
  Set inside = set_of(around.blocks);
  for (const Node n : loop.blocks) inside[n] = false;
  std::vector<Node> exits;
  bool repeats = false, leaves = false;  // the loop around, straight from this one
  for (const Node n : loop.blocks) {
    for (const Node to : blocks_[n].successors) {
      if (inside[to]) exits.push_back(to);
      if (inside[to] || in_loop[to]) continue;
      repeats |= to == around.again;
      leaves |= to != around.again && !is_mere_return(blocks_[to]);
    }
  }
  const std::vector<Node> after = reach(exits, inside);
  std::vector<Node> ends;
  if (around.again != no_node) ends = leading_to(around.again, after);
  bool straight = repeats;
  if (!repeats && ends.empty()) {  // then to what lies behind the loop around
    straight = leaves;
    ends = leading_out(after, inside);
    if (!leaves && ends.empty()) ends = last_of(after, inside);
  }
  WaysOut ways;
  ways.lead_on = set_of(reach_back(ends, set_of(after)));
  std::erase_if(exits, [&](Node n) { return !ways.lead_on[n]; });
  Node meeting = no_node;
  ways.blocks = before_meeting(exits, ways.lead_on, ends, straight, meeting);
  // Dead ends that one comes to from the loop only.
  Set elsewhere = set_of(reach(around.entries, inside));
  if (meeting != no_node) {
    for (const Node n : reach({meeting}, inside)) elsewhere[n] = true;
  }
  for (const Node n : after) {
    if (!ways.lead_on[n] && !elsewhere[n] && !is_mere_return(blocks_[n])) ways.blocks.push_back(n);
  }
  return ways;
}

std::vector<Node> Search::leading_to(Node block, const std::vector<Node>& after) const {
  std::vector<Node> found;
  std::ranges::copy_if(after, std::back_inserter(found),
                       [&](Node n) { return blocks_[n].leads_to(block); });
  return found;
}

std::vector<Node> Search::leading_out(const std::vector<Node>& after, const Set& inside) const {
  std::vector<Node> found;
  std::ranges::copy_if(after, std::back_inserter(found), [&](Node n) {
    return std::ranges::any_of(blocks_[n].successors, [&](Node to) {
      return !inside[to] && !is_mere_return(blocks_[to]);
    });
  });
  return found;
}

// The function's last block.
std::vector<Node> Search::last_of(const std::vector<Node>& after, const Set& inside) const {
  Node last = no_node;
  for (const Node n : after) {
    const BasicBlock& block = blocks_[n];
    const bool goes_on = std::ranges::any_of(
        block.successors, [&](Node to) { return inside[to] && !is_mere_return(blocks_[to]); });
    if (goes_on || is_mere_return(block)) continue;
    if (last == no_node || blocks_[last].code_address < block.code_address) last = n;
  }
  if (last != no_node) return {last};
  std::vector<Node> ends;
  std::ranges::copy_if(after, std::back_inserter(ends),
                       [&](Node n) { return is_mere_return(blocks_[n]); });
  return ends;
}

// What lies before the nearest block without which none of the ends can be reached.
std::vector<Node> Search::before_meeting(const std::vector<Node>& exits, const Set& lead_on,
                                         const std::vector<Node>& ends, bool straight,
                                         Node& meeting) const {
  std::vector<Node> nearest = reach(exits, lead_on);
  if (straight) return nearest;
  const std::vector<Node> candidates = nearest;
  Set open = lead_on;
  for (const Node candidate : candidates) {
    open[candidate] = false;
    std::vector<Node> before = reach(exits, open);
    open[candidate] = true;
    const Set reached = set_of(before);
    if (std::ranges::any_of(ends, [&](Node end) { return reached[end]; })) continue;
    if (meeting != no_node && before.size() >= nearest.size()) continue;
    meeting = candidate;
    nearest = std::move(before);
  }
  return nearest;
}

std::vector<Node> Search::reach(const std::vector<Node>& from, const Set& inside) const {
  std::vector<Node> reached;
  Set open = inside;
  const auto meet = [&](Node n) {
    if (open[n]) reached.push_back(n);
    open[n] = false;
  };
  for (const Node n : from) meet(n);
  for (std::size_t i = 0; i < reached.size(); ++i) {
    for (const Node to : blocks_[reached[i]].successors) meet(to);
  }
  return reached;
}

std::vector<Node> Search::reach_back(const std::vector<Node>& to, const Set& inside) const {
  Set reached = set_of(to);
  std::vector<Node> found = to;
  for (bool grown = true; grown;) {
    grown = false;
    for (Node n = 0; n < blocks_.size(); ++n) {
      if (!inside[n] || reached[n]) continue;
      const std::vector<Node>& next = blocks_[n].successors;
      if (std::ranges::any_of(next, [&](Node s) { return reached[s]; })) {
        reached[n] = grown = true;
        found.push_back(n);
      }
    }
  }
  return found;
}

}  // namespace

LoopNest find_loops(std::span<const BasicBlock> blocks, std::span<const Node> entries) {
  return Search(blocks, entries).found();
}

}  // namespace gpubench::model
