// How long a lane's multiply-adds make each other wait.
#pragma once

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
    if (++count_ <= watched) watch(a, b, c, result);
  }
  bool is_watching() const { return count_ < watched; }
  void note_unwatched(std::uint32_t count) { count_ += count; }
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

  // Aligned as its words are: what allocates may know of no larger alignment.
  using Words [[gnu::vector_size(4 * remembered), gnu::aligned(4)]] = std::int32_t;

  void watch(float a, float b, float c, float result);

  Words bits_{}, depths_{};  // of the last results, the newest first
  std::int32_t longest_ = 0, longest_at_half_ = 0;
  std::uint32_t count_ = 0;
};

}  // namespace gpubench::model
