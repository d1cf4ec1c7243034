# Writes OUTPUT, the limits of grades that the rules of the reports hold: VERDICTS is verdicts.toml,
# MODEL_ERROR is model_error.toml. Run at build time, so that an edit of the rules is enough.
function(number_of file key out)
  file(STRINGS ${file} found REGEX "^${key} *= *[0-9.]+")
  if(NOT found MATCHES "^${key} *= *([0-9.]+)[^;]*$")
    message(FATAL_ERROR "${file} must have one line `${key} = NUMBER`")
  endif()
  set(${out} ${CMAKE_MATCH_1} PARENT_SCOPE)
endfunction()

foreach(limit law roof_low roof_high)
  number_of(${VERDICTS} ${limit} ${limit})
endforeach()
number_of(${MODEL_ERROR} other other)

file(STRINGS ${MODEL_ERROR} lines REGEX "^[a-z_]+ *= *[0-9.]+")
set(sigmas "")
foreach(line IN LISTS lines)
  string(REGEX REPLACE "^([a-z_]+) *= *([0-9.]+).*" "{\"\\1\", \\2}" entry "${line}")
  if(NOT line MATCHES "^(schema|other) ")
    string(APPEND sigmas "      ${entry},\n")
  endif()
endforeach()

file(WRITE ${OUTPUT}.new "// Written by harness/records/grading.cmake.
#include \"harness/records/grading_limits.hpp\"

namespace gpubench {

const GradingLimits& grading_limits() {
  static const GradingLimits limits{${law}, ${roof_low}, ${roof_high}, ${other}, {
${sigmas}  }};
  return limits;
}

}  // namespace gpubench
")
file(COPY_FILE ${OUTPUT}.new ${OUTPUT} ONLY_IF_DIFFERENT)
