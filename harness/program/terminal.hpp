// What standard output is: how wide, and whether it shows colours.
#pragma once

#include <cstddef>

namespace gpubench {

enum class Colour { automatic, always, never };

// Characters in a line: COLUMNS, or the terminal's width; 0 where lines may be of any length.
std::size_t line_width();
// automatic: on a terminal, unless NO_COLOR is set.
bool shows_colours(Colour wanted);

}  // namespace gpubench
