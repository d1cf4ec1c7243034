// Arithmetic in another direction than to nearest, by the host's processor.
#pragma once

#include <cfenv>
#include <concepts>

#include "harness/platform/model/ptx/handlers.hpp"
#include "harness/platform/model/ptx/numbers.hpp"

namespace gpubench::model::ptx {

// What the compiler knows of a value ends here: it moves no operation past this, and does none
// before the program runs.
template <class T>
void hold(T& value) {
  asm volatile("" : "+m"(value) : : "memory");
}

class HostRounding {
 public:
  explicit HostRounding(Rounding rounding) {
    std::fesetround(rounding == Rounding::zero   ? FE_TOWARDZERO
                    : rounding == Rounding::down ? FE_DOWNWARD
                                                 : FE_UPWARD);
  }
  ~HostRounding() { std::fesetround(FE_TONEAREST); }
  HostRounding(const HostRounding&) = delete;
  HostRounding& operator=(const HostRounding&) = delete;
};

// What the instruction asks for, as the operation's small number.
struct Direction {
  Rounding rounding = Rounding::nearest;
  bool flushes = false, saturates = false;

  std::int64_t packed() const {
    return static_cast<std::int64_t>(rounding) | flushes << 2 | saturates << 3;
  }
  static Direction of(const Op& op) {
    return {static_cast<Rounding>(op.offset & 3), (op.offset & 4) != 0, (op.offset & 8) != 0};
  }
};

// Takes as many operands as F does.
template <class F, class T>
void run_directed(Warp& w, const Op& op, Mask mask) {
  const Direction how = Direction::of(op);
  const HostRounding there(how.rounding);
  for_lanes(mask, [&](unsigned i) {
    T a = w.row<T>(op.a)[i], b{}, c{}, result;
    if constexpr (!std::invocable<F, T>) b = w.row<T>(op.b)[i];
    if constexpr (std::invocable<F, T, T, T>) c = w.row<T>(op.c)[i];
    for (T* operand : {&a, &b, &c}) {
      if (how.flushes) *operand = flushed(*operand);
      hold(*operand);
    }
    if constexpr (std::invocable<F, T>) {
      result = F()(a);
    } else if constexpr (std::invocable<F, T, T>) {
      result = F()(a, b);
    } else {
      result = F()(a, b, c);
    }
    hold(result);
    if (how.flushes) result = flushed(result);
    if (how.saturates) result = saturated(result);
    w.row<T>(op.d)[i] = result;
  });
}

}  // namespace gpubench::model::ptx
