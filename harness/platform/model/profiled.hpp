// A launch as a profiler would list it: what gpubench-report compares with Nsight Compute.
#pragma once

#include "harness/platform/model/time/occupancy.hpp"
#include "harness/platform/model/time/time_model.hpp"
#include "harness/records/row.hpp"

namespace gpubench::model {

// Figures of the whole grid, scaled up from the traced blocks: of each space and kind of access
// that the kernel has SPACE_KIND_requests, _bytes (that the lanes ask for) and _sectors (global) or
// _wavefronts (shared); multiply-adds a lane; and of the launch its blocks, threads_per_block,
// traced_blocks, shared_bytes, resident_blocks, occupancy, and where the compiled kernel is known
// registers, local_bytes (a thread) and local_moved_bytes.
Launched as_profiled(const KernelProfile& profile, const Occupancy& occupancy);

}  // namespace gpubench::model
