# Writes OUTPUT, which says what was built from which commit; touches it only when that changed.
# In an archive that `git archive` made, git has written the commit here (.gitattributes).
set(commit "$Format:%H$")
set(changes "")
if(commit MATCHES Format)
  execute_process(COMMAND git -C ${SOURCE} rev-parse HEAD OUTPUT_VARIABLE commit
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  execute_process(COMMAND git -C ${SOURCE} status --porcelain OUTPUT_VARIABLE changes
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(commit STREQUAL "")
  set(commit "unknown")
endif()
set(dirty false)
if(NOT changes STREQUAL "")
  set(dirty true)
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT [[
#include "harness/system/version.hpp"

namespace gpubench::version {
const char* const number = "@NUMBER@";
const char* const compiler = "@COMPILER@";
const char* const flags = "@FLAGS@";
const char* const commit = "@commit@";
const bool dirty = @dirty@;
const char* const origin = "@ORIGIN@";
}  // namespace gpubench::version
]] @ONLY)
