// What each concept asks, as the head of its bench file says it.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>

namespace gpubench {

// The questions of a program's concepts, by name: they are there as long as the program runs, as
// its benchmarks are.
struct ConceptQuestions {
  ConceptQuestions(std::initializer_list<std::pair<const char*, const char*>> questions);
};

// "coalescing" -> "what does a warp pay for touching scattered words?"; "" of what is no concept.
std::string concept_question(const std::string& concept_name);

}  // namespace gpubench
