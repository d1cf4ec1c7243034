// The table of figures, and where a figure may come from: for the files that read devices.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "harness/devices/device.hpp"

namespace gpubench {

// nullptr: no device has a figure of this name.
const FigureRule* find_rule(std::string_view figure);
// The name in the table that is spelled most like it.
std::string closest_figure(std::string_view wanted);

// The places that a figure may come from, the most trustworthy first.
std::span<const std::string_view> provenances();

}  // namespace gpubench
