#include "harness/platform/model/gemm/cost.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "harness/platform/model/time/dram.hpp"
#include "harness/platform/model/time/load_clock.hpp"
#include "harness/platform/model/time/overlap.hpp"

namespace gpubench::model {
namespace {

struct Tile {
  unsigned m, n;
};
// The guide's list, section 2.3, from the most efficient on.
constexpr Tile tiles[] = {{128, 256}, {256, 128}, {128, 128}, {64, 256},
                          {256, 64},  {64, 128},  {128, 64},  {64, 64}};

constexpr std::size_t smallest_tile = 64;

constexpr unsigned whole_alignment = 16;  // bytes
constexpr double lanes = 32;
// What a block takes of the sum at a time: 32 elements of 16 bits, the least of CUTLASS's kernels
// for Tensor Cores. (Assumed: the library does not say.)
constexpr double step_bytes = 64;

// An SM has one that is loaded or stored while the other is multiplied. (Assumed.)
constexpr double tiles_at_once = 2;

// Fewer steps than these are not worth a block of their own. (Assumed.)
constexpr double least_steps = 8;
constexpr double partial_sum_bytes = sizeof(float);

// As CUTLASS's kernels without Tensor Cores; larger tiles they do not have. (Assumed.)
constexpr unsigned largest_fma_tile = 128 * 128;

double rounded_up(double n, double step) { return std::ceil(n / step) * step; }

// A device whose Tensor Cores do not multiply fp64 does so by its FP64 units.
std::string unit_of(GemmType type, const DeviceSpec& device) {
  const std::string roof = gemm_roof(type, device);
  const bool missing = !device.find(roof + "_flops_per_clock_per_sm");
  return type == GemmType::fp64 && missing ? "fp64" : roof;
}

unsigned alignment(std::initializer_list<std::size_t> bytes) {
  std::size_t common = whole_alignment;
  for (const std::size_t b : bytes) common = std::gcd(common, b);
  return static_cast<unsigned>(common);
}

// The share of what the best kernels reach that those for this alignment do.
double kernel_efficiency(const GemmShape& shape, const DeviceSpec& device) {
  if (shape.type == GemmType::fp32) return library_fp32_share(device);
  // An H100 takes the same kernel of CUTLASS for Turing, one element at a time, where D's rows
  // begin at odd elements: measured, tile_alignment/odd_n and odd_k.
  if (operand_alignment(shape) < whole_alignment ||
      result_alignment(shape) <= shape.result_bytes()) {
    return device["gemm_unaligned_efficiency"];
  }
  // Without whole rows of D, TMA cannot store it (CUDA driver API, cuTensorMapEncodeTiled: strides
  // are multiples of 16 bytes); taken to mean a kernel of the generation before. (Assumed.)
  return result_alignment(shape) < whole_alignment ? device["mma_sync_efficiency"] : 1;
}

// How D is cut: into tiles, and each tile's sums into parts, a block each.
struct Cut {
  Tile tile;
  double parts = 1;
};

struct Extent {
  double m, n;
};
// What a block loads for its tile: no rows beyond the matrices.
Extent needed_of(const GemmShape& shape, Tile tile) {
  return {std::min<double>(tile.m, static_cast<double>(shape.m)),
          std::min<double>(tile.n, static_cast<double>(shape.n))};
}
Extent tiles_along(const GemmShape& shape, Tile tile) {
  return {std::ceil(static_cast<double>(shape.m) / tile.m),
          std::ceil(static_cast<double>(shape.n) / tile.n)};
}

// Rows of A and B that a block's step brings in from L2. On Hopper two blocks of a cluster share
// what one of them asked for (TMA multicast), on Blackwell a pair of SMs both: rows of A if there
// is another tile along n, rows of B if there is another one along m.
double fetched_rows(const GemmShape& shape, Tile tile, bool aligned, int generation) {
  const auto [a, b] = needed_of(shape, tile);
  if (!aligned || generation < 9) return a + b;
  const auto [down, across] = tiles_along(shape, tile);
  const double shared_a = across > 1 ? a / 2 : a, shared_b = down > 1 ? b / 2 : b;
  return generation < 10 ? std::min(shared_a + b, a + shared_b) : shared_a + shared_b;
}

// What adding up parts of sums takes: they pass through L2, and a second kernel adds them.
double combining_seconds(const GemmShape& shape, const DeviceSpec& device, double batch,
                         double parts) {
  if (parts == 1) return 0;
  const double sums = batch * static_cast<double>(shape.m) * static_cast<double>(shape.n);
  return device["launch_stream_seconds"] +
         2 * parts * sums * partial_sum_bytes / device["l2_bytes_per_second"];
}

GemmCost cost_of(const GemmShape& shape, const DeviceSpec& device, double batch, const Cut& cut,
                 double sms) {
  const auto [tile, parts] = cut;
  const double operand_bytes = gemm_format(shape.type).operand_bits / 8.0;
  const auto result_bytes = static_cast<double>(shape.result_bytes());
  const bool by_tensor_cores = shape.type != GemmType::fp32;
  const double rate = device[unit_of(shape.type, device) + "_flops_per_clock_per_sm"] *
                      (by_tensor_cores ? device[gemm_efficiency(shape.type, device)] : 1) *
                      kernel_efficiency(shape, device);
  // The Tensor Cores' clock under load is in that efficiency.
  const double clock = by_tensor_cores ? device["sm_clock_hz"]
                                       : load_clock(device, Load::fp32, library_fp32_share(device));
  const double depth = rounded_up(static_cast<double>(shape.k) / parts, step_bytes / operand_bytes);
  GemmCost cost;
  cost.tile_m = tile.m;
  cost.tile_n = tile.n;
  cost.parts = parts;
  const auto [down, across] = tiles_along(shape, tile);
  cost.tiles = down * across * batch;
  cost.waves = std::ceil(cost.tiles * parts / sms);

  const double elements = static_cast<double>(tile.m) * tile.n;
  // D is written when the sums are complete, and nothing is left to do beside it.
  const double stores = elements * result_bytes / (lanes * result_alignment(shape));
  const double tile_cycles =
      2 * elements * depth / rate + stores / device["global_requests_per_clock_per_sm"];
  const bool aligned = by_tensor_cores && operand_alignment(shape) == whole_alignment &&
                       result_alignment(shape) == whole_alignment;
  const double fetched = cost.waves * sms * depth * operand_bytes *
                         fetched_rows(shape, tile, aligned, device.compute_capability().first);
  const double written =
      batch * static_cast<double>(shape.m) * static_cast<double>(shape.n) * result_bytes;
  cost.terms = {{by_tensor_cores ? "tensor" : "fp32", cost.waves * tile_cycles / clock},
                {"l2", fetched / device["l2_bytes_per_second"]},
                {"dram", dram_seconds(batch * shape.bytes() - written, written, device)},
                {"launch", device["kernel_floor_seconds"]}};
  const auto less = [](const auto& one, const auto& other) { return one.second < other.second; };
  cost.bound = std::max_element(cost.terms.begin(), cost.terms.end(), less)->first;
  cost.roof = unit_of(shape.type, device);
  // Operands are fetched steps ahead of their products, so the busiest of these sets the pace.
  const double busiest = std::max_element(cost.terms.begin(), cost.terms.end() - 1, less)->second;
  // As of kernels, filling and draining the machine cannot be hidden: a tile's result is stored
  // when its sums are complete, while another tile multiplies.
  const double stored = dram_seconds(0, cost.waves * sms * elements * result_bytes, device);
  const double filling = cost.waves * device["dram_latency_cycles"] / clock;
  cost.seconds = overlapped(busiest + stored + filling, busiest, tiles_at_once) +
                 combining_seconds(shape, device, batch, parts) + device["kernel_floor_seconds"];
  return cost;
}

// As many parts of each sum as give the SMs a block each, if D is a strip no wider than the
// smallest tile: of other shapes, tiles of some size occupy most SMs. (Weights' gradients of small
// layers are left out.)
double most_parts(const GemmShape& shape, const DeviceSpec& device, std::size_t batch, Tile tile) {
  const auto [down, across] = tiles_along(shape, tile);
  const double blocks = down * across * static_cast<double>(batch);
  if (std::min(shape.m, shape.n) > smallest_tile || blocks == 0) return 1;
  const double steps = static_cast<double>(gemm_operand_bytes(shape.type, shape.k)) / step_bytes;
  return std::max(
      1.0, std::min(std::floor(device["sm_count"] / blocks), std::floor(steps / least_steps)));
}

}  // namespace

unsigned operand_alignment(const GemmShape& s) {
  const auto bytes = [&](std::size_t elements) { return gemm_operand_bytes(s.type, elements); };
  return alignment({bytes(s.a_is_k_by_m ? s.m : s.k), bytes(s.b_is_k_by_n ? s.n : s.k),
                    bytes(s.lda), bytes(s.ldb)});
}

unsigned result_alignment(const GemmShape& s) {
  const std::size_t bytes = s.result_bytes();
  return alignment({s.n * bytes, s.ldd * bytes});
}

std::string why_no_gemm(const GemmShape& s, const DeviceSpec& device) {
  const std::string unit = unit_of(s.type, device), name = gemm_type_name(s.type);
  const GemmFormat format = gemm_format(s.type);
  if (format.scaled_together > 0 && device.compute_capability().first < 10) {
    return device.title() + " has no unit for " + name +
           ": block scales need compute capability 10.0";
  }
  if (!device.find(unit + "_flops_per_clock_per_sm")) {
    return device.title() + " has no unit for " + name + " (" + unit + ')';
  }
  const unsigned operands = operand_alignment(s), result = result_alignment(s);
  const bool is_narrow_float = format.operand_bits <= 8 && s.type != GemmType::int8;
  if (is_narrow_float && (operands < whole_alignment || result < whole_alignment)) {
    return "cuBLASLt multiplies " + name + " only if all rows begin at multiples of 16 bytes";
  }
  if (format.scaled_together > 0 && (s.b_is_k_by_n || s.a_is_k_by_m)) {
    return "cuBLASLt multiplies " + name + " only with both operands side by side along k";
  }
  if (s.type == GemmType::int8 && (operands < 4 || result < whole_alignment)) {
    return "cuBLASLt multiplies int8 only if n, k and all rows are multiples of 4 elements";
  }
  return "";
}

GemmCost gemm_cost(const GemmShape& shape, const DeviceSpec& device, std::size_t batch) {
  std::optional<GemmCost> best;
  for (const Tile tile : tiles) {
    if (shape.type == GemmType::fp32 && tile.m * tile.n > largest_fma_tile) continue;
    for (const double parts : {1.0, most_parts(shape, device, batch, tile)}) {
      GemmCost other =
          cost_of(shape, device, static_cast<double>(batch), {tile, parts}, device["sm_count"]);
      if (!best || other.seconds < best->seconds) best = std::move(other);
    }
  }
  return *best;
}

double gemm_seconds_on(double sms, const GemmCost& cost, const GemmShape& shape,
                       const DeviceSpec& device, std::size_t batch) {
  const Cut cut{{cost.tile_m, cost.tile_n}, cost.parts};
  return cost_of(shape, device, static_cast<double>(batch), cut, std::max(1.0, sms)).seconds;
}

}  // namespace gpubench::model
