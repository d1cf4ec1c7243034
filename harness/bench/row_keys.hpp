// Keys under which bench files may not note anything: the program itself writes them.
#pragma once

#include <string>
#include <string_view>

namespace gpubench {

bool is_key_of_every_row(std::string_view key);
// Throws a std::logic_error that says what is wrong with a bench file's own key.
void check_own_key(const std::string& key);

}  // namespace gpubench
