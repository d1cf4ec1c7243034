// The roofs of a run: what its own rows reached, and what the device file says.
#pragma once

#include <string>
#include <vector>

#include "harness/platform/platform.hpp"
#include "harness/records/row.hpp"

namespace gpubench {

// A roof as a result file states it.
struct StatedRoof {
  std::string name;
  std::string unit;  // B/s, FLOP/s or OP/s
  double value = 0;
  std::string provenance;
  std::string source;

  bool is_bandwidth() const { return unit == bytes_unit; }
  // Whether a row of this run found it.
  bool is_of_this_run() const { return provenance == "measured" || provenance == "modelled"; }
};

// The best that this run's rows measured (or modelled), and the data sheet's. Where no row measured
// device memory, also what the device file knows it to reach.
std::vector<StatedRoof> state_roofs(const std::vector<Row>& rows, const Platform& platform);
// Adds law, law_ratio, roof_fraction, the roof that this is a fraction of, and the grade, which
// need the whole run's roofs.
void judge_rows(std::vector<Row>& rows, const std::vector<StatedRoof>& roofs, DeviceKind kind);
// The row as it stands now, by the roofs that the rows before it found.
Row judged_so_far(Row row, const std::vector<Row>& before, const Platform& platform);

}  // namespace gpubench
