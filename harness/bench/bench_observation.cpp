// What the run that checks a row's results tells of it.
#include <algorithm>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "harness/bench/bench.hpp"
#include "harness/bench/row_end.hpp"
#include "harness/cuda/stream.hpp"

namespace gpubench {
namespace {

// A kernel asks for every byte that its computation needs. Where the two differ, the bench file
// counts wrongly, or the kernel does not do what it is said to: it ends early, or a compiler found
// no use for what it loads. Nothing is known where something else moves bytes too.
void check_useful_bytes(const Work& work, const Observation& observation) {
  const std::optional<double>& asked = observation.requested_bytes;
  // A sample of the blocks has more than its share of those at the edges, which have less to do.
  const double most = observation.requested_by_all ? 1.02 : 1.1;
  if (!asked || work.useful_bytes <= most * *asked) return;
  std::ostringstream text;
  text << "its work has " << work.useful_bytes << " useful bytes, and its kernels ask for "
       << *asked << ": a wrong count, or a kernel that does not do all of its work";
  throw WrongResult{text.str()};
}

// What is odd about a count of the bench file's that the device's own contradicts; "" for nothing.
std::string moved_otherwise(const Work& work, const Observation& observation) {
  constexpr double apart = 1.5;  // caches keep, and fetch, more than a bench file reckons with
  if (!observation.moved.dram || work.moved_bytes == 0) return "";
  if (std::string_view(work.moved_through) != "dram") return "";
  const double ratio = work.moved_bytes / *observation.moved.dram;
  if (ratio < apart && ratio > 1 / apart) return "";
  std::ostringstream text;
  text << "its work has " << work.moved_bytes << " bytes moved through DRAM, and the model counts "
       << *observation.moved.dram;
  return text.str();
}

// The model has no misses of the TLB. It needs none where L2 holds what is read, or where somebody
// has measured that the TLB maps it.
bool may_miss_tlb(double scattered_bytes, const Platform& platform) {
  if (platform.kind() != DeviceKind::model) return false;
  const DeviceSpec& device = platform.device();
  return scattered_bytes >
         std::max(device.find("l2_bytes").value_or(0), device.find("tlb_reach_bytes").value_or(0));
}

// All that these launches did to a space, by any access: its "requests", its "bytes", ...
double total(const std::vector<Launched>& launches, const std::string& space, const char* unit) {
  double sum = 0;
  for (const Launched& launched : launches) {
    for (const char* kind : {"_load_", "_store_", "_atomic_"}) {
      const auto found = launched.figures.find(space + kind + unit);
      if (found == launched.figures.end()) continue;
      sum += found->second * static_cast<double>(launched.times);
    }
  }
  return sum;
}

// What the row's kernels cost as a multiple of what its useful bytes would, if full warps asked for
// each once, a word per lane. Waste does not hide there by turns: a lane that asks alone makes a
// request, and reads a sector or takes a wavefront, for its own few bytes.
void count_costs(const std::vector<Launched>& launches, double useful_bytes,
                 std::map<std::string, double>& counters) {
  constexpr double of_a_warp = 32 * sizeof(float), of_a_sector = 32;
  const double warps = useful_bytes / of_a_warp;
  const double wavefronts = total(launches, "shared", "wavefronts");
  counters["global_requests"] = total(launches, "global", "requests") / warps;
  counters["global_sectors"] = total(launches, "global", "sectors") * of_a_sector / useful_bytes;
  counters["shared_wavefronts"] = wavefronts / warps;
  counters["idle_wavefronts"] =
      (wavefronts - total(launches, "shared", "bytes") / of_a_warp) / warps;
}

}  // namespace

void Bench::run_checks(bool only_written) const {
  if (checks_.empty()) throw std::logic_error("the bench function verifies nothing before run()");
  for (const auto& check : checks_) {
    if (const std::string wrong = check(only_written); !wrong.empty()) {
      throw WrongResult{"verification failed: " + wrong};
    }
  }
}

// Blocks that did not run may be what is wrong.
void Bench::check_sampled(const Observation& observation) const {
  try {
    run_checks(!observation.whole);
  } catch (const WrongResult& wrong) {
    if (observation.whole) throw;
    throw WrongResult{wrong.what +
                      "; only a sample of the blocks ran: if they need what others did, say "
                      "bench.run_every_block(), or run with --whole_grids=counted"};
  }
}

void Bench::check_results(const Body& body) {
  if (!settings_.judged_results.empty()) judge_results();
  const Stream stream;
  platform_.expect_results(grids_);
  body(stream);
  CUDA_CHECK(cudaStreamSynchronize(stream));
  const Observation observation = platform_.observe(work_.access);
  priced_ = observation.priced;
  if (settings_.profile) row_.launches = platform_.launches();
  if (settings_.kept_results.empty()) {
    check_sampled(observation);
    row_.verified = priced_ ? "operation" : observation.whole ? "full" : "sampled";
  } else {
    keep_results();
  }
  check_useful_bytes(work_, observation);
  take_counters(observation);
}

void Bench::take_counters(const Observation& observation) {
  const auto known = [&](const char* name, const std::optional<double>& value) {
    if (value) row_.counters[name] = *value;
  };
  known("sectors_per_request", observation.sectors_per_request);
  known("wavefronts_per_request", observation.wavefronts_per_request);
  known("active_lanes", observation.active_lanes);
  known("occupancy", observation.occupancy);
  if (!settings_.kept_results.empty()) {  // for whoever judges them
    known("global_excess", observation.global_excess);
    known("shared_excess", observation.shared_excess);
    known("loaded_words", observation.loaded_words);
    known("atomic_bytes", observation.atomic_bytes);
    if (work_.useful_bytes > 0) {
      count_costs(platform_.launches(), work_.useful_bytes, row_.counters);
    }
    if (work_.flops > 0 && observation.fma_flops) {
      row_.counters["fma_share"] = *observation.fma_flops / work_.flops;
    }
  }
  // A claim of the model's: on a GPU only a prediction can say it.
  const bool claimed = platform_.kind() == DeviceKind::model && !work_.bound.empty();
  row_.bound = claimed ? work_.bound : observation.bound;
  if (!claimed && observation.roof != row_.bound) row_.roof = observation.roof;
  row_.counts = observation.counts;
  row_.assuming = observation.assuming;
  if (may_miss_tlb(scattered_bytes_, platform_)) {
    row_.assuming += (row_.assuming.empty() ? "" : "; ") + std::string("the TLB misses nothing");
  }
  row_.terms = observation.terms;
  row_.instructions = observation.instructions;
  if (work_.law_per_request > 0) row_.counters["law_per_request"] = work_.law_per_request;
  if (const std::string odd = moved_otherwise(work_, observation); !odd.empty()) {
    row_.notes.push_back(odd);
  }
  dram_bytes_ = work_.moved_bytes;
  row_.moved = observation.moved;
  row_.moved_through = work_.moved_through;
  if (work_.moved_bytes == 0) {
    dram_bytes_ = observation.dram_bytes.value_or(0);
    const bool shared = observation.bound == "shared";
    if (shared) row_.moved_through = observation.bound;
    const auto& moved = shared ? observation.shared_bytes : observation.dram_bytes;
    work_.moved_bytes = moved.value_or(0);
  } else if (row_.moved_through == "dram" && !row_.moved.dram) {
    row_.moved.dram = work_.moved_bytes;
  }
}

}  // namespace gpubench
