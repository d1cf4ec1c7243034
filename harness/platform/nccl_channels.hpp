// The channels that NCCL has on 8 GPUs of an NVLink node, each a block on an SM of its own: "24
// coll channels, 16 nvls channels, 32 p2p channels" in its log on an H100 (aws-samples/
// awsome-distributed-training, nccl-tests).
#pragma once

namespace gpubench {

inline constexpr double nccl_ring_channels = 24, nccl_nvls_channels = 16,
                        nccl_point_to_point_channels = 32;

}  // namespace gpubench
