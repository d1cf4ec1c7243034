// What the tests' kernels say of a warp's lanes.
#pragma once

namespace gpubench::kernels {

inline constexpr unsigned all_lanes = 0xffffffffu;

}  // namespace gpubench::kernels
