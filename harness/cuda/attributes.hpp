// A GPU's attributes as CUDA reports them, in SI units.
#pragma once

#include <cuda_runtime.h>

#include "harness/devices/derive.hpp"

namespace gpubench {

// The clocks and the bus are no members of cudaDeviceProp any more: the caller asks for them.
inline GpuAttributes attributes_of(const cudaDeviceProp& gpu, double sm_clock_hz,
                                   double memory_clock_hz, double memory_bus_bits) {
  const auto bytes = [](std::size_t count) { return static_cast<double>(count); };
  return {.name = gpu.name,
          .major = gpu.major,
          .minor = gpu.minor,
          .sm_count = double(gpu.multiProcessorCount),
          .sm_clock_hz = sm_clock_hz,
          .max_threads_per_sm = double(gpu.maxThreadsPerMultiProcessor),
          .max_blocks_per_sm = double(gpu.maxBlocksPerMultiProcessor),
          .max_threads_per_block = double(gpu.maxThreadsPerBlock),
          .registers_per_sm = double(gpu.regsPerMultiprocessor),
          .shared_bytes_per_sm = bytes(gpu.sharedMemPerMultiprocessor),
          .shared_bytes_per_block = bytes(gpu.sharedMemPerBlock),
          .shared_bytes_per_block_optin = bytes(gpu.sharedMemPerBlockOptin),
          .shared_reserved_bytes_per_block = bytes(gpu.reservedSharedMemPerBlock),
          .l2_bytes = double(gpu.l2CacheSize),
          .dram_bytes = bytes(gpu.totalGlobalMem),
          .memory_clock_hz = memory_clock_hz,
          .memory_bus_bits = memory_bus_bits,
          .copy_engines = double(gpu.asyncEngineCount)};
}

}  // namespace gpubench
