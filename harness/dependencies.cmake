# The libraries that gpubench stands on: the machine's own, else the sources that
# scripts/bundle-offline brought. Which one it is, is said. A portable build takes the sources: the
# distribution's Google Benchmark is a shared library, which other machines may not have.
set(GPUBENCH_OFFLINE ${PROJECT_SOURCE_DIR}/.offline)

# gpubench_find(PACKAGE DEBIAN): find_package(PACKAGE); sets PACKAGE_BUNDLED to the folder of
# .offline/ that has to serve instead, or to nothing.
macro(gpubench_find package debian)
  set(${package}_FOUND FALSE)
  if(NOT GPUBENCH_PORTABLE)
    find_package(${package} QUIET)
  endif()
  set(${package}_BUNDLED "")
  if(${package}_FOUND)
    message(STATUS "${package} ${${package}_VERSION}: the system's")
  elseif(EXISTS ${GPUBENCH_OFFLINE}/${package}/VERSION)
    set(${package}_BUNDLED ${GPUBENCH_OFFLINE}/${package})
    file(STRINGS ${${package}_BUNDLED}/VERSION ${package}_VERSION)
    message(STATUS "${package} ${${package}_VERSION}: .offline/${package}")
  elseif(GPUBENCH_PORTABLE)
    message(FATAL_ERROR "GPUBENCH_PORTABLE=ON takes the sources of ${package} from .offline/: run "
      "scripts/bundle-offline on a machine with a network")
  else()
    message(FATAL_ERROR "${package} was not found: install it (Debian: ${debian}), or bring "
      "it in .offline/, which scripts/bundle-offline makes on a machine with a network")
  endif()
endmacro()

gpubench_find(benchmark libbenchmark-dev)
if(benchmark_BUNDLED)
  set(BENCHMARK_ENABLE_TESTING OFF)
  set(BENCHMARK_ENABLE_INSTALL OFF)
  set(BENCHMARK_ENABLE_WERROR OFF)
  set(CMAKE_POLICY_DEFAULT_CMP0077 NEW) # its options are the variables above
  add_subdirectory(${benchmark_BUNDLED} ${PROJECT_BINARY_DIR}/offline/benchmark
    EXCLUDE_FROM_ALL SYSTEM)
endif()

gpubench_find(nlohmann_json nlohmann-json3-dev)
if(nlohmann_json_BUNDLED) # headers only
  add_library(nlohmann_json INTERFACE)
  target_include_directories(nlohmann_json SYSTEM INTERFACE
    $<BUILD_INTERFACE:${nlohmann_json_BUNDLED}/include>)
  add_library(nlohmann_json::nlohmann_json ALIAS nlohmann_json)
endif()

if(GPUBENCH_TESTS)
  gpubench_find(GTest libgtest-dev)
  if(GTest_BUNDLED)
    set(INSTALL_GTEST OFF)
    set(CMAKE_POLICY_DEFAULT_CMP0077 NEW)
    add_subdirectory(${GTest_BUNDLED} ${PROJECT_BINARY_DIR}/offline/GTest
      EXCLUDE_FROM_ALL SYSTEM)
    foreach(part gtest gtest_main gmock)
      if(NOT TARGET GTest::${part})
        add_library(GTest::${part} ALIAS ${part})
      endif()
    endforeach()
  endif()
endif()
