// What happened when, for ui.perfetto.dev, chrome://tracing and the reports.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "harness/records/row.hpp"

namespace gpubench {

// The traces of `rows` in Chrome's trace event format: a process a row, a thread a track; `ts` and
// `dur` are in microseconds, as the format has them. Where operations of a track overlap, which a
// thread cannot show, the track has as many threads as it needs ("compute 2"). `otherData` holds
// the `context` of the result file and the names of the rows that are worth a picture (`shown`).
nlohmann::ordered_json trace_json(const std::vector<Row>& rows,
                                  const nlohmann::ordered_json& context);

}  // namespace gpubench
