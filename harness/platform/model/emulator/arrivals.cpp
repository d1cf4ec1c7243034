#include "harness/platform/model/emulator/arrivals.hpp"

#include <algorithm>

namespace gpubench::model {

void Arrivals::tell(unsigned who, Known& told) {
  Known& mine = known_[who];
  ++mine[who];
  told.resize(mine.size());
  for (std::size_t i = 0; i < mine.size(); ++i) told[i] = std::max(told[i], mine[i]);
}

void Arrivals::learn(unsigned warp, const Known& told) {
  Known& mine = known_[warp];
  for (std::size_t i = 0; i < told.size(); ++i) mine[i] = std::max(mine[i], told[i]);
}

void Arrivals::tell_all() {
  // A warp has arrived here as well; of the Tensor Cores all know what any has waited for.
  Known all(known_.size());
  for (std::size_t who = 0; who < warps_; ++who) {
    ++known_[who][who];
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = std::max(all[i], known_[who][i]);
  }
  std::fill_n(known_.begin(), warps_, all);
}

}  // namespace gpubench::model
