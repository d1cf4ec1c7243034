// What rows of gemm_batch have in common: they are judged by their tokens per second.
#pragma once

#include <algorithm>
#include <string>

#include "harness/bench/bench.hpp"
#include "kernels/gemm_batch.cuh"

namespace gemm_batch {

inline Layer layer_of(const gpubench::Bench& bench) {
  return {bench.arg<unsigned>("n"), bench.arg<unsigned>("k")};
}

// What a run takes at least: bytes from DRAM, FLOPs of a unit of which `share` is within reach,
// bytes through L1, and launches that follow each other in a stream.
struct Amount {
  double tokens = 0, bytes = 0, flops = 0;
  std::string unit{};
  double share = 1, l1_bytes = 0, launches = 1;
};

// The law: the launches, and the longest of the others, as if these overlapped. Kernels of a stream
// follow each other at the spacing of empty ones, beside what they do (launch_overhead).
inline gpubench::Work work_of(const gpubench::Bench& bench, const Amount& amount,
                              double tolerance) {
  gpubench::Work work{.flops = amount.flops,
                      .law_tolerance = tolerance,
                      .headline = gpubench::Headline{"tokens_per_second", "/s"}};
  const auto launch = bench.device().find("kernel_floor_seconds");
  const auto spacing = bench.device().find("launch_stream_seconds");
  if (!launch || !spacing) return work;
  work.law = [=, launch = *launch, spacing = *spacing](const gpubench::Roofs& roofs) {
    const double moving = amount.bytes / roofs.at("dram");
    const double multiplying = amount.flops / (amount.share * roofs.at(amount.unit));
    const double passing = amount.l1_bytes > 0 ? amount.l1_bytes / roofs.at("l1") : 0;
    const double issuing = (amount.launches - 1) * spacing;
    return amount.tokens / (launch + issuing + std::max({moving, multiplying, passing}));
  };
  return work;
}

inline void note_tokens(gpubench::Bench& bench, double tokens) {
  bench.counter("tokens_per_second", tokens / bench.seconds());
}

}  // namespace gemm_batch
