// A GPU that no device file describes: what follows from its attributes and its architecture.
#pragma once

#include <string>

#include "harness/devices/device.hpp"

namespace gpubench {

// What the driver tells of a GPU. 0: it does not say.
struct GpuAttributes {
  std::string name;
  int major = 0, minor = 0;  // compute capability
  double sm_count = 0;
  double sm_clock_hz = 0;  // maximum
  double max_threads_per_sm = 0, max_blocks_per_sm = 0, max_threads_per_block = 0;
  double registers_per_sm = 0;
  double shared_bytes_per_sm = 0, shared_bytes_per_block = 0, shared_bytes_per_block_optin = 0;
  double shared_reserved_bytes_per_block = 0;  // 0 is a value: Turing reserves none
  double l2_bytes = 0, dram_bytes = 0;
  double memory_clock_hz = 0, memory_bus_bits = 0;  // double data rate
  double copy_engines = 0;
};

// Every figure is `derived`: from an attribute, from tables by compute capability (operations a
// clock and SM), or as on the closest architecture that has a device file (latencies, efficiencies,
// launch times), and its source says which. Kind "gpu", which the model can run, for Turing and
// newer; kind "roof" for older GPUs and for drivers that leave an attribute out.
DeviceSpec derived_device(const GpuAttributes& gpu);

}  // namespace gpubench
