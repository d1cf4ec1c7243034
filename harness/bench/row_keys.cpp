#include "harness/bench/row_keys.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace gpubench {
namespace {

using namespace std::string_view_literals;

// What harness/program/result_json.cpp writes of every row, and the counters that the timer, the
// observation and the grading add, where there are any.
constexpr std::array keys{
    "aggregate_name"sv, "aggregate_unit"sv, "arguments"sv, "arithmetic_unit"sv, "assuming"sv,
    "axes"sv, "bytes"sv, "concept"sv, "counts"sv, "cpu_time"sv, "diagnosis"sv, "error_kind"sv,
    "error_message"sv, "error_occurred"sv, "family_index"sv, "grade_roof"sv, "headline"sv,
    "instructions"sv, "iterations"sv, "kernel"sv, "label"sv, "launches"sv, "measures"sv, "name"sv,
    "notes"sv, "per_family_instance_index"sv, "real_time"sv, "repetition_index"sv, "repetitions"sv,
    "run_name"sv, "run_type"sv, "skip_reason"sv, "skipped"sv, "source"sv, "terms"sv, "threads"sv,
    "time_unit"sv, "verified"sv,
    // counters
    "active_lanes"sv, "arithmetic_intensity"sv, "ci_high_seconds"sv, "ci_low_seconds"sv,
    "converged"sv, "cpu_seconds"sv, "device_seconds"sv, "discarded"sv, "empty_seconds"sv,
    "event_tick_seconds"sv, "flops_per_second"sv, "fma_share"sv, "gate_timeouts"sv,
    "items_per_second"sv, "law"sv, "law_per_request"sv, "law_ratio"sv, "law_tolerance"sv,
    "min_seconds"sv, "model_high_seconds"sv, "model_low_seconds"sv, "model_seconds"sv,
    "moved_bytes_per_second"sv, "off_clock"sv, "paused_seconds"sv, "power_w"sv, "roof_fraction"sv,
    "samples"sv, "sectors_per_request"sv, "sm_clock_hz"sv, "temperature_c"sv, "throttled"sv,
    "useful_bytes_per_second"sv, "wavefronts_per_request"sv};

bool is_of_a_key(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

}  // namespace

bool is_key_of_every_row(std::string_view key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

void check_own_key(const std::string& key) {
  if (key.empty() || !std::all_of(key.begin(), key.end(), is_of_a_key)) {
    throw std::logic_error("key '" + key + "' may have only letters, digits and _");
  }
  if (is_key_of_every_row(key)) {
    throw std::logic_error("key '" + key + "' is reserved: the program writes it itself");
  }
}

}  // namespace gpubench
