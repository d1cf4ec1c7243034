#include "harness/devices/derive.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <nlohmann/json.hpp>

namespace gpubench {
namespace {

using nlohmann::json;

// What an SM does a clock, by compute capability: FLOP, an FMA is 2. 0: it has no such unit.
struct Architecture {
  int major, minor;
  const char* nearest;  // the device file of the closest architecture
  double l1_bytes;      // with shared memory
  double shared_unit;
  double fp32, fp64, fp16x2, int32, sfu;
  double tensor_fp64, tensor_tf32, tensor_fp16, tensor_bf16, tensor_fp8, tensor_int8, tensor_fp4;
};

// CUDA C++ Programming Guide, "Throughput of Native Arithmetic Instructions"; Tensor Cores by the
// data sheets of T4, A100, A40, L40S, H100, B200, B300 and RTX PRO 6000, dense. GeForce GPUs do
// half of the latter where they accumulate in FP32. Shared memory units by cuda_occupancy.h.
constexpr Architecture architectures[] = {
    {7, 5, "a100-80-sxm", 98304, 256, 128, 4, 256, 64, 16, 0, 0, 1024, 0, 0, 2048, 0},
    {8, 0, "a100-80-sxm", 196608, 128, 128, 64, 512, 64, 16, 128, 1024, 2048, 2048, 0, 4096, 0},
    {8, 6, "l40s", 131072, 128, 256, 4, 256, 64, 16, 0, 512, 1024, 1024, 0, 2048, 0},
    {8, 9, "l40s", 131072, 128, 256, 4, 256, 64, 16, 0, 512, 1024, 1024, 2048, 2048, 0},
    {9, 0, "h200-sxm", 262144, 128, 256, 128, 512, 64, 16, 256, 2048, 4096, 4096, 8192, 8192, 0},
    {10, 0, "b200", 262144, 128, 256, 128, 256, 64, 16, 128, 4096, 8192, 8192, 16384, 16384, 32768},
    {10, 3, "b300", 262144, 128, 256, 4, 256, 64, 16, 0, 4096, 8192, 8192, 16384, 0, 49152},
    {12, 0, "rtx-5090", 131072, 128, 256, 4, 256, 64, 16, 0, 512, 1024, 1024, 2048, 2048, 4096},
};

// The newest architecture of the table that is not newer; nullptr before Turing.
const Architecture* architecture_of(int major, int minor) {
  const Architecture* found = nullptr;
  for (const Architecture& a : architectures) {
    if (std::pair(a.major, a.minor) <= std::pair(major, minor)) found = &a;
  }
  return found;
}

std::string slug(const std::string& title) {
  std::string name;
  for (const char c : title) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!name.empty() && name.back() != '-') {
      name += '-';
    }
  }
  if (name.ends_with('-')) name.pop_back();
  return name.empty() ? "gpu" : name;
}

class Figures {
 public:
  void add(const std::string& name, double value, const std::string& source) {
    figures_[name] = {{"value", value}, {"from", "derived"}, {"source", source}};
  }
  // What the driver says; what it does not say stays out.
  void driver(const std::string& name, double value, const std::string& attribute) {
    if (value > 0) add(name, value, "the CUDA driver: " + attribute);
  }
  const json& get() const { return figures_; }

 private:
  json figures_ = json::object();
};

void add_attributes(Figures& figures, const GpuAttributes& gpu) {
  figures.driver("sm_count", gpu.sm_count, "multiProcessorCount");
  figures.driver("sm_clock_hz", gpu.sm_clock_hz, "clockRate");
  figures.driver("max_threads_per_sm", gpu.max_threads_per_sm, "maxThreadsPerMultiProcessor");
  figures.driver("max_blocks_per_sm", gpu.max_blocks_per_sm, "maxBlocksPerMultiProcessor");
  figures.driver("max_threads_per_block", gpu.max_threads_per_block, "maxThreadsPerBlock");
  figures.driver("registers_per_sm", gpu.registers_per_sm, "regsPerMultiprocessor");
  figures.driver("shared_bytes_per_sm", gpu.shared_bytes_per_sm, "sharedMemPerMultiprocessor");
  figures.driver("shared_bytes_per_block", gpu.shared_bytes_per_block, "sharedMemPerBlock");
  figures.driver("shared_bytes_per_block_optin", gpu.shared_bytes_per_block_optin,
                 "sharedMemPerBlockOptin");
  figures.add("shared_reserved_bytes_per_block", gpu.shared_reserved_bytes_per_block,
              "the CUDA driver: reservedSharedMemPerBlock");
  figures.driver("l2_bytes", gpu.l2_bytes, "l2CacheSize");
  figures.driver("dram_bytes", gpu.dram_bytes, "totalGlobalMem");
  figures.driver("dram_bytes_per_second", 2 * gpu.memory_clock_hz * gpu.memory_bus_bits / 8,
                 "memoryClockRate x memoryBusWidth, two transfers a clock");
  figures.driver("copy_engines", gpu.copy_engines, "asyncEngineCount");
}

