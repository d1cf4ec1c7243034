#include "harness/platform/model/emulator/arrivals.hpp"

#include <algorithm>

namespace gpubench::model {

void Arrivals::tell(unsigned who, Known& told) {
  Known& mine = all_->known_[who];
  ++mine[who];
  told.resize(mine.size());
  for (std::size_t i = 0; i < mine.size(); ++i) told[i] = std::max(told[i], mine[i]);
}

void Arrivals::learn(unsigned warp, const Known& told) {
  Known& mine = all_->known_[number_of(warp)];
  for (std::size_t i = 0; i < told.size(); ++i) mine[i] = std::max(mine[i], told[i]);
}

void Arrivals::tell_all(bool of_pair) {
  std::vector<Known>& known = all_->known_;
  const unsigned begin = of_pair ? 0 : first_;
  const auto end = of_pair ? static_cast<unsigned>(known.size()) : first_ + warps_;
  // A warp has arrived here as well; of the Tensor Cores all know what any has waited for.
  Known all(known.size());
  for (unsigned who = begin; who < end; ++who) {
    if (!is_warp(who)) continue;
    ++known[who][who];
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = std::max(all[i], known[who][i]);
  }
  for (unsigned who = begin; who < end; ++who) {
    if (is_warp(who)) known[who] = all;
  }
}

}  // namespace gpubench::model
