#include "harness/platform/model/time/load_clock.hpp"

#include <algorithm>
#include <cmath>

#include "harness/platform/model/time/overlap.hpp"

namespace gpubench::model {
namespace {

std::optional<double> library_clock(const DeviceSpec& device, Load load) {
  return device.find(load == Load::tensor ? "gemm_clock_hz" : "gemm_fp32_clock_hz");
}

}  // namespace

double load_clock(const DeviceSpec& device, Load load, double busy) {
  const double most = device["sm_clock_hz"];
  const auto of_library = library_clock(device, load);
  if (!of_library || busy <= 0) return most;
  const double at =
      load == Load::tensor ? library_tensor_share(device) : library_fp32_share(device);
  return std::min(most, *of_library * std::cbrt(at / busy));
}

double library_fp32_share(const DeviceSpec& device) {
  constexpr double lanes = 32, fmas = 64, loads = 4, staging = 1, at_once = 4;
  constexpr double wavefronts = 4 * loads + staging, wavefront_bytes = 128;
  const double multiply_adds = 2 * lanes * fmas / device["fp32_flops_per_clock_per_sm"];
  const double issue = (fmas + loads + staging) / device["warp_schedulers_per_sm"];
  const double shared = wavefronts * wavefront_bytes / device["shared_bytes_per_clock_per_sm"];
  const double longest = std::max({multiply_adds, issue, shared});
  return multiply_adds / overlapped(multiply_adds + shared, longest, at_once);
}

double library_tensor_share(const DeviceSpec& device) {
  const double clock = library_clock(device, Load::tensor).value_or(device["sm_clock_hz"]);
  return device["gemm_efficiency"] * device["sm_clock_hz"] / clock;
}

}  // namespace gpubench::model
