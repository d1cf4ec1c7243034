#pragma once

#include <string>

namespace gpubench {

// As a shell takes it for one word: quoted where it has to be, and so that a terminal only shows
// it.
std::string shell_word(const std::string& word);

}  // namespace gpubench
