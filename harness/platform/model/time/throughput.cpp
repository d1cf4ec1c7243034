#include <algorithm>
#include <array>

#include "harness/platform/model/time/dram.hpp"
#include "harness/platform/model/time/kernel_on_device.hpp"

namespace gpubench::model {
namespace {

// The roof of dense matrix multiplications of this type: mxfp8 has one of its own only where it is
// faster than fp8.
std::string tensor_roof_of(Tensor type, const DeviceSpec& device) {
  constexpr std::array<const char*, tensor_types> names = {
      "tensor_fp16", "tensor_bf16", "tensor_tf32",  "tensor_fp8",
      "tensor_int8", "tensor_fp64", "tensor_mxfp8", "tensor_fp4"};
  const std::string name = names[static_cast<std::size_t>(type)];
  const bool as_fp8 = type == Tensor::mxfp8 && !device.find(name + "_flops_per_clock_per_sm");
  return as_fp8 ? "tensor_fp8" : name;
}

}  // namespace

std::array<MultiplyAddUnit, 5> multiply_add_units(const DeviceSpec& device) {
  const char* const packed = "fp16x2_flops_per_clock_per_sm";
  const char* const packed_bf16 = "bf16x2_flops_per_clock_per_sm";
  return {{{"fp32", Arithmetic::fma_fp32, 2, "fp32_flops_per_clock_per_sm"},
           {"fp64", Arithmetic::fma_fp64, 2, "fp64_flops_per_clock_per_sm"},
           {"fp16x2", Arithmetic::fma_fp16x2, 4, packed},
           {"bf16x2", Arithmetic::fma_bf16x2, 4, device.find(packed_bf16) ? packed_bf16 : packed},
           {"int32", Arithmetic::mad_int32, 1, "int32_ops_per_clock_per_sm"}}};
}

double dram_seconds(const Traffic& traffic, const DeviceSpec& device) {
  return dram_seconds(traffic.dram_read_bytes, traffic.dram_write_bytes, device) +
         traffic.dram_idle_bytes /
             (device["dram_bytes_per_second"] * device["dram_read_efficiency"]);
}

// The L1 stage takes a request a cycle at best, looks tags up in banks, and moves data: for loads
// by the banks of shared memory, with its conflicts. A word of local memory is a line to a warp.
double l1_seconds(const KernelOnDevice& kernel, const Traffic& traffic) {
  const DeviceSpec& device = kernel.device;
  const AccessCounts& loads = kernel.global(Access::load);
  const AccessCounts& stores = kernel.global(Access::store);
  const AccessCounts& atomics = kernel.global(Access::atomic);
  const double requests = loads.requests + stores.requests + atomics.requests + kernel.local_words;
  const double tags = tag_banks * (loads.tag_wavefronts + stores.tag_wavefronts +
                                   atomics.tag_wavefronts + kernel.local_words);
  return kernel.sm_seconds(std::max({requests / device["global_requests_per_clock_per_sm"],
                                     tags / device["l1_tags_per_clock_per_sm"],
                                     traffic.l1_bytes / device["l1_bytes_per_clock_per_sm"]}));
}

// The load/store units take a warp's request to shared memory as they take one to global memory:
// GA10x and AD10x have 16 per SM, for half a warp a cycle, GA100 and GH100 have 32 (whitepapers).
// The copy engine needs none, and an asynchronous copy has asked for both at once.
double shared_seconds(const KernelOnDevice& kernel, const Traffic& traffic) {
  const DeviceSpec& device = kernel.device;
  double requests = -(kernel.counts.async_copies + kernel.counts.bulk_stores);
  for (const Access kind : {Access::load, Access::store, Access::atomic}) {
    requests += kernel.counts.at(Space::shared, kind).requests;
  }
  return kernel.sm_seconds(
      std::max(requests / device["global_requests_per_clock_per_sm"],
               traffic.shared_bytes / device["shared_bytes_per_clock_per_sm"]));
}

// The network between the SMs of a cluster moves whole sectors, as L2 does (NVIDIA Hopper Tuning
// Guide: accesses should be coalesced and aligned to 32 bytes).
double dsm_seconds(const KernelOnDevice& kernel) {
  double sectors = 0;
  for (const Access kind : {Access::load, Access::store, Access::atomic}) {
    sectors += kernel.counts.at(Space::remote, kind).sectors;
  }
  if (sectors == 0) return 0;
  const char* const rate = kernel.profile.cluster > 2 ? "dsm_crowded_bytes_per_clock_per_sm"
                                                      : "dsm_bytes_per_clock_per_sm";
  return kernel.sm_seconds(sectors * sector_bytes / kernel.device[rate]);
}

// Only what the source names can be counted: a lower bound of the instructions issued.
double issue_seconds(const KernelOnDevice& kernel) {
  double instructions = kernel.local_words;
  for (const auto& [name, of_class] : instructions_of(kernel.counts)) instructions += of_class;
  return kernel.sm_seconds(instructions / kernel.device["warp_schedulers_per_sm"]);
}

// One unit, at a rate of its own for each type, and at a lower one for what is not asked of it by
// its own generation's instruction.
// Products of a pair of SMs are half of each, at the same rate: CUTLASS's table of tcgen05.mma
// (media/docs/cpp/blackwell_functionality.md) gives cta_group::1 and ::2 one throughput, and no
// other is published.
TensorTerm tensor_term(const KernelOnDevice& kernel) {
  const DeviceSpec& device = kernel.device;
  const double of_warps = device.find("mma_sync_efficiency").value_or(1);
  double cycles = 0, awaited = 0, most_cycles = 0;
  TensorTerm term;
  for (std::size_t t = 0; t < tensor_types; ++t) {
    const auto type = static_cast<Tensor>(t);
    const double flops_by_warps =
        kernel.counts.tensor_flops[t] / (type == Tensor::fp64 ? 1 : of_warps);
    const double flops = flops_by_warps + kernel.counts.warpgroup_flops[t];
    if (flops == 0) continue;
    const std::string roof = tensor_roof_of(type, device);
    const double rate = device[roof + "_flops_per_clock_per_sm"];
    const double of_type = flops / rate;
    cycles += of_type;
    awaited += (flops_by_warps + kernel.counts.awaited_flops[t]) / rate;
    if (of_type > most_cycles) term.roof = roof;
    most_cycles = std::max(most_cycles, of_type);
  }
  term.seconds = kernel.sm_seconds(cycles);
  term.awaited_seconds = kernel.sm_seconds(awaited);
  return term;
}

}  // namespace gpubench::model
