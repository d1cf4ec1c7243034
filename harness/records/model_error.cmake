# Writes OUTPUT, how far off the model's times are by class of rows: the table of TABLE
# (model_error.toml of the reports), lines of `class = sigma`.
set(entries "")
file(STRINGS ${TABLE} lines REGEX "^[a-z_\"/]+ = [0-9.]+$")
foreach(line IN LISTS lines)
  string(REGEX MATCH "^\"?([a-z_/]+)\"? = ([0-9.]+)$" unused "${line}")
  string(APPEND entries "    {\"${CMAKE_MATCH_1}\", ${CMAKE_MATCH_2}},\n")
endforeach()
if(entries STREQUAL "")
  message(FATAL_ERROR "${TABLE} has no line of the form: class = sigma")
endif()
file(WRITE ${OUTPUT}.new "// Written by harness/records/model_error.cmake.
#include \"harness/records/model_error.hpp\"

#include <map>

namespace gpubench {
namespace {

const std::map<std::string, double>& sigmas() {
  static const std::map<std::string, double> table = {
${entries}  };
  return table;
}

}  // namespace

double model_sigma(const std::string& topic, const std::string& kernel) {
  for (const std::string& name : {topic + '/' + kernel, topic}) {
    if (const auto found = sigmas().find(name); found != sigmas().end()) return found->second;
  }
  return sigmas().at(\"other\");
}

bool has_model_sigma(const std::string& topic) { return sigmas().contains(topic); }

}  // namespace gpubench
")
file(COPY_FILE ${OUTPUT}.new ${OUTPUT} ONLY_IF_DIFFERENT)
