# `cmake --install build`: the programs, and the package that `find_package(gpubench)` finds: what a
# project of one's own concepts is linked with (docs/own-kernels.md).
if(benchmark_BUNDLED OR nlohmann_json_BUNDLED)
  message(STATUS "nothing to install: a package cannot name the libraries of .offline/")
  return()
endif()
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME gpubench)
set(package lib/cmake/gpubench)

set(installed gpubench gpubench-model gpubench_warnings gpubench_devices gpubench_core
  gpubench_version gpubench_instrumented gpubench_model gpubench_model_harness gpubench_model_main
  gpubench_model_kernels)
if(TARGET gpubench-cuda)
  list(APPEND installed gpubench-cuda gpubench_cuda_harness gpubench_cuda_kernels)
endif()
install(TARGETS ${installed} EXPORT gpubench
  RUNTIME DESTINATION bin ARCHIVE DESTINATION lib/gpubench OBJECTS DESTINATION lib/gpubench)
install(EXPORT gpubench DESTINATION ${package} FILE gpubench-targets.cmake)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/harness ${PROJECT_SOURCE_DIR}/kernels
  DESTINATION ${GPUBENCH_INSTALLED_HEADERS}
  FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h" PATTERN "*.cuh")
install(FILES ${PROJECT_SOURCE_DIR}/harness/concepts.cmake
  ${CMAKE_CURRENT_LIST_DIR}/package/gpubench-config.cmake DESTINATION ${package})
install(FILES ${PROJECT_SOURCE_DIR}/harness/records/concepts.cmake DESTINATION ${package}/records)
install(DIRECTORY ${CMAKE_CURRENT_LIST_DIR}/package/model ${CMAKE_CURRENT_LIST_DIR}/package/cuda
  DESTINATION ${package})

include(CMakePackageConfigHelpers)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/generated/gpubench-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/generated/gpubench-config-version.cmake DESTINATION ${package})
# The names that a project's own concepts cannot take.
set(names "")
foreach(file IN LISTS GPUBENCH_BENCH_FILES)
  cmake_path(GET file FILENAME name)
  list(APPEND names ${name})
endforeach()
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/gpubench-suite.cmake
  CONTENT "set(GPUBENCH_SUITE_BENCH_FILES \"${names}\")\n")
install(FILES ${PROJECT_BINARY_DIR}/generated/gpubench-suite.cmake DESTINATION ${package})
