#include "harness/platform/model/ptx/block.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "harness/platform/model/ptx/cluster.hpp"
#include "harness/platform/model/ptx/windows.hpp"

namespace gpubench::model::ptx {
namespace {

std::uint64_t linear(dim3 extent) { return std::uint64_t{extent.x} * extent.y * extent.z; }

// How long an orderly warp's part runs while others could, and a disorderly one's at the most.
constexpr std::uint64_t long_turn = 20000, longest_random_turn = 96;

}  // namespace

void Block::begin(const Program& program, const KernelLaunch& launch, dim3 index, bool traced) {
  program_ = &program;
  launch_ = &launch;
  index_ = index;
  is_traced = traced;
  result = {};
  operations_ = 0;
  const auto threads = static_cast<unsigned>(linear(launch.block));
  result.lanes = live_ = threads;
  const unsigned warps = (threads + lanes - 1) / lanes;
  const bool is_new = std::exchange(is_new_launch_, false);
  while (warps_.size() < warps) {
    warps_.push_back(std::make_unique<Warp>(*this, static_cast<unsigned>(warps_.size())));
  }
  warps_.resize(warps);
  memory.begin(program, launch, warps);
  if (is_new) fill_parameters();
  async.begin(warps);
  tensors.begin();
  barriers_.assign(16, {});
  for (unsigned w = 0; w < warps; ++w) {
    const unsigned here = std::min(lanes, threads - w * lanes);
    if (is_new) warps_[w]->prepare(program);
    warps_[w]->begin(program, here == lanes ? ~Mask{0} : (Mask{1} << here) - 1, traced);
    fill_specials(*warps_[w], index, is_new);
  }
}

// Each of the launch's arguments begins at a word; PTX's parameters lie as their types want.
void Block::fill_parameters() {
  std::vector<std::byte>& bytes = memory.parameters();
  bytes.assign(program_->parameter_bytes, std::byte{0});
  std::size_t word = 0;
  const auto& parameters = program_->kernel->parameters;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::size_t words = (parameters[i].bytes + 7) / 8;
    if (word + words > launch_->argument_words.size()) break;
    std::memcpy(bytes.data() + program_->parameter_offsets[i],
                launch_->argument_words.data() + word, parameters[i].bytes);
    word += words;
  }
  if (word != launch_->argument_words.size()) {
    throw PtxError("the launch of " + std::string(launch_->name) +
                   " has other arguments than its PTX has parameters");
  }
}

namespace {

std::uint64_t special_value(Special what, unsigned thread, dim3 index, const KernelLaunch& launch) {
  const dim3 block = launch.block, grid = launch.grid;
  switch (what) {
    case Special::tid_x:
      return thread % block.x;
    case Special::tid_y:
      return thread / block.x % block.y;
    case Special::tid_z:
      return thread / block.x / block.y;
    case Special::ntid_x:
      return block.x;
    case Special::ntid_y:
      return block.y;
    case Special::ntid_z:
      return block.z;
    case Special::ctaid_x:
      return index.x;
    case Special::ctaid_y:
      return index.y;
    case Special::ctaid_z:
      return index.z;
    case Special::nctaid_x:
      return grid.x;
    case Special::nctaid_y:
      return grid.y;
    case Special::nctaid_z:
      return grid.z;
    case Special::laneid:
      return thread % lanes;
    case Special::warpid:
      return thread / lanes;
    case Special::lanemask_lt:
      return (Mask{1} << thread % lanes) - 1;
    case Special::lanemask_le:
      return ~(~Mask{1} << thread % lanes);
    case Special::lanemask_eq:
      return Mask{1} << thread % lanes;
    case Special::lanemask_ge:
      return ~Mask{0} << thread % lanes;
    case Special::lanemask_gt:
      return ~Mask{1} << thread % lanes;
    case Special::cluster_ctarank:
      return index.x % launch.cluster;
    case Special::cluster_nctarank:
      return launch.cluster;
    case Special::envreg1:
      return launch.cooperative ? grid_window >> 32 : 0;
    case Special::envreg2:
      return launch.cooperative ? grid_window & 0xffffffffu : 0;
  }
  return 0;
}

}  // namespace

void Block::fill_specials(Warp& warp, dim3 index, bool all) {
  for (const auto& [what, place] : program_->specials) {
    const bool is_index =
        (what >= Special::ctaid_x && what <= Special::ctaid_z) || what == Special::cluster_ctarank;
    if (!all && !is_index) continue;  // as they were in the launch's last block
    for (unsigned i = 0; i < lanes; ++i) {
      warp.set_value(place, i, special_value(what, warp.number * lanes + i, index, *launch_));
    }
  }
}

