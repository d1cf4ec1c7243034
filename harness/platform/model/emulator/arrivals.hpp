// Which warp knows of which arrivals at mbarriers: what orders a read by wgmma before the copy that
// replaces what was read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpubench::model {

class Arrivals {
 public:
  // By warp, how many of its arrivals somebody knows of.
  using Known = std::vector<std::uint32_t>;

  void begin_block(std::size_t warps) { known_.assign(warps, Known(warps)); }
  std::size_t warps() const { return known_.size(); }
  const Known& known_to(unsigned warp) const { return known_[warp]; }
  std::uint32_t made_by(unsigned warp) const { return known_[warp][warp]; }

  // `warp` arrives, and tells all it knows.
  void tell(unsigned warp, Known& told);
  void learn(unsigned warp, const Known& told);
  // The block has met.
  void tell_all();

 private:
  std::vector<Known> known_;  // to each warp
};

}  // namespace gpubench::model
