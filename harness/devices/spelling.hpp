// Words of error lines: in quotes, in a list, and what a mistyped one may have meant.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace gpubench {

std::string in_quotes(std::string_view text);
std::string joined(const std::vector<std::string>& parts);  // "a, b, c"

// Insertions, deletions and replacements that turn one word into the other (Levenshtein).
std::size_t edit_distance(std::string_view a, std::string_view b);
// "; did you mean X?" with the closest of the names, or "" where none is close.
std::string did_you_mean(std::string_view wanted, const std::vector<std::string>& names);
std::vector<std::string> closest_first(std::vector<std::string> names, std::string_view wanted);

}  // namespace gpubench
