// Whether a lane only waits: for another block, say, which may never run beside it.
#pragma once

#include <cstddef>
#include <string_view>

#include "harness/platform/model/emulator/trace.hpp"

namespace gpubench::model {

// At least: a loop that only counts looks the same, and none that ends is as long.
inline constexpr std::size_t looks_of_a_wait = std::size_t{1} << 24;

inline constexpr std::string_view vain_wait_fault =
    "the same words loaded again and again, as if to wait for another thread or block, which the "
    "model does not run meanwhile,";

// Whether all of the second half of a trace is one short loop over and over, which loads the same
// words each time and does nothing else with memory or by a call. (What it counts or computes by
// operators does not show in a trace: only a very long one is taken for a wait.)
bool is_vain_wait(const LaneTrace& trace);

}  // namespace gpubench::model
