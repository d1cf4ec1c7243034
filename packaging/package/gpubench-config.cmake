# find_package(gpubench): gpubench_add_program(), for concepts of one's own (docs/own-kernels.md).
include(CMakeFindDependencyMacro)
include(${CMAKE_CURRENT_LIST_DIR}/gpubench-suite.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/concepts.cmake)
find_dependency(Threads)
foreach(library IN LISTS GPUBENCH_FINDS)
  find_dependency(${library})
endforeach()
find_package(MPI QUIET COMPONENTS CXX) # needed if gpubench was built with it: the targets say so
if(EXISTS ${CMAKE_CURRENT_LIST_DIR}/../../../bin/gpubench-cuda)
  gpubench_provide_nvtoolsext()
  find_dependency(CUDAToolkit)
endif()

if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU" OR CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12)
  set(gpubench_FOUND FALSE)
  set(gpubench_NOT_FOUND_MESSAGE "the emulator needs g++ 12 or newer (set CXX=g++)")
  return()
endif()

include(${CMAKE_CURRENT_LIST_DIR}/gpubench-targets.cmake)
cmake_path(SET GPUBENCH_HEADERS NORMALIZE ${CMAKE_CURRENT_LIST_DIR}/../../../include/gpubench)
set(GPUBENCH_PACKAGE ${CMAKE_CURRENT_LIST_DIR})

# gpubench_add_program(NAME FOLDER...): a gpubench that has the suite's concepts and those of the
# folders. Targets NAME-model and, if the project has the language CUDA and gpubench was built with
# it, NAME-cuda; NAME beside them starts the one that fits the machine.
function(gpubench_add_program name)
  gpubench_find_concepts(GPUBENCH_PROGRAM_FILES ${ARGN})
  set(GPUBENCH_PROGRAM ${name})
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
  # A folder each: a file is C++ for one half and CUDA for the other.
  add_subdirectory(${GPUBENCH_PACKAGE}/model ${CMAKE_CURRENT_BINARY_DIR}/${name}-halves/model)
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  set(halves ${name}-model)
  if(CUDA IN_LIST languages AND TARGET gpubench_cuda_harness)
    add_subdirectory(${GPUBENCH_PACKAGE}/cuda ${CMAKE_CURRENT_BINARY_DIR}/${name}-halves/cuda)
    list(APPEND halves ${name}-cuda)
  elseif(CUDA IN_LIST languages)
    message(STATUS "${name}: this gpubench was built without nvcc: model devices only")
  endif()
  add_custom_target(${name} ALL DEPENDS ${halves}
    COMMAND ${CMAKE_COMMAND} -E copy_if_different $<TARGET_FILE:gpubench>
      ${CMAKE_CURRENT_BINARY_DIR}/${name} VERBATIM)
endfunction()
