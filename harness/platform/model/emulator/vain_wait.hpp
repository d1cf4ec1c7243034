// Whether a lane only waits: for another block, say, which may never run beside it.
#pragma once

#include "harness/platform/model/emulator/trace.hpp"

namespace gpubench::model {

// Whether all of the second half of a trace is one short loop over and over, which loads the same
// words each time and does nothing else with memory or by a call. (What it counts or computes by
// operators does not show in a trace: only a very long one is taken for a wait.)
bool is_vain_wait(const LaneTrace& trace);

}  // namespace gpubench::model
