// How long a lane's multiply-adds make each other wait.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace gpubench::model {

// The longest chain of dependent fp32 multiply-adds of one lane. What depends on what is told by
// values: an operand that has the very bits of one of the last results is taken to be that result.
// Eight are remembered: eight chains side by side keep a scheduler busy whatever the latency.
// A lane's first are watched, and the others taken to go on like the latter half of those.
class FmaChain {
 public:
  void note(float a, float b, float c, float result) {
    if (++count_ > watched) return;
    // All comparisons at once: this is called for every multiply-add.
    const Words is_operand = (bits_ == word(a)) | (bits_ == word(b)) | (bits_ == word(c));
    const Words depths = depths_ & is_operand;
    std::int32_t depth = 0;
    for (std::size_t i = 0; i < remembered; ++i) depth = std::max(depth, depths[i]);
    const std::int32_t bits = word(result);
    // The oldest goes. Whole vectors are written, as a part of one would be waited for when the
    // next call loads all of it. A zero is where an accumulator begins, not somebody's result.
    constexpr Words shifted = {1, 2, 3, 4, 5, 6, 7, remembered};
    bits_ = __builtin_shuffle(bits_, Words{} + bits, shifted);
    depths_ = __builtin_shuffle(depths_, Words{} + (bits == 0 ? 0 : depth + 1), shifted);
    longest_ = std::max(longest_, depth + 1);
    if (count_ == watched / 2) longest_at_half_ = longest_;
  }
  std::uint32_t longest() const {
    const auto seen = static_cast<std::uint32_t>(longest_);
    if (count_ <= watched) return seen;
    const std::uint64_t grown = static_cast<std::uint64_t>(longest_ - longest_at_half_);
    return seen + static_cast<std::uint32_t>(grown * (count_ - watched) / (watched / 2));
  }
  std::uint32_t count() const { return count_; }

 private:
  static constexpr std::size_t remembered = 8;
  static constexpr std::uint32_t watched = 256;

  using Words [[gnu::vector_size(4 * remembered)]] = std::int32_t;

  static std::int32_t word(float value) { return std::bit_cast<std::int32_t>(value); }

  Words bits_{}, depths_{};
  std::int32_t longest_ = 0, longest_at_half_ = 0;
  std::uint32_t count_ = 0;
};

}  // namespace gpubench::model
