#include "harness/platform/model/ptx/vain_wait.hpp"

#include "harness/platform/model/emulator/vain_wait.hpp"
#include "harness/platform/model/ptx/block.hpp"

namespace gpubench::model::ptx {
namespace {

// The looks of a loop that waits, of all warps together.
constexpr std::size_t most_looks = 1024;
// After so many of the same, lanes that wait for the looking ones where their ways meet go on: on a
// GPU too, lanes that spin do not keep others for ever from the store that they wait for. A lock
// that is not free is sooner known than a word that has not changed.
constexpr std::uint64_t patience = std::uint64_t{1} << 16, patience_at_locks = 1 << 10;
// Every so many looks the registers are compared, and those of a loop of several in turn.
constexpr std::uint64_t looks_per_state = 31;
// Long enough for a block that another thread of the host runs.
constexpr std::uint64_t looks_without_change = std::uint64_t{1} << 22;

class Hash {
 public:
  void add(std::uint64_t word) {
    value_ ^= word;
    value_ *= 0x9E3779B97F4A7C15u;
    value_ ^= value_ >> 29;
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0;
};

// Whose look it is, and where.
Hash hash_of(Warp& w, const Op& op) {
  Hash hash;
  hash.add(reinterpret_cast<std::uintptr_t>(&op));
  hash.add(std::uint64_t{w.block.ordinal} << 32 | w.number);
  return hash;
}
std::uint64_t look_of(Warp& w, const Op& op, Mask mask, const Addresses& at) {
  Hash hash = hash_of(w, op);
  hash.add(mask);
  const Register found{op.d, op.dn, op.extra->bytes};
  for_lanes(mask, [&](unsigned i) {
    hash.add(at[i]);
    for (const Register& r : op.extra->destinations) hash.add(w.value(r, i));
    if (op.dn != nowhere) hash.add(w.value(found, i));
  });
  return hash.value();
}
std::uint64_t state_of(Warp& w, const Op& op) {
  Hash hash = hash_of(w, op);
  const auto* const words = w.row<std::uint64_t>(0);
  const std::size_t count = w.block.program().file_bytes / sizeof *words;
  for (std::size_t i = 0; i < count; ++i) hash.add(words[i]);
  return hash.value();
}

}  // namespace

void VainWait::note_state(Warp& w, const Op& op) {
  if (repeats_ % looks_per_state != 0 || states_.size() > most_looks) return;
  ++noted_states_;
  states_.insert(state_of(w, op));
}

bool VainWait::is_vain(const Warp& w) const {
  return states_.size() > most_looks ? repeats_ >= looks_of_a_wait * w.block.warps().size()
                                     : repeats_ >= looks_without_change;
}

void VainWait::watch(Warp& w, const Op& op, Mask mask, const Addresses& at, bool tried) {
  if (looks_ == unwatched + 1) {
    seen_.clear();
    states_.clear();
    repeats_ = noted_states_ = 0;
  }
  if (seen_.insert(look_of(w, op, mask, at)).second) {
    repeats_ = 0;
    if (seen_.size() > most_looks) note_progress();
    return;
  }
  ++repeats_;
  note_state(w, op);
  // A lane that counts its turns goes on by itself.
  const bool comes_round = 2 * states_.size() <= noted_states_;
  if (comes_round && repeats_ % (tried ? patience_at_locks : patience) == 0 &&
      Block::let_others_go(w, w.running)) {
    return note_progress();
  }
  if (is_vain(w)) throw Fault{std::string(vain_wait_fault), mask};
}

}  // namespace gpubench::model::ptx
