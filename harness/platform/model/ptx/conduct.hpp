// How the engine behaves where CUDA leaves it a choice: kindly, or as badly as is allowed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace gpubench::model::ptx {

struct Conduct {
  bool late_copies = false;      // asynchronous copies when they are waited for, not at once
  bool late_products = false;    // wgmma likewise
  bool random_order = false;     // of warps, and of a split warp's parts
  std::size_t shared_shift = 0;  // [bytes] where static shared memory begins, a multiple of 128
  std::uint64_t seed = 1;
  // Limit per block, in operations of a warp: who needs more is taken to run for ever.
  std::uint64_t most_operations = std::uint64_t{1} << 34;
};

// From words between commas: "late", "slow", "random=SEED", "shift=BYTES". UsageError names one
// that is none.
Conduct conduct_named(const std::string& words);

// xorshift64*: the same order for the same seed.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u | 1) {}
  std::uint64_t roll() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545F4914F6CDD1Du;
  }
  std::size_t below(std::size_t end) { return static_cast<std::size_t>((roll() >> 32) % end); }

 private:
  std::uint64_t state_;
};

}  // namespace gpubench::model::ptx
