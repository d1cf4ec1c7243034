#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/system/error.hpp"

namespace gpubench {

// Every roof that a device may have: memories first [B/s], then units [FLOP/s, OP/s].
std::span<const std::string_view> roof_names();

// What a figure of a device file may hold.
enum class Constraint {
  count,     // a whole number, at least 1
  whole,     // a whole number, at least 0
  positive,  // above 0
  fraction,  // above 0, at most 1
};

// One row of the table of figures: the program reads these names and no others.
struct FigureRule {
  std::string_view name;
  std::string_view unit;
  bool required;  // of a device of kind "gpu"; a device of kind "roof" may leave out any figure
  Constraint constraint;
};

std::span<const FigureRule> figure_rules();

// What no device can have less or more of, in the figure's unit.
struct FigureRange {
  double least, most;
};
FigureRange range_of(const FigureRule& rule);

struct Figure {
  double value;        // SI units; the unit stands in the figure's rule
  std::string from;    // data_sheet, published, calibrated, derived or assumed
  std::string source;  // the text, never a key of the file's "sources"
};

// The clock at which the maker states a peak, where it is not the maximum boost clock.
struct PeakClock {
  double hertz;
  std::string why;
};

// An upper bound of the device by its data.
struct Roof {
  std::string name;
  std::string unit;  // B/s, FLOP/s or, of integers, OP/s
  double value;
  std::string provenance;  // a Figure's `from`: of the figures that enter, the one trusted least
  std::string source;
};

class DeviceSpec {
 public:
  // Reads a device file. UsageError: one line that names the file, the figure and what is wrong
  // with it.
  static DeviceSpec load(const std::string& path);

  // The same for text in memory; `origin` is what error lines call it.
  static DeviceSpec parse(std::string_view json, const std::string& origin);

  const std::string& name() const { return name_; }
  const std::string& title() const { return title_; }
  // By value from a temporary, whose members would not outlive a range-for over them.
  const std::vector<std::string>& matches() const& { return matches_; }
  std::vector<std::string> matches() && { return std::move(matches_); }
  // "gpu": the model can run it; "roof": roofs only.
  const std::string& kind() const { return kind_; }
  // (0, 0) on a device of kind "roof" that has none.
  std::pair<int, int> compute_capability() const { return compute_capability_; }

  // UsageError, naming device and figure, when this device has no such figure.
  double operator[](std::string_view figure) const;
  // Nothing when this device has no such figure; std::logic_error when no device could have it.
  std::optional<double> find(std::string_view figure) const;
  // By name.
  const std::map<std::string, Figure>& figures() const& { return figures_; }
  std::map<std::string, Figure> figures() && { return std::move(figures_); }

  // The figures NAME_flops_per_second that are stated at another clock than `sm_clock_hz`.
  const std::map<std::string, PeakClock>& peak_clocks() const& { return peak_clocks_; }

  // In the order of roof_names(). Roofs whose figures this device lacks are left out. On a device
  // of kind "gpu" they are figures a clock and SM, times sm_count, times sm_clock_hz, and the data
  // sheet may state a lower peak: the H100's has its Tensor Core peaks at 1.83 GHz, below the
  // maximum boost that `sm_clock_hz` is. On a device of kind "roof" they are what the maker states.
  std::vector<Roof> data_sheet_roofs() const;

  // What device memory reaches of its data sheet at best, reading, writing or both [B/s]; nothing
  // of a device without such a figure.
  std::optional<Roof> reachable_dram() const;

 private:
  std::optional<Roof> product(const std::string& name,
                              std::initializer_list<std::string_view> factors) const;

  std::string name_;
  std::string title_;
  std::string kind_;
  std::vector<std::string> matches_;
  std::pair<int, int> compute_capability_{0, 0};
  std::map<std::string, Figure> figures_;
  std::map<std::string, PeakClock> peak_clocks_;
};

// The device as the text of a device file, which load() reads as the same device.
std::string device_file_text(const DeviceSpec& device);

// Whether it differs from the device file that ships under its name, or none does.
bool is_own_device(const DeviceSpec& device);

// The names of the device files that ship with the program, sorted.
std::vector<std::string> known_devices();
// Those that the model can run.
std::vector<std::string> modelled_devices();

// A known device by its name, or the device file at a path. UsageError when neither: lists
// those that the model can run, closest first.
DeviceSpec device_spec(const std::string& name_or_path);

// The known device that describes the GPU of this cudaDeviceProp::name: one of its "matches" equal
// to it, else the longest one that it starts with (whole words: "NVIDIA H200" is no start of
// "NVIDIA H2000").
std::optional<DeviceSpec> device_spec_for_gpu(const std::string& cuda_name);

}  // namespace gpubench
