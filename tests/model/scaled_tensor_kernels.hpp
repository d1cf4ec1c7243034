// A product in tensor memory with block scales, and mistakes in it.
#pragma once

namespace gpubench::kernels {

enum class ScaledSlip {
  none,
  no_copy,
  copy_elsewhere,    // beyond the columns that are allocated
  copy_to_lane,      // not to the first
  copy_from_beyond,  // shared memory's end
  scales_elsewhere,  // beyond the columns that are allocated
  other_scales,      // which the instruction descriptor says are not powers of two
  other_warp,        // copies, and nobody waits for that
  other_thread,      // of the warp that copies multiplies
};

inline constexpr unsigned scaled_rows = 128, scaled_columns = 32, scaled_depth = 32;

// d = a * b for ones, whose scales are 1.
void multiply_scaled_ones(ScaledSlip slip, float* d);

}  // namespace gpubench::kernels
