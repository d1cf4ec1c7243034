// What keeps a GPU from being measured, and what keeps a measurement from being the whole GPU's.
#pragma once

#include <string>
#include <vector>

#include "harness/evidence/evidence.hpp"

namespace gpubench {

// How many there are. UsageError: CUDA does not work here, and why.
int gpu_count();

// Makes the GPU the current one, and runs an empty kernel on it. UsageError: it cannot be used,
// why, and what to do.
void open_gpu(int ordinal);

// What to know before trusting any row, a sentence each. `health`: nullptr where there is none, and
// then `why_no_health` says why.
std::vector<std::string> caveats_of(int ordinal, HealthMonitor* health,
                                    const std::string& why_no_health);

}  // namespace gpubench
