// Whether a warp loads its fragments ahead: what ldmatrix brings while an earlier product is under
// way.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace gpubench::model {

// One warp's, told by the places of one lane's registers. A load is ahead if at least two products
// were started between it and the first one that uses it: a single one may be of the same step.
class FragmentLoads {
 public:
  static constexpr unsigned bytes_of_a_load = 16;  // of a lane

  void load(const void* to) {
    last_[next_++ % last_.size()] = {reinterpret_cast<std::uintptr_t>(to), products_, false};
  }
  // A product of what lies in [a, a + a_bytes) and [b, b + b_bytes). Returns how many loads that
  // were ahead it is the first to use.
  unsigned multiply(const void* a, std::size_t a_bytes, const void* b, std::size_t b_bytes) {
    unsigned ahead = 0;
    for (Load& load : last_) {
      if (load.used || !(holds(a, a_bytes, load.to) || holds(b, b_bytes, load.to))) continue;
      load.used = true;
      ahead += products_ - load.before >= least_between;
    }
    ++products_;
    return ahead;
  }

 private:
  static constexpr std::uint64_t least_between = 2;
  struct Load {
    std::uintptr_t to = 0;
    std::uint64_t before = 0;  // products
    bool used = true;
  };
  static bool holds(const void* begin, std::size_t bytes, std::uintptr_t to) {
    return to - reinterpret_cast<std::uintptr_t>(begin) < bytes;
  }

  std::array<Load, 64> last_{};
  std::size_t next_ = 0;
  std::uint64_t products_ = 0;
};

}  // namespace gpubench::model
