# Writes OUTPUT, the limits of grades that TABLE (verdicts.toml of the reports) holds. Run at build time,
# so that an edit of the rules is enough.
foreach(limit law roof_low roof_high)
  file(STRINGS ${TABLE} found REGEX "^${limit} *= *[0-9.]+")
  if(NOT found MATCHES "^${limit} *= *([0-9.]+)[^;]*$")
    message(FATAL_ERROR "${TABLE} must have one line `${limit} = NUMBER`")
  endif()
  set(${limit} ${CMAKE_MATCH_1})
endforeach()

file(WRITE ${OUTPUT}.new "// Written by harness/records/grading.cmake.
#include \"harness/records/grading_limits.hpp\"

namespace gpubench {

const GradingLimits& grading_limits() {
  static constexpr GradingLimits limits{${law}, ${roof_low}, ${roof_high}};
  return limits;
}

}  // namespace gpubench
")
file(COPY_FILE ${OUTPUT}.new ${OUTPUT} ONLY_IF_DIFFERENT)
