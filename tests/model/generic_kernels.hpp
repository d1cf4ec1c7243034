// Kernels whose pointers name different memories in different lanes.
#pragma once

namespace gpubench::kernels {

// One warp: out[i] = i from shared memory in the lanes below `shared_lanes`; in the others, even
// lanes read in[i] and odd ones other[i], by the same instruction.
void load_from_anywhere(float* out, const float* in, const float* other, unsigned shared_lanes);

}  // namespace gpubench::kernels
