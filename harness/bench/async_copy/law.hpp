// What theory says that async_copy's rows take.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "harness/bench/bench.hpp"
#include "kernels/async_copy.cuh"
#include "kernels/common/busy_memory.cuh"

namespace async_copy {

inline constexpr std::size_t bytes = std::size_t{1} << 28;
inline constexpr auto blocks = static_cast<unsigned>(bytes / block_bytes);

// By the device's figures alone: what a block waits for and does itself, and a nearly busy memory.
inline gpubench::Law little(const gpubench::Bench& bench, unsigned vectors, unsigned ahead) {
  const auto& device = bench.device();
  const auto latency = device.find("dram_latency_cycles"), clock = device.find("sm_clock_hz"),
             sms = device.find("sm_count"), fma_latency = device.find("fp32_latency_cycles"),
             fp32 = device.find("fp32_flops_per_clock_per_sm"),
             shared = device.find("shared_bytes_per_clock_per_sm"),
             shared_latency = device.find("shared_latency_cycles");
  if (!latency || !clock || !sms || !fma_latency || !fp32 || !shared || !shared_latency) return {};
  const double tile_bytes = vectors * row_bytes, tiles = block_bytes / tile_bytes;
  // The unit's own time for the tile's multiply-adds, or that of a thread's four chains.
  const double compute =
      vectors * steps * std::max(2.0 * threads * words_a_vector / *fp32, *fma_latency);
  // A scheduler has one warp, which cannot compute before it has read; plain loads write first.
  const double through_shared = (ahead == 0 ? 2 : 1) * tile_bytes / *shared + *shared_latency;
  const double own = compute + through_shared;
  const double turns = std::ceil(blocks / *sms);  // one block at a time
  const double waiting = turns * (block_cycles(tiles, *latency, own, ahead) +
                                  device.find("block_turnaround_cycles").value_or(0));
  const double queue =
      turns * tiles * device.find("dram_queue_cycles").value_or(0) / std::max(1u, ahead);
  // Without a tile under way, the memory idles while its SM computes.
  const double apart = ahead == 0 ? turns * tiles * own : 0;
  const gpubench::Law rate = [=, clock = *clock](const gpubench::Roofs& roofs) {
    const double busy = bytes / roofs.at("dram") * clock;
    return bytes / std::max(busy_memory::seconds(waiting, busy, queue), apart + busy) * clock;
  };
  return gpubench::law_after_start(rate, bytes, device.find("kernel_floor_seconds").value_or(0));
}

}  // namespace async_copy