bool Block::advance() {
  // Not later than all waits: some are vain. Another block may wait for what that ends.
  const bool finished = conduct.random_order && dice.below(8) == 0 && finish_one();
  const bool advanced = run_once() || finished || (result.fault.empty() && finish_one());
  if (operations_ > conduct.most_operations) {
    result.fault = std::string(launch_->name) + ": a block that does not end";
  }
  return advanced;
}

BlockResult Block::finish() {
  if (result.fault.empty()) {
    if (const std::string left = tensors.leftover(); !left.empty()) {
      result.fault = std::string(launch_->name) + ": " + left;
    }
  }
  if (!is_traced) return result;
  for (const auto& warp : warps_) {
    const auto issued = [&](Tally what) {
      const auto& by_lanes = warp->tallies[static_cast<std::size_t>(what)];
      return std::accumulate(by_lanes.begin(), by_lanes.end(), std::uint64_t{0});
    };
    result.warp_operations[static_cast<std::size_t>(WarpOperation::shuffle)] +=
        issued(Tally::shuffle);
    result.warp_operations[static_cast<std::size_t>(WarpOperation::vote)] += issued(Tally::vote);
  }
  return result;
}

// What is asked of the Tensor Cores is checked when they do it, and names no instruction.
bool Block::finish_one() {
  try {
    const bool tensors_first = conduct.random_order && dice.below(2) == 0;
    const bool finished =
        (tensors_first && tensors.finish_one()) || async.finish_one() || tensors.finish_one();
    if (finished) cluster.waits().note_progress();
    return finished;
  } catch (const Fault& fault) {
    result.fault = std::string(launch_->name) + ": " + fault.what;
    result.is_illegal_access = fault.is_illegal_access;
    return false;
  }
}

bool Block::run_once() {
  bool moved = false;
  for (std::size_t i = 0; i < warps_.size() && result.fault.empty(); ++i) {
    Warp& warp = *warps_[conduct.random_order ? dice.below(warps_.size()) : i];
    moved = run_warp(warp) || moved;
  }
  if (moved || !conduct.random_order) return moved;
  for (const auto& warp : warps_) moved = (result.fault.empty() && run_warp(*warp)) || moved;
  return moved;
}

bool Block::run_warp(Warp& warp) {
  bool moved = false;
  const std::size_t count = warp.fragments.size();
  const std::size_t first = conduct.random_order ? dice.below(count) : 0;
  const std::uint64_t turns =
      conduct.random_order ? 1 + dice.below(longest_random_turn) : long_turn;
  for (std::size_t i = 0; i < count && result.fault.empty(); ++i) {
    const auto number = static_cast<std::uint32_t>((first + i) % count);
    const Fragment::State state = warp.fragments[number].state;
    if (state != Fragment::State::ready && state != Fragment::State::waiting) continue;
    moved = run_fragment(warp, number, turns) || moved;
    if (moved && conduct.random_order) break;
  }
  return moved;
}

bool Block::run_fragment(Warp& warp, std::uint32_t number, std::uint64_t turns) {
  try {
    const std::uint64_t before = operations_, looks = cluster.waits().looks();
    const bool moved = program_->uses_warpgroups ? step<true>(warp, number, turns)
                                                 : step<false>(warp, number, turns);
    // Who works without a look at memory may yet do what others wait for.
    if (operations_ - before >= long_turn && cluster.waits().looks() == looks) {
      cluster.waits().note_progress();
    }
    return moved;
  } catch (const Fault& fault) {
    result.fault = describe_fault(fault, warp, *current_);
    result.is_illegal_access = fault.is_illegal_access;
    return false;
  }
}

namespace {

// Chains of dependent multiply-adds are told by their values (emulator/fma_chain.hpp).
void run_fma(Warp& warp, const Op& op, Mask active) {
  if (!warp.fma_chains[static_cast<std::size_t>(std::countr_zero(active))].is_watching()) {
    op.run(warp, op, active);
    return;
  }
  std::array<std::array<float, lanes>, 3> operands;
  const std::uint32_t places[] = {op.a, op.b, op.c};
  for (std::size_t i = 0; i < operands.size(); ++i) {
    std::copy_n(warp.row<float>(places[i]), lanes, operands[i].begin());
  }
  op.run(warp, op, active);
  const float* const results = warp.row<float>(op.d);
  for_lanes(active, [&](unsigned i) {
    warp.fma_chains[i].note(operands[0][i], operands[1][i], operands[2][i], results[i]);
  });
}

}  // namespace

