// The SM clock that a power limit leaves a kernel.
#pragma once

#include "harness/devices/device.hpp"

namespace gpubench::model {

// What keeps an SM's arithmetic busy, and so takes the power.
enum class Load { tensor, fp32 };

// `busy`: the fraction of the clocks in which that unit works. The library's multiplications tell
// the clock at their own (gemm_clock_hz, gemm_fp32_clock_hz); at another one, power that grows as
// busy x clock^3 (the voltage follows the clock) is the same. No more than the maximum clock, which
// is also the answer where the device file does not say.
double load_clock(const DeviceSpec& device, Load load, double busy);

// The part of its unit's clocks that the library's best fp32 multiplication uses: a thread makes
// 8 x 8 elements, with four loads of 16 bytes from shared memory for 64 multiply-adds, and the
// scheduler has four warps to take turns. (Assumed: as CUTLASS's kernels without Tensor Cores.)
double library_fp32_share(const DeviceSpec& device);
// The same of Tensor Cores, at the clock that they leave: gemm_efficiency is of the maximum clock.
double library_tensor_share(const DeviceSpec& device);

}  // namespace gpubench::model
