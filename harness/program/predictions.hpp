// On a GPU: what the model says of the same rows.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "harness/platform/platform.hpp"
#include "harness/program/options.hpp"
#include "harness/records/row.hpp"

namespace gpubench {

// The model's answer by row name. Empty when the model cannot run this device.
std::map<std::string, nlohmann::ordered_json> predictions(const Options& options,
                                                          const Platform& platform);
void take_prediction(Row& row, const nlohmann::ordered_json& prediction);

}  // namespace gpubench
