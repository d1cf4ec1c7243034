# How programs of concepts are built: ours, and those of a project of one's own (docs/own-kernels.md).
# A concept is a pair, bench/NAME.cu and kernels/NAME.cuh, in one folder.

set(GPUBENCH_CONCEPTS_SCRIPT ${CMAKE_CURRENT_LIST_DIR}/records/concepts.cmake)

# gpubench_find_concepts(RESULT FOLDER...): the folders' bench files. A folder without any, a bench
# file without its kernels and a name that there is twice are mistakes worth stopping for.
function(gpubench_find_concepts result)
  set(files "")
  foreach(folder IN LISTS ARGN)
    get_filename_component(folder ${folder} ABSOLUTE BASE_DIR ${CMAKE_SOURCE_DIR})
    file(GLOB found CONFIGURE_DEPENDS ${folder}/bench/*.cu)
    if(NOT found)
      message(FATAL_ERROR "${folder} holds no concept: there is no bench/NAME.cu in it")
    endif()
    foreach(file IN LISTS found)
      get_filename_component(concept ${file} NAME_WE)
      if(NOT EXISTS ${folder}/kernels/${concept}.cuh)
        message(FATAL_ERROR "${folder}/bench/${concept}.cu has no kernels/${concept}.cuh")
      endif()
      foreach(other IN LISTS files GPUBENCH_SUITE_BENCH_FILES)
        get_filename_component(known ${other} NAME_WE)
        if(known STREQUAL concept)
          message(FATAL_ERROR "${file}: there is a concept of this name: ${other}")
        endif()
      endforeach()
      list(APPEND files ${file})
    endforeach()
  endforeach()
  set(${result} ${files} PARENT_SCOPE)
endfunction()

# What all objects of concepts have: the folders that they include from, and the questions that stand
# in the first line of each bench file and nowhere else.
function(gpubench_add_questions target)
  set(questions ${CMAKE_CURRENT_BINARY_DIR}/${target}_questions.cpp)
  add_custom_command(OUTPUT ${questions}
    COMMAND ${CMAKE_COMMAND} "-DBENCH_FILES=${ARGN}" -DOUTPUT=${questions}
      -P ${GPUBENCH_CONCEPTS_SCRIPT}
    DEPENDS ${ARGN} ${GPUBENCH_CONCEPTS_SCRIPT}
    COMMENT "Reading the questions of the concepts" VERBATIM)
  target_sources(${target} PRIVATE ${questions})
  # It holds no kernel, and needs no more than a string.
  set_source_files_properties(${questions} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
  foreach(file IN LISTS ARGN)
    cmake_path(GET file PARENT_PATH folder)
    cmake_path(GET folder PARENT_PATH folder)
    target_include_directories(${target} PRIVATE ${folder})
  endforeach()
endfunction()

# gpubench_model_concepts(TARGET BENCH_FILE...): their objects for the model device. Here, and only
# here, CUDA files are C++.
function(gpubench_model_concepts target)
  add_library(${target} OBJECT ${ARGN})
  set_source_files_properties(${ARGN} PROPERTIES LANGUAGE CXX)
  target_link_libraries(${target} PUBLIC gpubench_model
    PRIVATE gpubench_instrumented gpubench_warnings)
  # What a kernel compiles to must not depend on its neighbours.
  set_target_properties(${target} PROPERTIES UNITY_BUILD OFF)
  gpubench_add_questions(${target} ${ARGN})
  target_precompile_headers(${target} PRIVATE ${GPUBENCH_HEADERS}/harness/bench/bench.hpp)
  # The suite's own kernels are compared with nvcc's (harness/platform/model/audit); others are checked.
  foreach(file IN LISTS ARGN)
    cmake_path(GET file PARENT_PATH folder)
    if(NOT folder STREQUAL "${GPUBENCH_HEADERS}/bench")
      set_property(SOURCE ${file} APPEND PROPERTY COMPILE_OPTIONS
        $<TARGET_PROPERTY:gpubench_checked_kernels,INTERFACE_COMPILE_OPTIONS>)
    endif()
  endforeach()
endfunction()

# gpubench_units(RESULT TARGET BENCH_FILE...): a few files that include all of these, since nvcc reads
# the headers three times a file. CMake has no unity builds of CUDA before 3.31, and bench files use
# each other's names: here each has a namespace of its own, behind what any of them includes.
# Concepts with dynamic shared memory have units of their own: ptxas aligns all static shared memory
# of a unit as it does that.
function(gpubench_units result target)
  set(units_of_static 4)
  set(units_of_dynamic 2)
  set(units "")
  foreach(file IN LISTS ARGN)
    cmake_path(GET file STEM concept)
    cmake_path(GET file PARENT_PATH folder)
    file(GLOB kernels ${folder}/../kernels/${concept}.cuh ${folder}/../kernels/${concept}/*.cuh)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file} ${kernels})
    set(kind static)
    foreach(header IN LISTS kernels)
      file(STRINGS ${header} found REGEX "dynamic_shared\\(\\)")
      if(found)
        set(kind dynamic)
      endif()
    endforeach()
    list(APPEND concepts_of_${kind} ${concept})
    list(LENGTH concepts_of_${kind} number)
    math(EXPR number "${number} % ${units_of_${kind}}")
    set(unit ${CMAKE_CURRENT_BINARY_DIR}/${target}_${kind}_${number}.cu)
    list(APPEND units ${unit})
    file(STRINGS ${file} headers REGEX "^#include")
    list(JOIN headers "\n" headers)
    string(APPEND headers_of_${unit} "${headers}\n")
    string(APPEND parts_of_${unit} "namespace of_${concept} {\n#include \"${file}\"\n}\n")
  endforeach()
  list(REMOVE_DUPLICATES units)
  foreach(unit IN LISTS units)
    file(CONFIGURE OUTPUT ${unit} CONTENT "${headers_of_${unit}}${parts_of_${unit}}" @ONLY)
  endforeach()
  set(${result} ${units} PARENT_SCOPE)
endfunction()

# gpubench_cuda_concepts(TARGET BENCH_FILE...): their objects for GPUs.
function(gpubench_cuda_concepts target)
  set(files ${ARGN})
  if(CMAKE_UNITY_BUILD)
    gpubench_units(files ${target} ${ARGN})
  endif()
  add_library(${target} OBJECT ${files})
  target_link_libraries(${target} PUBLIC gpubench_cuda_harness PRIVATE gpubench_warnings)
  set_target_properties(${target} PROPERTIES UNITY_BUILD OFF)
  gpubench_add_questions(${target} ${ARGN})
endfunction()

# Before CUDAToolkit is looked for: CMake 3.25 (Debian 12) wants to mark this library as deprecated,
# and stops because CUDA 13 has it no more.
function(gpubench_provide_nvtoolsext)
  if(CMAKE_VERSION VERSION_LESS 3.26 AND NOT TARGET CUDA::nvToolsExt)
    add_library(CUDA::nvToolsExt INTERFACE IMPORTED)
  endif()
endfunction()
