#include "harness/platform/model/time/time_model.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "harness/platform/model/time/kernel_on_device.hpp"
#include "harness/platform/model/time/load_clock.hpp"

namespace gpubench::model {
namespace {

// What one unit or level would need alone: all terms that nothing but the whole grid's work
// decides.
std::vector<Term> throughput_terms(const KernelOnDevice& kernel, const Traffic& traffic,
                                   const TensorTerm& tensor) {
  const Counts& counts = kernel.counts;
  const DeviceSpec& device = kernel.device;
  std::vector<Term> terms;
  const auto add = [&](const char* name, double seconds) { terms.push_back({name, seconds}); };
  if (traffic.link_seconds > 0) add("link", traffic.link_seconds);
  if (const double seconds = dsm_seconds(kernel); seconds > 0) add("dsm", seconds);
  add("dram", dram_seconds(traffic, device));
  add("l2",
      (traffic.l2_sectors * sector_bytes + traffic.l2_idle_bytes) / device["l2_bytes_per_second"]);
  add("l1", l1_seconds(kernel, traffic));
  add("shared", shared_seconds(kernel, traffic));
  add("issue", issue_seconds(kernel));
  for (const MultiplyAddUnit& u : multiply_add_units(device)) {
    add(u.name, kernel.unit_seconds(u.instructions(counts), u.operations, u.figure));
  }
  add("tensor", tensor.seconds);
  add("sfu", kernel.unit_seconds(counts.special, 1, "sfu_ops_per_clock_per_sm"));
  return terms;
}

double seconds_of(const std::vector<Term>& terms, std::string_view name) {
  return std::ranges::find(terms, name, &Term::name)->seconds;
}

const Term& binding(const std::vector<Term>& terms) {
  const Term* largest = &terms.front();
  for (const Term& term : terms) {
    if (term.seconds > largest->seconds) largest = &term;
  }
  // A full arithmetic unit takes every issue slot too; it is the unit that binds then.
  if (largest->name == "issue") {
    for (const Term& term : terms) {
      const bool unit = term.name == "fp32" || term.name == "fp64" || term.name == "fp16x2" ||
                        term.name == "bf16x2";
      if (unit && term.seconds > 0.9 * largest->seconds) largest = &term;
    }
  }
  return *largest;
}

}  // namespace

Waiting& Waiting::operator+=(const Waiting& other) {
  load_groups += other.load_groups;
  load_chain += other.load_chain;
  shared_chain += other.shared_chain;
  remote_groups += other.remote_groups;
  remote_chain += other.remote_chain;
  copy_waits += other.copy_waits;
  fma_chain += other.fma_chain;
  fma_steps += other.fma_steps;
  return *this;
}

double Waiting::loads() const { return std::max(load_groups, load_chain); }
double Waiting::remote() const { return std::max(remote_groups, remote_chain); }

void Waiting::keep_longer(const Waiting& other) {
  load_groups = std::max(load_groups, other.load_groups);
  load_chain = std::max(load_chain, other.load_chain);
  shared_chain = std::max(shared_chain, other.shared_chain);
  remote_groups = std::max(remote_groups, other.remote_groups);
  remote_chain = std::max(remote_chain, other.remote_chain);
  copy_waits = std::max(copy_waits, other.copy_waits);
  fma_chain = std::max(fma_chain, other.fma_chain);
  fma_steps = std::max(fma_steps, other.fma_steps);
}

KernelOnDevice::KernelOnDevice(const KernelProfile& of, const DeviceSpec& on, double at_clock)
    : profile(of),
      device(on),
      occupancy(model::occupancy(
          on, {of.threads_per_block, of.shared_bytes, of.registers, of.tensor_columns})),
      sms(on["sm_count"]),
      clock(at_clock),
      scale(of.scale()),
      counts(of.counts.scaled(scale)),
      local_words(of.local_words * scale),
      blocks_on_fullest(std::ceil(of.blocks / sms)),
      share_of_fullest(blocks_on_fullest / of.blocks),
      l1_capacity(std::max(
          on["l1_bytes_per_sm"] - static_cast<double>(of.shared_bytes) * occupancy.blocks_per_sm,
          static_cast<double>(line_bytes))) {}

double KernelOnDevice::warps() const {
  return std::ceil(profile.threads_per_block / double{warp_lanes});
}

double KernelOnDevice::blocks_at_once() const {
  return std::max(1.0, std::min<double>(occupancy.blocks_per_sm, blocks_on_fullest));
}

double KernelOnDevice::turns() const {
  return std::max(1.0, blocks_on_fullest / std::max(1u, occupancy.blocks_per_sm));
}

namespace {

Prediction predict_at(double clock, const KernelProfile& profile, const DeviceSpec& device,
                      const L2Contents& contents) {
  const KernelOnDevice kernel(profile, device, clock);
  Prediction result;
  result.occupancy = kernel.occupancy;
  result.traffic = traffic_of(kernel, contents);
  const TensorTerm tensor = tensor_term(kernel);
  const LatencyTerm latency = latency_term(kernel, result.traffic);
  const double launch = device["kernel_floor_seconds"];
  result.terms = throughput_terms(kernel, result.traffic, tensor);
  result.terms.push_back({"latency", latency.seconds});
  result.terms.push_back({"launch", launch});
  result.bound = binding(result.terms).name;
  result.roof = result.bound == "tensor" ? tensor.roof : result.bound;

  const double busy = seconds_of(result.terms, "dram");
  const double loaded = loaded_seconds(latency, busy);
  double unit = loaded;
  for (const Term& term : result.terms) {
    if (term.name != "launch") unit = std::max(unit, term.seconds);
  }
  const double phases = std::max(unit, phases_seconds(kernel, result.traffic));
  // Starting and filling the machine and draining it cannot be hidden, whatever binds.
  result.seconds = launch + phases;
  result.terms.push_back({"queue", loaded - std::max(latency.seconds, busy)});
  result.terms.push_back({"phases", phases - unit});
  for (const Term& term : result.terms) {
    // Waiting is no use of a unit.
    if (term.name == "latency" || term.name == "launch" || term.name == "queue" ||
        term.name == "phases") {
      continue;
    }
    // The units of an SM without a block are free for other kernels.
    const bool is_of_all = term.name == "dram" || term.name == "l2";
    const double share = is_of_all ? 1 : std::min(1.0, profile.blocks / kernel.sms);
    result.utilisation = std::max(result.utilisation, share * term.seconds / result.seconds);
  }
  return result;
}

// Units that work on little data, as those of a peak's measurement, take less power. What feeds an
// SM's units comes through L2, and through the SM's own memory, L1 or shared.
constexpr double least_fed = 0.05;

double clock_under(const Prediction& prediction, const DeviceSpec& device) {
  const double seconds = prediction.seconds;
  const auto busy = [&](const char* term) { return seconds_of(prediction.terms, term) / seconds; };
  const double fed = std::min(busy("l2"), std::max(busy("l1"), busy("shared")));
  if (fed < least_fed) return device["sm_clock_hz"];
  return std::min(load_clock(device, Load::tensor, busy("tensor")),
                  load_clock(device, Load::fp32, busy("fp32")));
}

}  // namespace

Prediction predict(const KernelProfile& profile, const DeviceSpec& device,
                   const L2Contents& contents) {
  const double most = device["sm_clock_hz"];
  Prediction result = predict_at(most, profile, device, contents);
  const double clock = clock_under(result, device);
  return clock < most ? predict_at(clock, profile, device, contents) : result;
}

}  // namespace gpubench::model
