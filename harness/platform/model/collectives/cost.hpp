// What a collective of NCCL's costs: latency + bytes / bandwidth of the cheapest of its algorithms.
//
// The formulas are those by which NCCL itself chooses (src/graph/tuning.cc, ncclTopoTuneModel and
// ncclTopoGetAlgoTime), and so are the latencies; bandwidths of links are the device file's.
#pragma once

#include <cstddef>
#include <string>

#include "harness/devices/device.hpp"

namespace gpubench::model {

enum class Collective { all_reduce, reduce_scatter, all_gather, broadcast, all_to_all };

struct CollectiveCost {
  double latency_seconds = 0;
  double transfer_seconds = 0;
  bool network = false;   // which wire the bytes cross: the one between nodes, or NVLink
  std::string algorithm;  // "ring LL128"
  // What it takes from kernels beside it: a block on an SM of its own for each channel, and what a
  // GPU's memory reads and writes.
  double channels = 0;
  double memory_bytes = 0;
  double seconds() const { return latency_seconds + transfer_seconds; }
  // latency, link or network: whichever takes longer.
  std::string bound() const;
};

// Whether the device file has what the cost needs: its node, its links and its network.
bool has_collectives(const DeviceSpec& device);

// `bytes`: the whole vector, as nccl-tests counts it: what a rank contributes to an all-reduce, a
// reduce-scatter, a broadcast or an all-to-all, and what it has in the end of an all-gather.
// `ranks` fill nodes of node_gpus GPUs one after the other; at least 2.
CollectiveCost collective_cost(Collective what, double bytes, int ranks, const DeviceSpec& device);

}  // namespace gpubench::model
