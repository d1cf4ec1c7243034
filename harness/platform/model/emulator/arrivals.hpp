// Which warp knows of which arrivals at mbarriers: what orders a read by the Tensor Cores before
// the copy that replaces what was read, and their sums before those who read them. A tcgen05.commit
// is an arrival by the Tensor Cores, on behalf of the warp that asks for it. The two blocks of a
// pair (tcgen05's cta_group::2) know of each other's arrivals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpubench::model {

class Arrivals {
 public:
  // By warp, and then by warp on whose behalf the Tensor Cores arrive, how many of its arrivals
  // somebody knows of. Those of a pair's second block follow.
  using Known = std::vector<std::uint32_t>;

  void begin_block(std::size_t warps) {
    warps_ = static_cast<unsigned>(warps);
    first_ = 0;
    all_ = this;
    known_.assign(2 * warps, Known(2 * warps));
  }
  // This is the second block of a pair, `first` the other one's; both have begun, with as many
  // warps.
  void join(Arrivals& first) {
    first_ = 2 * warps_;
    all_ = &first;
    first.known_.assign(2 * first_, Known(2 * first_));
  }
  std::size_t who_arrive() const { return all_->known_.size(); }
  // A warp of this block, by its number there, and its Tensor Cores.
  unsigned number_of(unsigned warp) const { return first_ + warp; }
  unsigned tensor_cores_of(unsigned warp) const { return first_ + warps_ + warp; }
  bool is_warp(unsigned who) const { return warp_of(who) < warps_; }
  unsigned warp_of(unsigned who) const { return who % (2 * warps_); }  // in its own block
  const Known& known_to(unsigned warp) const { return all_->known_[number_of(warp)]; }
  std::uint32_t made_by(unsigned who) const { return all_->known_[who][who]; }

  // `who`, a warp or the Tensor Cores of one, arrives and tells all it knows.
  void tell(unsigned who, Known& told);
  void learn(unsigned warp, const Known& told);
  // The block has met; `of_pair`: and the other one with it.
  void tell_all(bool of_pair);

 private:
  unsigned warps_ = 0, first_ = 0;
  Arrivals* all_ = this;      // where those of the pair are kept
  std::vector<Known> known_;  // to each warp
};

}  // namespace gpubench::model
