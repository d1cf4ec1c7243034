# Each folder labs/NN-name is a program of its own: the checker's rows, which do not change, and one
# small unit that includes the student's solution, so that only that is compiled again. What
# solutions include is compiled once, for all of them.
#
# gpubench_labs(SUFFIX LANGUAGE CXX|CUDA LIBRARIES of all, main() among them... UNIT_LIBRARIES of
# what holds kernels... [CHECK_HEADERS target whose precompiled headers check.cu has use for]): targets
# lab-NN<SUFFIX>, and lab-NN<SUFFIX>-prepared, which is all of it but the solution.
file(GLOB GPUBENCH_LABS CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/labs/[0-9][0-9]-*/check.cu)

function(gpubench_labs suffix)
  cmake_parse_arguments(PARSE_ARGV 1 lab "" "LANGUAGE;CHECK_HEADERS" "LIBRARIES;UNIT_LIBRARIES")
  # A checker reads what the compiler makes of a solution and has its accesses checked
  # (labs/checker/guarded.py). Here is what that reading wants plain: no exceptions, no jumps by
  # tables, no copies by string instructions, nothing below the stack pointer, no function in two
  # parts. Variables are initialised; frames.py clears those whose initialisation is
  # jumped over. And an aligned struct stays whole, so that to load one is one access, as nvcc makes it.
  set(plain)
  if(lab_LANGUAGE STREQUAL "CXX" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU"
     AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    set(plain -fno-exceptions -fno-jump-tables -mstringop-strategy=libcall -mno-red-zone
      -fomit-frame-pointer -fno-reorder-blocks-and-partition -fasynchronous-unwind-tables
      -fcf-protection=none -fno-stack-protector -ftrivial-auto-var-init=pattern
      -fno-tree-sra)
  endif()
  set(CMAKE_UNITY_BUILD OFF)  # the checker compiles one unit, by its name
  # A target has precompiled headers only where it has a source.
  set(empty ${CMAKE_CURRENT_BINARY_DIR}/lab_language${suffix}.cpp)
  file(CONFIGURE OUTPUT ${empty} CONTENT "// Nothing: the headers are what counts.\n")
  set_source_files_properties(${empty} PROPERTIES LANGUAGE ${lab_LANGUAGE})
  add_library(lab_language${suffix} OBJECT EXCLUDE_FROM_ALL ${empty})
  target_link_libraries(lab_language${suffix} PUBLIC ${lab_LIBRARIES}
    PRIVATE ${lab_UNIT_LIBRARIES} gpubench_warnings)
  target_compile_options(lab_language${suffix} PRIVATE ${plain})
  if(lab_LANGUAGE STREQUAL "CXX")  # nvcc has no precompiled headers
    target_precompile_headers(lab_language${suffix} PRIVATE <cuda_runtime.h> <cmath>
      <functions_of_values.h>)
  endif()
  foreach(check IN LISTS GPUBENCH_LABS)
    get_filename_component(folder ${check} DIRECTORY)
    get_filename_component(name ${folder} NAME)
    string(SUBSTRING ${name} 0 2 number)
    set_source_files_properties(${check} ${folder}/unit.cu PROPERTIES LANGUAGE ${lab_LANGUAGE})
    foreach(part check unit)
      add_library(lab_${number}_${part}${suffix} OBJECT EXCLUDE_FROM_ALL ${folder}/${part}.cu)
      target_link_libraries(lab_${number}_${part}${suffix} PUBLIC ${lab_LIBRARIES}
        PRIVATE ${lab_UNIT_LIBRARIES} gpubench_warnings)
    endforeach()
    target_compile_options(lab_${number}_unit${suffix} PRIVATE ${plain})
    if(lab_CHECK_HEADERS)
      target_precompile_headers(lab_${number}_check${suffix} REUSE_FROM ${lab_CHECK_HEADERS})
    endif()
    target_compile_definitions(lab_${number}_unit${suffix} PRIVATE
      LAB_SOLUTION="${folder}/solution.cuh")
    if(lab_LANGUAGE STREQUAL "CXX")
      target_link_libraries(lab_${number}_unit${suffix} PRIVATE gpubench_checked_kernels)
      target_precompile_headers(lab_${number}_unit${suffix} REUSE_FROM lab_language${suffix})
    endif()
    add_executable(lab-${number}${suffix} EXCLUDE_FROM_ALL)
    target_link_libraries(lab-${number}${suffix} PRIVATE lab_${number}_check${suffix}
      lab_${number}_unit${suffix} ${lab_LIBRARIES})
    add_custom_target(lab-${number}${suffix}-prepared)
    add_dependencies(lab-${number}${suffix}-prepared lab_${number}_check${suffix}
      lab_language${suffix} ${lab_LIBRARIES})
    if(lab_LANGUAGE STREQUAL "CXX")
      # Judges results that another process has kept: no solution is in it, so the checker's names
      # for a solution's kernels stand for something that nobody calls.
      set(handles)
      file(READ ${folder}/interface.cuh declared)
      string(REPLACE ";" "," declared "${declared}")
      string(REGEX MATCHALL "\nextern [^\n]*" declared "${declared}")
      string(REGEX MATCHALL "[a-z_0-9]+," declared "${declared}")
      foreach(handle IN LISTS declared)
        string(REPLACE "," "" handle ${handle})
        string(LENGTH ${handle} length)
        list(APPEND handles -Wl,--defsym=_ZN3lab${length}${handle}E=main)
      endforeach()
      add_executable(lab-${number}-judge EXCLUDE_FROM_ALL)
      target_link_libraries(lab-${number}-judge PRIVATE lab_${number}_check ${lab_LIBRARIES})
      target_link_options(lab-${number}-judge PRIVATE ${handles})
      add_dependencies(lab-${number}-prepared lab-${number}-judge)
    endif()
  endforeach()
endfunction()