template <bool with_warpgroups>
void Block::perform(Warp& warp, const Op& op, Mask active) {
  if constexpr (with_warpgroups) warp.touch(op);
  if (is_traced && op.count_as == static_cast<std::uint8_t>(Tally::fma_fp32)) {
    run_fma(warp, op, active);
  } else {
    op.run(warp, op, active);
  }
  if (!op.defines_itself) {
    const Mask known = warp.defined(op.an) & warp.defined(op.bn) & warp.defined(op.cn);
    Mask& defined = warp.defined(op.dn);
    defined = (defined & ~active) | (known & active);
  }
  if (op.count_as != 0 && is_traced) warp.tally(static_cast<Tally>(op.count_as), active);
}

// Runs a part of a warp for so many turns, until it waits, splits, meets the others or ends. False
// if it could do nothing.
template <bool with_warpgroups>
bool Block::step(Warp& warp, std::uint32_t number, std::uint64_t turns) {
  const Op* const ops = program_->ops.data();
  std::uint32_t pc = warp.fragments[number].pc;
  const std::uint32_t meets = warp.fragments[number].reconverge;
  const Mask mask = warp.fragments[number].mask;
  warp.running = mask;
  const auto save = [&](Fragment::State state, std::uint64_t done) {
    warp.fragments[number].pc = pc;
    warp.fragments[number].state = state;
    operations_ += done;
  };
  for (std::uint64_t done = 0;; ++done) {
    if (pc == meets) {
      save(Fragment::State::ready, done);
      arrive(warp, number);
      return true;
    }
    if (done == turns) {
      save(Fragment::State::ready, done);
      return true;
    }
    const Op& op = ops[pc];
    current_ = &op;
    Mask active = mask;
    if (op.is_guarded) {
      warp.require(op.guard_number, mask, "a predicate");
      const Mask guard = warp.predicate(op.guard);
      active &= op.guard_negated ? ~guard : guard;
    }
    if constexpr (with_warpgroups) ++warp.clock;
    switch (op.flow) {
      case Flow::next:
        if (active != 0) perform<with_warpgroups>(warp, op, active);
        break;
      case Flow::wait:
        if (active != 0 && !op.wait(warp, op, active)) {
          save(Fragment::State::waiting, done);
          return done > 0;
        }
        break;
      case Flow::branch:
        if (active == mask) {
          pc = op.target;
          continue;
        }
        if (active == 0) break;
        save(Fragment::State::ready, done);
        split(warp, number, op, pc + 1, active);
        return true;
      case Flow::leave:
        if (active == 0) break;
        ++pc;
        save(Fragment::State::ready, done);
        leave(warp, number, active);
        return true;
    }
    ++pc;
  }
}

// `taken` jump, the others go on at `pc`. Both end where the branch's lanes meet again.
void Block::split(Warp& warp, std::uint32_t number, const Op& op, std::uint32_t pc, Mask taken) {
  const Fragment whole = warp.fragments[number];
  const std::uint32_t meets = op.reconverge;
  Fragment parts[2] = {{taken, op.target, meets, number, 0, Fragment::State::ready},
                       {whole.mask & ~taken, pc, meets, number, 0, Fragment::State::ready}};
  if (meets == whole.reconverge) {  // where it was to meet others anyway
    for (Fragment& part : parts) part.parent = whole.parent;
    if (parts[0].pc == meets) std::swap(parts[0], parts[1]);
    warp.fragments[number] = parts[0];
    if (parts[1].pc == meets) return;
    if (whole.parent != never) ++warp.fragments[whole.parent].children;
    warp.add_fragment(parts[1]);
    return;
  }
  Fragment& joining = warp.fragments[number];
  joining.pc = meets;
  joining.state = Fragment::State::joining;
  joining.children = (parts[0].pc != meets) + (parts[1].pc != meets);
  for (const Fragment& part : parts) {
    if (part.pc != meets) warp.add_fragment(part);
  }
}

void Block::arrive(Warp& warp, std::uint32_t number) {
  Fragment& part = warp.fragments[number];
  const std::uint32_t parent = part.parent;
  part.state = Fragment::State::free;
  if (parent == never || --warp.fragments[parent].children > 0) return;
  warp.fragments[parent].state = Fragment::State::ready;
  if (warp.fragments[parent].mask == 0) arrive(warp, parent);  // all have ended
}

void Block::leave(Warp& warp, std::uint32_t number, Mask mask) {
  cluster.waits().note_progress();
  warp.live &= ~mask;
  live_ -= static_cast<unsigned>(std::popcount(mask));
  for (std::uint32_t at = number; at != never; at = warp.fragments[at].parent) {
    warp.fragments[at].mask &= ~mask;
  }
  if (warp.fragments[number].mask == 0) arrive(warp, number);
}

}  // namespace gpubench::model::ptx
