# Writes OUTPUT, the questions of all bench files: the first line of each is `// NAME: question?`.
# Run at build time with BENCH_FILES, so that an edit of a head needs no new configure.
set(entries "")
foreach(file IN LISTS BENCH_FILES)
  get_filename_component(name ${file} NAME_WE)
  file(STRINGS ${file} head LIMIT_COUNT 1)
  if(NOT head MATCHES "^// ${name}: (.+[?])$")
    message(FATAL_ERROR "${file}:1 must be the question of the concept: // ${name}: ...?")
  endif()
  string(APPEND entries "    {R\"(${name})\", R\"(${CMAKE_MATCH_1})\"},\n")
endforeach()
file(WRITE ${OUTPUT}.new "// Written by harness/records/concepts.cmake.
#include \"harness/records/concepts.hpp\"

namespace gpubench {
namespace {

const ConceptQuestions added{
${entries}};

}  // namespace
}  // namespace gpubench
")
file(COPY_FILE ${OUTPUT}.new ${OUTPUT} ONLY_IF_DIFFERENT)
