// Where the lanes of a branch meet again: its immediate post-dominator.
#include <algorithm>
#include <vector>

#include "harness/platform/model/ptx/program.hpp"

namespace gpubench::model::ptx {
namespace {

struct Block {
  std::uint32_t first = 0, last = 0;  // its operations
  std::vector<std::size_t> next, before;
};

// The last block is the end, of which nothing follows.
std::vector<Block> blocks_of(const std::vector<Op>& ops) {
  std::vector<char> begins(ops.size() + 1, 0);
  begins[0] = 1;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (ops[i].flow == Flow::branch) begins[ops[i].target] = 1;
    if (ops[i].flow == Flow::branch || ops[i].flow == Flow::leave) begins[i + 1] = 1;
  }
  std::vector<Block> blocks;
  std::vector<std::size_t> block_of(ops.size());
  for (std::uint32_t i = 0; i < ops.size(); ++i) {
    if (begins[i]) blocks.push_back({i, i, {}, {}});
    blocks.back().last = i;
    block_of[i] = blocks.size() - 1;
  }
  const std::size_t end = blocks.size();
  blocks.emplace_back();
  for (std::size_t b = 0; b < end; ++b) {
    const Op& op = ops[blocks[b].last];
    const auto join = [&](std::size_t to) {
      blocks[b].next.push_back(to);
      blocks[to].before.push_back(b);
    };
    if (op.flow == Flow::branch) join(block_of[op.target]);
    if (op.flow == Flow::leave) join(end);
    const bool always = !op.is_guarded && (op.flow == Flow::branch || op.flow == Flow::leave);
    if (!always) join(b + 1 < end ? b + 1 : end);
  }
  return blocks;
}

}  // namespace

// Cooper, Harvey and Kennedy's dominators ("A Simple, Fast Dominance Algorithm") of the graph the
// other way round.
void find_reconvergence(std::vector<Op>& ops) {
  const std::vector<Block> blocks = blocks_of(ops);
  const std::size_t end = blocks.size() - 1, unknown = blocks.size();
  std::vector<std::size_t> order;  // from the end on, in postorder
  std::vector<char> seen(blocks.size(), 0);
  std::vector<std::pair<std::size_t, std::size_t>> path{{end, 0}};
  seen[end] = 1;
  while (!path.empty()) {
    auto& [at, child] = path.back();
    if (child < blocks[at].before.size()) {
      const std::size_t next = blocks[at].before[child++];
      if (!seen[next]) {
        seen[next] = 1;
        path.emplace_back(next, 0);
      }
    } else {
      order.push_back(at);
      path.pop_back();
    }
  }
  std::vector<std::size_t> number(blocks.size(), 0), dominator(blocks.size(), unknown);
  for (std::size_t i = 0; i < order.size(); ++i) number[order[i]] = i;
  dominator[end] = end;
  for (bool changed = true; changed;) {
    changed = false;
    for (auto b = order.rbegin(); b != order.rend(); ++b) {
      if (*b == end) continue;
      std::size_t found = unknown;
      for (const std::size_t next : blocks[*b].next) {
        if (dominator[next] == unknown) continue;
        std::size_t other = next;
        while (found != unknown && found != other) {
          while (number[found] < number[other]) found = dominator[found];
          while (number[other] < number[found]) other = dominator[other];
        }
        found = other;
      }
      if (found != dominator[*b]) {
        dominator[*b] = found;
        changed = true;
      }
    }
  }
  for (std::size_t b = 0; b < end; ++b) {
    Op& op = ops[blocks[b].last];
    if (op.flow != Flow::branch) continue;
    const std::size_t meets = dominator[b];
    op.reconverge = meets == unknown || meets == end ? never : blocks[meets].first;
    // Where all do nothing but end, none waits for the others, who may yet come to a barrier.
    if (op.reconverge == never) continue;
    const Op& there = ops[op.reconverge];
    if (there.flow == Flow::leave && !there.is_guarded) op.reconverge = never;
  }
}

}  // namespace gpubench::model::ptx
