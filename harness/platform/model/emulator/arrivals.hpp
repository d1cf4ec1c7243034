// Which warp knows of which arrivals at mbarriers: what orders a read by the Tensor Cores before
// the copy that replaces what was read, and their sums before those who read them. A tcgen05.commit
// is an arrival by the Tensor Cores, on behalf of the warp that asks for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpubench::model {

class Arrivals {
 public:
  // By warp, and then by warp on whose behalf the Tensor Cores arrive, how many of its arrivals
  // somebody knows of.
  using Known = std::vector<std::uint32_t>;

  void begin_block(std::size_t warps) {
    warps_ = warps;
    known_.assign(2 * warps, Known(2 * warps));
  }
  std::size_t who_arrive() const { return known_.size(); }
  unsigned tensor_cores_of(unsigned warp) const { return static_cast<unsigned>(warps_) + warp; }
  bool is_warp(std::size_t who) const { return who < warps_; }
  const Known& known_to(unsigned warp) const { return known_[warp]; }
  std::uint32_t made_by(unsigned who) const { return known_[who][who]; }

  // `who`, a warp or the Tensor Cores of one, arrives and tells all it knows.
  void tell(unsigned who, Known& told);
  void learn(unsigned warp, const Known& told);
  // The block has met.
  void tell_all();

 private:
  std::size_t warps_ = 0;
  std::vector<Known> known_;  // to each warp
};

}  // namespace gpubench::model
