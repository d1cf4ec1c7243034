#include "harness/program/roofs.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>

#include "harness/program/grades.hpp"

namespace gpubench {
namespace {

// A roof's value by name: measured before data sheet.
Roofs best_roofs(const std::vector<StatedRoof>& stated) {
  Roofs roofs;
  for (const StatedRoof& roof : stated) roofs.emplace(roof.name, roof.value);  // measured first
  return roofs;
}

void judge_by_law(Row& row, const Roofs& roofs) {
  if (!row.law) return;
  try {
    const double law = row.law(roofs);
    if (!(law > 0) || std::isinf(law)) {
      const std::string note = "its law is " + std::to_string(law) + ": it is judged without one";
      // Judged as soon as it is measured, and again when all roofs are known.
      if (std::ranges::find(row.notes, note) == row.notes.end()) row.notes.push_back(note);
      return;
    }
    row.counters["law"] = law;
    row.counters["law_ratio"] = row.headline_value() / law;
    row.counters["law_tolerance"] = row.law_tolerance;
  } catch (const std::out_of_range&) {  // a roof that nobody knows on this device
  }
}

void judge_by_roof(Row& row, const std::vector<StatedRoof>& stated) {
  const std::string& name = row.roof.empty() ? row.bound : row.roof;
  const auto roof = std::ranges::find(stated, name, &StatedRoof::name);  // measured first
  if (roof == stated.end()) return;
  row.grade_roof = name;
  // Arithmetic, or the bytes through the one memory that they were counted at.
  const bool bandwidth = roof->is_bandwidth();
  const auto amount = row.counter(bandwidth ? "moved_bytes_per_second" : "flops_per_second");
  if (amount && (!bandwidth || name == row.moved_through)) {
    row.counters["roof_fraction"] = *amount / roof->value;
  }
}

}  // namespace

std::vector<StatedRoof> state_roofs(const std::vector<Row>& rows, const Platform& platform) {
  std::vector<StatedRoof> stated;
  for (const Row& row : rows) {
    if (row.outcome != Outcome::measured || row.measures.empty()) continue;
    const StatedRoof roof{row.measures, row.headline.unit, row.headline_value(),
                          platform.kind() == DeviceKind::model ? "modelled" : "measured", row.name};
    const auto same = std::ranges::find(stated, roof.name, &StatedRoof::name);
    if (same == stated.end()) {
      stated.push_back(roof);
    } else if (same->value < roof.value) {
      *same = roof;
    }
  }
  const DeviceSpec& device = platform.device();
  const auto state = [&](const Roof& roof) {
    stated.push_back({roof.name, roof.unit, roof.value, roof.provenance, roof.source});
  };
  // No pattern allows what the data sheet says of device memory: without a row that measures it,
  // laws stand on what is known to be reached.
  if (std::ranges::find(stated, "dram", &StatedRoof::name) == stated.end()) {
    if (const auto dram = device.reachable_dram()) state(*dram);
  }
  for (const Roof& roof : device.data_sheet_roofs()) state(roof);
  return stated;
}

void judge_rows(std::vector<Row>& rows, const std::vector<StatedRoof>& stated, DeviceKind kind) {
  const Roofs roofs = best_roofs(stated);
  for (Row& row : rows) {
    if (row.outcome != Outcome::measured) continue;
    judge_by_law(row, roofs);
    judge_by_roof(row, stated);
    row.graded = grade_of(row, stated, kind);
  }
}

Row judged_so_far(Row row, const std::vector<Row>& before, const Platform& platform) {
  std::vector<Row> measuring;
  std::ranges::copy_if(before, std::back_inserter(measuring),
                       [](const Row& other) { return !other.measures.empty(); });
  measuring.push_back(row);
  std::vector<Row> one{std::move(row)};
  judge_rows(one, state_roofs(measuring, platform), platform.kind());
  return std::move(one.front());
}

}  // namespace gpubench
