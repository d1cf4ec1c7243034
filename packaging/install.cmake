# `cmake --install build`: the programs, what people read beside them (kernels, device files, labs,
# pages), and the package that `find_package(gpubench)` finds: what a project of one's own concepts
# is linked with (docs/own-kernels.md). Programs find their files by where they lie
# (harness/system/own_files.cpp): a prefix can be moved.
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME gpubench)
set(package lib/cmake/gpubench)
set(share share/gpubench)
set(pages share/doc/gpubench)

set(installed gpubench gpubench-model gpubench_warnings gpubench_devices gpubench_core
  gpubench_version gpubench_instrumented gpubench_checked_kernels gpubench_model
  gpubench_model_harness gpubench_model_main gpubench_model_kernels)
if(TARGET gpubench-cuda)
  list(APPEND installed gpubench-cuda gpubench_cuda_harness gpubench_cuda_kernels)
endif()
install(TARGETS ${installed} EXPORT gpubench
  RUNTIME DESTINATION bin ARCHIVE DESTINATION lib/gpubench OBJECTS DESTINATION lib/gpubench)

# The libraries of .offline/ are nowhere else: they come along, with their headers and licences.
set(third_party ${GPUBENCH_INSTALLED_HEADERS}/third-party)
set(GPUBENCH_FINDS "") # what a project has to find by itself
foreach(library benchmark nlohmann_json)
  if(${library}_BUNDLED)
    install(TARGETS ${library} EXPORT gpubench
      ARCHIVE DESTINATION lib/gpubench INCLUDES DESTINATION ${third_party})
    install(DIRECTORY ${${library}_BUNDLED}/include/ DESTINATION ${third_party})
    file(GLOB licence ${${library}_BUNDLED}/LICENSE*)
    install(FILES ${licence} DESTINATION ${pages}/licences/${library})
  else()
    list(APPEND GPUBENCH_FINDS ${library})
  endif()
endforeach()
install(EXPORT gpubench DESTINATION ${package} FILE gpubench-targets.cmake)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/harness ${PROJECT_SOURCE_DIR}/kernels
  DESTINATION ${GPUBENCH_INSTALLED_HEADERS}
  FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h" PATTERN "*.cuh")
install(FILES ${PROJECT_SOURCE_DIR}/harness/concepts.cmake
  ${CMAKE_CURRENT_LIST_DIR}/package/gpubench-config.cmake DESTINATION ${package})
install(FILES ${PROJECT_SOURCE_DIR}/harness/records/concepts.cmake DESTINATION ${package}/records)
install(DIRECTORY ${CMAKE_CURRENT_LIST_DIR}/package/model ${CMAKE_CURRENT_LIST_DIR}/package/cuda
  DESTINATION ${package})

install(DIRECTORY ${PROJECT_SOURCE_DIR}/harness/devices DESTINATION ${share}
  FILES_MATCHING PATTERN "*.json")
install(DIRECTORY ${CMAKE_CURRENT_LIST_DIR}/course DESTINATION ${share} USE_SOURCE_PERMISSIONS)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/labs DESTINATION ${share}/course
  PATTERN __pycache__ EXCLUDE PATTERN notebook.ipynb EXCLUDE)
# What the labs' pages link to, and the pictures of their notebooks.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/bench DESTINATION ${share}/course)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/concepts DESTINATION ${share}/course/docs)
install(FILES ${PROJECT_SOURCE_DIR}/docs/instructors.md DESTINATION ${share}/course/docs)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/reports/gallery DESTINATION ${share}/course/reports
  FILES_MATCHING PATTERN "*.png")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md
  ${PROJECT_SOURCE_DIR}/CHANGELOG.md DESTINATION ${pages})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs DESTINATION ${pages})

include(CMakePackageConfigHelpers)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/generated/gpubench-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/generated/gpubench-config-version.cmake DESTINATION ${package})
# The names that a project's own concepts cannot take, and the libraries that it finds by itself.
set(names "")
foreach(file IN LISTS GPUBENCH_BENCH_FILES)
  cmake_path(GET file FILENAME name)
  list(APPEND names ${name})
endforeach()
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/gpubench-suite.cmake
  CONTENT "set(GPUBENCH_SUITE_BENCH_FILES \"${names}\")\nset(GPUBENCH_FINDS \"${GPUBENCH_FINDS}\")\n")
install(FILES ${PROJECT_BINARY_DIR}/generated/gpubench-suite.cmake DESTINATION ${package})
