// A row as JSON, whole: what the journal keeps. (A result file says less, and in another form.)
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "harness/records/row.hpp"

namespace gpubench {

// All of it but the law, which is a function.
nlohmann::ordered_json whole_row_json(const Row& row);
// The same row. nlohmann::json::exception, std::exception: it is none.
Row row_of_json(const nlohmann::ordered_json& json);

}  // namespace gpubench
