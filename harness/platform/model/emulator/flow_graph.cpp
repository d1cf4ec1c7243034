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

Node FlowGraph::node(std::uint64_t code_address) {
  const auto [found, added] = index_.try_emplace(code_address, static_cast<Node>(index_.size()));
  if (added) {
    blocks_.push_back({code_address});
    stale_ = true;
  }
  return found->second;
}

void FlowGraph::learn(std::span<const Event> trace) {
  std::vector<Node> last{no_node};  // the block each active function is in
  const auto happens = [&](unsigned store_bytes) {
    if (last.back() == no_node) return;
    BasicBlock& block = blocks_[last.back()];
    stale_ |= !block.is_busy;
    block.is_busy = true;
    block.last_store_bytes = store_bytes;
  };
  // With these events the lane ends. Who returns from a function before goes on, and is waited for.
  std::size_t returns = trace.size();
  while (returns > 0 && (kind_of(trace[returns - 1]) == EventKind::leave ||
                         kind_of(trace[returns - 1]) == EventKind::block)) {
    --returns;
  }
  const auto end_function = [&] {
    if (last.back() != no_node && !std::exchange(blocks_[last.back()].is_last, true)) stale_ = true;
  };
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const Event e = trace[i];
    switch (kind_of(e)) {
      case EventKind::enter:
        happens(0);
        last.push_back(no_node);
        break;
      case EventKind::leave:
        if (i >= returns) end_function();
        if (last.size() > 1) last.pop_back();
        break;
      case EventKind::block: {
        const Node to = node(code_address_of(e));
        std::vector<Node>& targets =
            last.back() == no_node ? entries_ : blocks_[last.back()].successors;
        if (std::ranges::find(targets, to) == targets.end()) {
          targets.push_back(to);
          stale_ = true;
        }
        last.back() = to;
        break;
      }
      default:
        happens(kind_of(e) == EventKind::store ? bytes_of(e) : 0);
        break;
    }
  }
  end_function();
}

// A store behind which the function only returns.
bool FlowGraph::is_tail(const BasicBlock& block) const {
  return block.last_store_bytes != 0 && std::ranges::all_of(block.successors, [&](Node to) {
           return is_mere_return(blocks_[to]);
         });
}

unsigned FlowGraph::merged_tail_bytes(std::span<const Event> trace) const {
  unsigned functions_left = 0;
  auto e = trace.rbegin();
  for (; e != trace.rend(); ++e) {
    if (kind_of(*e) == EventKind::leave) ++functions_left;
    if (kind_of(*e) != EventKind::leave && kind_of(*e) != EventKind::block) break;
  }
  if (e == trace.rend() || kind_of(*e) != EventKind::store || functions_left > 1) return 0;
  const unsigned bytes = bytes_of(*e);
  while (e != trace.rend() && kind_of(*e) != EventKind::block) ++e;
  if (e == trace.rend() || !is_tail(blocks_[index_.at(code_address_of(*e))])) return 0;
  const auto tails = std::ranges::count_if(blocks_, [&](const BasicBlock& block) {
    return block.last_store_bytes == bytes && is_tail(block);
  });
  return tails > 1 ? bytes : 0;
}

void FlowGraph::keys(std::span<const Event> trace, std::vector<std::uint64_t>& out) {
  if (stale_) loops_ = find_loops(blocks_, entries_);
  stale_ = false;
  struct Activation {
    std::uint64_t path;  // how control came to this function
    std::vector<std::pair<LoopNest::Loop, std::uint64_t>> loops;  // and iteration, outermost first
    std::uint64_t place;                                          // path and loops in one word
  };
  const auto place_of = [](const Activation& a) {
    std::uint64_t place = a.path;
    for (const auto& [loop, iteration] : a.loops) place = mix(mix(place, loop), iteration);
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
        const std::vector<LoopNest::Loop>& loops = loops_.around[here];
        std::size_t common = 0;
        while (common < loops.size() && common < a.loops.size() &&
               loops[common] == a.loops[common].first) {
          ++common;
        }
        a.loops.resize(common);
        // Arriving at the head of a loop that one is already in starts its next iteration.
        if (common > 0 && loops_.heads[loops[common - 1]] == here) ++a.loops.back().second;
        for (std::size_t i = common; i < loops.size(); ++i) {
          // On a loop's way out without having been in it: before its first iteration.
          const bool enters = loops_.heads[loops[i]] == here;
          a.loops.emplace_back(loops[i], enters ? 0 : ~std::uint64_t{0});
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
