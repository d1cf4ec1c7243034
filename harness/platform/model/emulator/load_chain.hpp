// How many of a lane's loads have to wait for the one before: a pointer chase.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "harness/platform/model/emulator/trace.hpp"

namespace gpubench::model {

// A load is taken to wait for the one before if its address is as far from the value which that one
// brought as the last such address was from its value: the value is an address, or an offset in
// bytes from something fixed. (An index that is scaled on the way goes unseen.)
class LoadChain {
 public:
  // A load of 4 or 8 bytes at `address`, which brings `value`.
  void note(std::uint64_t address, std::uint64_t value, Space space) {
    const std::uint64_t away = address - value_;
    if (away == away_ && address != address_ && value_ != value_before_) {
      ++links_[static_cast<std::size_t>(space)];
    }
    away_ = away;
    address_ = address;
    value_before_ = value_;
    value_ = value;
  }
  std::uint32_t links(Space space) const { return links_[static_cast<std::size_t>(space)]; }

 private:
  std::uint64_t value_ = 0, value_before_ = 0, away_ = 0, address_ = 0;
  std::array<std::uint32_t, 3> links_{};
};

}  // namespace gpubench::model
