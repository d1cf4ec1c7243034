#include "harness/records/concepts.hpp"

#include <map>

namespace gpubench {
namespace {

std::map<std::string, std::string>& by_concept() {
  static std::map<std::string, std::string> questions;
  return questions;
}

}  // namespace

ConceptQuestions::ConceptQuestions(
    std::initializer_list<std::pair<const char*, const char*>> questions) {
  by_concept().insert(questions.begin(), questions.end());
}

std::string concept_question(const std::string& concept_name) {
  const auto found = by_concept().find(concept_name);
  return found == by_concept().end() ? "" : found->second;
}

}  // namespace gpubench
