// What each concept asks, as the head of its bench file says it.
#pragma once

#include <string>

namespace gpubench {

// "coalescing" -> "what does a warp pay for touching scattered words?"; "" of what is no concept.
std::string concept_question(const std::string& concept_name);

}  // namespace gpubench
