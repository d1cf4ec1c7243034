#include "harness/devices/figure_rules.hpp"

#include <algorithm>
#include <iterator>

#include "harness/devices/spelling.hpp"

namespace gpubench {
namespace {

constexpr bool required = true;
constexpr bool optional = false;

// The one list of figures; schema.json repeats it for editors, and a test compares the two.
constexpr FigureRule rules[] = {
    {"sm_count", "1", required, Constraint::count},
    {"sm_clock_hz", "Hz", required, Constraint::positive},
    {"warp_schedulers_per_sm", "1", required, Constraint::count},
    {"max_threads_per_sm", "1", required, Constraint::count},
    {"max_blocks_per_sm", "1", required, Constraint::count},
    {"max_threads_per_block", "1", required, Constraint::count},
    {"registers_per_sm", "1", required, Constraint::count},
    {"max_registers_per_thread", "1", required, Constraint::count},
    {"register_allocation_unit", "1", required, Constraint::count},
    {"shared_bytes_per_sm", "B", required, Constraint::count},
    {"shared_bytes_per_block", "B", required, Constraint::count},
    {"shared_bytes_per_block_optin", "B", required, Constraint::count},
    {"shared_reserved_bytes_per_block", "B", required, Constraint::whole},
    {"shared_allocation_unit_bytes", "B", required, Constraint::count},
    {"l1_bytes_per_sm", "B", required, Constraint::count},
    {"l2_bytes", "B", required, Constraint::count},
    {"l2_partitions", "1", optional, Constraint::count},
    {"dram_bytes", "B", required, Constraint::count},
    {"dram_bytes_per_second", "B/s", required, Constraint::positive},
    {"dram_read_efficiency", "1", required, Constraint::fraction},
    {"dram_write_efficiency", "1", required, Constraint::fraction},
    {"dram_mixed_efficiency", "1", required, Constraint::fraction},
    {"dram_fetch_bytes", "B", required, Constraint::count},
    {"dram_jump_bytes", "B", optional, Constraint::positive},
    {"l2_fetch_bytes", "B", optional, Constraint::positive},
    {"l2_partial_write_bytes", "B", optional, Constraint::positive},
    {"l2_bytes_per_second", "B/s", required, Constraint::positive},
    {"l1_bytes_per_clock_per_sm", "B", required, Constraint::positive},
    {"shared_bytes_per_clock_per_sm", "B", required, Constraint::positive},
    {"global_requests_per_clock_per_sm", "1", required, Constraint::positive},
    {"l1_tags_per_clock_per_sm", "1", required, Constraint::positive},
    {"l1_latency_cycles", "1", required, Constraint::positive},
    {"shared_latency_cycles", "1", required, Constraint::positive},
    {"l2_latency_cycles", "1", required, Constraint::positive},
    {"l2_far_latency_cycles", "1", optional, Constraint::positive},
    {"dram_latency_cycles", "1", required, Constraint::positive},
    {"max_cluster_blocks", "1", optional, Constraint::count},
    {"dsm_latency_cycles", "1", optional, Constraint::positive},
    {"dsm_bytes_per_clock_per_sm", "B", optional, Constraint::positive},
    {"dsm_crowded_bytes_per_clock_per_sm", "B", optional, Constraint::positive},
    {"cluster_barrier_cycles", "1", optional, Constraint::positive},
    {"fp32_latency_cycles", "1", optional, Constraint::positive},
    {"block_turnaround_cycles", "1", optional, Constraint::positive},
    {"dram_queue_cycles", "1", optional, Constraint::positive},
    {"fp32_flops_per_clock_per_sm", "FLOP", required, Constraint::positive},
    {"fp64_flops_per_clock_per_sm", "FLOP", required, Constraint::positive},
    {"fp16x2_flops_per_clock_per_sm", "FLOP", required, Constraint::positive},
    {"bf16x2_flops_per_clock_per_sm", "FLOP", optional, Constraint::positive},
    {"int32_ops_per_clock_per_sm", "OP", required, Constraint::positive},
    {"sfu_ops_per_clock_per_sm", "OP", required, Constraint::positive},
    {"tensor_fp16_flops_per_clock_per_sm", "FLOP", required, Constraint::positive},
    {"tensor_fp16_acc16_flops_per_clock_per_sm", "FLOP", optional, Constraint::positive},
    {"tensor_bf16_flops_per_clock_per_sm", "FLOP", optional, Constraint::positive},
    {"tensor_tf32_flops_per_clock_per_sm", "FLOP", optional, Constraint::positive},
    {"tensor_fp8_flops_per_clock_per_sm", "FLOP", optional, Constraint::positive},
    {"tensor_mxfp8_flops_per_clock_per_sm", "FLOP", optional, Constraint::positive},
    {"tensor_fp4_flops_per_clock_per_sm", "FLOP", optional, Constraint::positive},
    {"tensor_int8_flops_per_clock_per_sm", "OP", optional, Constraint::positive},
    {"tensor_fp64_flops_per_clock_per_sm", "FLOP", optional, Constraint::positive},
    {"mma_sync_efficiency", "1", required, Constraint::fraction},
    {"gemm_efficiency", "1", required, Constraint::fraction},
    {"gemm_fp8_efficiency", "1", optional, Constraint::fraction},
    {"gemm_unaligned_efficiency", "1", required, Constraint::fraction},
    {"gemm_clock_hz", "Hz", optional, Constraint::positive},
    {"gemm_fp32_clock_hz", "Hz", optional, Constraint::positive},
    {"fp64_flops_per_second", "FLOP/s", optional, Constraint::positive},
    {"fp32_flops_per_second", "FLOP/s", optional, Constraint::positive},
    {"fp16x2_flops_per_second", "FLOP/s", optional, Constraint::positive},
    {"tensor_fp64_flops_per_second", "FLOP/s", optional, Constraint::positive},
    {"tensor_tf32_flops_per_second", "FLOP/s", optional, Constraint::positive},
    {"tensor_fp16_flops_per_second", "FLOP/s", optional, Constraint::positive},
    {"tensor_fp16_acc16_flops_per_second", "FLOP/s", optional, Constraint::positive},
    {"tensor_bf16_flops_per_second", "FLOP/s", optional, Constraint::positive},
    {"tensor_fp8_flops_per_second", "FLOP/s", optional, Constraint::positive},
    {"tensor_fp4_flops_per_second", "FLOP/s", optional, Constraint::positive},
    {"tensor_int8_flops_per_second", "OP/s", optional, Constraint::positive},
    {"launch_stream_seconds", "s", required, Constraint::positive},
    {"launch_graph_seconds", "s", required, Constraint::positive},
    {"launch_programmatic_seconds", "s", optional, Constraint::positive},
    {"launch_host_seconds", "s", required, Constraint::positive},
    {"launch_latency_seconds", "s", required, Constraint::positive},
    {"kernel_floor_seconds", "s", required, Constraint::positive},
    {"event_resolution_seconds", "s", required, Constraint::positive},
    {"sync_host_seconds", "s", required, Constraint::positive},
    {"sync_block_host_seconds", "s", optional, Constraint::positive},
    {"copy_engines", "1", required, Constraint::count},
    {"pcie_h2d_bytes_per_second", "B/s", required, Constraint::positive},
    {"pcie_d2h_bytes_per_second", "B/s", required, Constraint::positive},
    {"pcie_latency_seconds", "s", required, Constraint::positive},
    {"pageable_bytes_per_second", "B/s", required, Constraint::positive},
    {"nvlink_bytes_per_second", "B/s", optional, Constraint::positive},
    {"nvlink_ring_bytes_per_second", "B/s", optional, Constraint::positive},
    {"nvlink_sharp_bytes_per_second", "B/s", optional, Constraint::positive},
    {"node_gpus", "1", optional, Constraint::count},
    {"network_bytes_per_second", "B/s", optional, Constraint::positive},
    {"link_bytes_per_second", "B/s", optional, Constraint::positive},
    {"power_limit_w", "W", required, Constraint::positive},
    // The model does not use it; a row of memory_hierarchy measures it.
    {"tlb_reach_bytes", "B", optional, Constraint::count},
};

constexpr std::string_view known_provenances[] = {"data_sheet", "published", "calibrated",
                                                  "derived", "assumed"};

struct UnitRange {
  std::string_view unit;
  FigureRange range;
};
// Far beyond any device there is, and near enough for the model to compute with. A value in another
// unit, such as gigabytes per second or microseconds, lies outside.
constexpr UnitRange unit_ranges[] = {
    {"1", {1e-6, 1e6}},    {"B", {1, 1e15}},    {"Hz", {1e6, 1e11}},     {"B/s", {1e7, 1e17}},
    {"FLOP", {1e-3, 1e7}}, {"OP", {1e-3, 1e7}}, {"FLOP/s", {1e9, 1e19}}, {"OP/s", {1e9, 1e19}},
    {"s", {1e-12, 1e-3}},  {"W", {1, 1e5}},
};

struct SizeRange {
  std::string_view figure;
  FigureRange range;
};
// What a cache or memory moves for a sector of 32 bytes.
constexpr FigureRange of_sectors{32, 4096};
// What bytes count that are far from 1, as megabytes are not.
constexpr SizeRange size_ranges[] = {
    {"dram_fetch_bytes", of_sectors},        {"l2_fetch_bytes", of_sectors},
    {"l2_partial_write_bytes", of_sectors},  {"shared_bytes_per_sm", {1024, 1e9}},
    {"shared_bytes_per_block", {1024, 1e9}}, {"shared_bytes_per_block_optin", {1024, 1e9}},
    {"l1_bytes_per_sm", {1024, 1e9}},        {"l2_bytes", {65536, 1e12}},
    {"tlb_reach_bytes", {65536, 1e15}},      {"dram_bytes", {1e6, 1e15}},
};

}  // namespace

std::span<const FigureRule> figure_rules() { return rules; }

FigureRange range_of(const FigureRule& rule) {
  const auto size = std::ranges::find(size_ranges, rule.name, &SizeRange::figure);
  if (size != std::end(size_ranges)) return size->range;
  return std::ranges::find(unit_ranges, rule.unit, &UnitRange::unit)->range;
}

std::span<const std::string_view> provenances() { return known_provenances; }

const FigureRule* find_rule(std::string_view figure) {
  const auto rule = std::ranges::find(rules, figure, &FigureRule::name);
  return rule == std::end(rules) ? nullptr : &*rule;
}

std::string closest_figure(std::string_view wanted) {
  return std::string(std::ranges::min(rules, {}, [&](const FigureRule& rule) {
                       return edit_distance(rule.name, wanted);
                     }).name);
}

}  // namespace gpubench
