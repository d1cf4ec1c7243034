#include "harness/platform/model/emulator/fma_chain.hpp"

#include <algorithm>
#include <bit>

namespace gpubench::model {

// Called for nearly every multiply-add: all comparisons at once, in vectors of eight words where
// the machine has them. Whole vectors are written back, since a word written into one in memory
// makes the next read of it wait.
#ifdef __x86_64__
[[gnu::target_clones("avx2", "default")]]
#endif
void FmaChain::watch(float a, float b, float c, float result) {
  const auto word = [](float value) { return std::bit_cast<std::int32_t>(value); };
  const Words is_operand = (bits_ == word(a)) | (bits_ == word(b)) | (bits_ == word(c));
  const Words depths = depths_ & is_operand;
  std::int32_t depth = 0;
  for (std::size_t i = 0; i < remembered; ++i) depth = std::max(depth, depths[i]);
  const std::int32_t bits = word(result);
  const Words older = {0, 0, 1, 2, 3, 4, 5, 6};
  bits_ = __builtin_shuffle(bits_, older);
  depths_ = __builtin_shuffle(depths_, older);
  bits_[0] = bits;
  // A zero is where an accumulator begins, not somebody's result.
  depths_[0] = bits == 0 ? 0 : depth + 1;
  longest_ = std::max(longest_, depth + 1);
  if (count_ == watched / 2) longest_at_half_ = longest_;
}

}  // namespace gpubench::model
