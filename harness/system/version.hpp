// What this program was built from; written at every build (harness/system/version.cmake).
#pragma once

namespace gpubench::version {

extern const char* const number;
extern const char* const compiler;
extern const char* const flags;
extern const char* const commit;
extern const bool dirty;
extern const char* const origin;  // who built it: "a build from source", "the release archive"

}  // namespace gpubench::version