void add_architecture(Figures& figures, const Architecture& a, const std::string& gpu) {
  const std::string capability =
      "compute capability " + std::to_string(a.major) + "." + std::to_string(a.minor);
  const auto unit = [&](const std::string& name, double value, const char* of) {
    if (value > 0) figures.add(name, value, capability + ": " + of);
  };
  const char* guide = "CUDA C++ Programming Guide, throughput of arithmetic instructions";
  const char* sheets = "dense Tensor Core peaks of its data-centre GPUs";
  unit("fp32_flops_per_clock_per_sm", a.fp32, guide);
  unit("fp64_flops_per_clock_per_sm", a.fp64, guide);
  unit("fp16x2_flops_per_clock_per_sm", a.fp16x2, guide);
  // Half of it on 8.0, none before.
  const double bf16x2 = a.major < 8 ? 0 : a.major == 8 && a.minor == 0 ? a.fp16x2 / 2 : a.fp16x2;
  unit("bf16x2_flops_per_clock_per_sm", bf16x2, "the A100's and H100's whitepapers");
  unit("int32_ops_per_clock_per_sm", a.int32, guide);
  unit("sfu_ops_per_clock_per_sm", a.sfu, guide);
  unit("tensor_fp64_flops_per_clock_per_sm", a.tensor_fp64, sheets);
  const bool is_geforce = gpu.find("GeForce") != std::string::npos;
  const double with_fp32_sums = is_geforce ? 0.5 : 1;
  const char* by_sums = is_geforce ? "half of the dense Tensor Core peaks of its data-centre GPUs, "
                                     "because sums are fp32"
                                   : sheets;
  unit("tensor_tf32_flops_per_clock_per_sm", a.tensor_tf32 * with_fp32_sums, by_sums);
  unit("tensor_fp16_flops_per_clock_per_sm", a.tensor_fp16 * with_fp32_sums, by_sums);
  if (is_geforce) unit("tensor_fp16_acc16_flops_per_clock_per_sm", a.tensor_fp16, sheets);
  unit("tensor_bf16_flops_per_clock_per_sm", a.tensor_bf16 * with_fp32_sums, by_sums);
  unit("tensor_fp8_flops_per_clock_per_sm", a.tensor_fp8 * with_fp32_sums, by_sums);
  if (is_geforce && a.major >= 12) {
    unit("tensor_mxfp8_flops_per_clock_per_sm", a.tensor_fp8,
         "as the RTX 5090, whose mma.sync is as fast with block scales as with sums in fp16");
  }
  unit("tensor_fp4_flops_per_clock_per_sm", a.tensor_fp4, sheets);
  unit("tensor_int8_flops_per_clock_per_sm", a.tensor_int8, sheets);
  unit("l1_bytes_per_sm", a.l1_bytes, "CUDA C++ Programming Guide, compute capabilities");
  unit("shared_allocation_unit_bytes", a.shared_unit, "cuda_occupancy.h");
}

// What the model needs, or does better with, and nobody told: as on the closest architecture.
void add_from_nearest(Figures& figures, const DeviceSpec& nearest, const GpuAttributes& gpu) {
  const std::string as_on = "as on " + nearest.name() + ", the closest device with a file";
  for (const FigureRule& rule : figure_rules()) {
    const std::string name(rule.name);
    const bool wanted = rule.required || name == "fp32_latency_cycles" ||
                        name == "block_turnaround_cycles" || name == "dram_queue_cycles";
    if (!wanted || figures.get().contains(name) || !nearest.find(name)) continue;
    double value = nearest[name];
    std::string how = as_on;
    if (name == "l2_bytes_per_second") {
      value *= gpu.sm_count * gpu.sm_clock_hz / (nearest["sm_count"] * nearest["sm_clock_hz"]);
      how += ", by SMs and clock";
    }
    const Figure& figure = nearest.figures().at(name);
    figures.add(name, value, how + " (" + figure.from + ": " + figure.source + ")");
  }
}

}  // namespace

DeviceSpec derived_device(const GpuAttributes& gpu) {
  Figures figures;
  add_attributes(figures, gpu);
  const Architecture* architecture = architecture_of(gpu.major, gpu.minor);
  const double needed[] = {gpu.sm_count,
                           gpu.sm_clock_hz,
                           gpu.max_threads_per_sm,
                           gpu.max_blocks_per_sm,
                           gpu.max_threads_per_block,
                           gpu.registers_per_sm,
                           gpu.shared_bytes_per_sm,
                           gpu.shared_bytes_per_block,
                           gpu.shared_bytes_per_block_optin,
                           gpu.l2_bytes,
                           gpu.dram_bytes,
                           gpu.memory_clock_hz * gpu.memory_bus_bits};
  const bool complete = std::ranges::all_of(needed, [](double value) { return value > 0; });
  const bool can_be_modelled = architecture != nullptr && complete;
  if (can_be_modelled) {
    add_architecture(figures, *architecture, gpu.name);
    add_from_nearest(figures, device_spec(architecture->nearest), gpu);
  }
  const std::string name = slug(gpu.name);
  const json file = {{"schema", 1},
                     {"name", name},
                     {"title", gpu.name},
                     {"kind", can_be_modelled ? "gpu" : "roof"},
                     {"matches", {gpu.name}},
                     {"compute_capability", {gpu.major, gpu.minor}},
                     {"figures", figures.get()},
                     {"sources", json::object()}};
  return DeviceSpec::parse(file.dump(), name);
}

}  // namespace gpubench
