// How long a lane's multiply-adds make each other wait.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace gpubench::model {

// The longest chain of dependent fp32 multiply-adds of one lane. What depends on what is told by
// values: an operand that has the very bits of one of the last results is taken to be that result.
// Eight are remembered: eight chains side by side keep a scheduler busy whatever the latency.
// A lane's first few thousand are watched, and the others taken to go on like them.
class FmaChain {
 public:
  void note(float a, float b, float c, float result) {
    if (++count_ > watched) return;
    const std::uint32_t depth = 1 + std::max({depth_of(a), depth_of(b), depth_of(c)});
    bits_[next_] = std::bit_cast<std::uint32_t>(result);
    depths_[next_] = depth;
    next_ = (next_ + 1) % remembered;
    longest_ = std::max(longest_, depth);
  }
  std::uint32_t longest() const {
    if (count_ <= watched) return longest_;
    return static_cast<std::uint32_t>(std::uint64_t{longest_} * count_ / watched);
  }
  std::uint32_t count() const { return count_; }

 private:
  static constexpr std::size_t remembered = 8;
  static constexpr std::uint32_t watched = 4096;

  std::uint32_t depth_of(float operand) const {
    const auto bits = std::bit_cast<std::uint32_t>(operand);
    if (bits == 0) return 0;  // an accumulator's beginning, not somebody's result
    std::uint32_t depth = 0;
    for (std::size_t i = 0; i < remembered; ++i) {
      depth = std::max(depth, bits_[i] == bits ? depths_[i] : 0);
    }
    return depth;
  }

  std::array<std::uint32_t, remembered> bits_{}, depths_{};
  std::size_t next_ = 0;
  std::uint32_t longest_ = 0, count_ = 0;
};

}  // namespace gpubench::model
