#include "harness/platform/model/emulator/arrivals.hpp"

#include <algorithm>

namespace gpubench::model {

void Arrivals::tell(unsigned warp, Known& told) {
  Known& mine = known_[warp];
  ++mine[warp];
  told.resize(mine.size());
  for (std::size_t i = 0; i < mine.size(); ++i) told[i] = std::max(told[i], mine[i]);
}

void Arrivals::learn(unsigned warp, const Known& told) {
  Known& mine = known_[warp];
  for (std::size_t i = 0; i < told.size(); ++i) mine[i] = std::max(mine[i], told[i]);
}

void Arrivals::tell_all() {
  for (std::size_t warp = 0; warp < known_.size(); ++warp) {
    for (Known& of_warp : known_) of_warp[warp] = known_[warp][warp];
  }
}

}  // namespace gpubench::model
