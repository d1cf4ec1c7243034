// How many blocks of a kernel fit on one SM at once.
#pragma once

#include <cstddef>

#include "harness/devices/device.hpp"

namespace gpubench::model {

struct BlockResources {
  unsigned threads = 0;
  std::size_t shared_bytes = 0;  // static and dynamic together, without the system's own part
  unsigned registers = 0;        // a thread; 0: unknown, and then no limit
  unsigned tensor_columns = 0;   // of tensor memory
};

struct Occupancy {
  unsigned blocks_per_sm = 0;  // 0: the block does not fit at all
  double fraction = 0;         // resident warps / the SM's maximum
};

// The rules of the CUDA C++ Programming Guide's "Compute Capabilities" and of cuda_occupancy.h:
// warps and registers are allocated by whole warps and units, shared memory by units. Blocks wait
// for columns of tensor memory, of which an SM has 512 (PTX ISA): those that do are not at work.
Occupancy occupancy(const DeviceSpec& device, const BlockResources& block);

}  // namespace gpubench::model
