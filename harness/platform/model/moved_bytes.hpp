// What the launches of one run moved at each level of memory.
#pragma once

#include <vector>

#include "harness/platform/model/engine/emulator.hpp"
#include "harness/records/row.hpp"

namespace gpubench::model {

// That lanes asked for, and copy engines for them, of any memory, the host's too.
double requested_bytes(const std::vector<Emulator::Run>& runs);

MovedBytes moved_bytes(const std::vector<Emulator::Run>& runs);

}  // namespace gpubench::model
