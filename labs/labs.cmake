# Each folder labs/NN-name is a program of its own: the checker's rows, which do not change, and one
# small unit that includes the student's solution, so that only that is compiled again.
#
# gpubench_labs(SUFFIX LANGUAGE CXX|CUDA LIBRARIES of all, main() among them... UNIT_LIBRARIES of
# what holds kernels...): targets lab-NN<SUFFIX>, and lab-NN<SUFFIX>-prepared, which is all of it but
# the solution.
file(GLOB GPUBENCH_LABS CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/labs/[0-9][0-9]-*/check.cu)

function(gpubench_labs suffix)
  cmake_parse_arguments(PARSE_ARGV 1 lab "" "LANGUAGE" "LIBRARIES;UNIT_LIBRARIES")
  foreach(check IN LISTS GPUBENCH_LABS)
    get_filename_component(folder ${check} DIRECTORY)
    get_filename_component(name ${folder} NAME)
    string(SUBSTRING ${name} 0 2 number)
    set_source_files_properties(${check} ${folder}/launch.cu PROPERTIES LANGUAGE ${lab_LANGUAGE})
    foreach(part check launch)
      add_library(lab_${number}_${part}${suffix} OBJECT EXCLUDE_FROM_ALL ${folder}/${part}.cu)
      target_link_libraries(lab_${number}_${part}${suffix} PUBLIC ${lab_LIBRARIES}
        PRIVATE ${lab_UNIT_LIBRARIES} gpubench_warnings)
    endforeach()
    target_compile_definitions(lab_${number}_launch${suffix} PRIVATE
      LAB_SOLUTION="${folder}/solution.cuh")
    add_executable(lab-${number}${suffix} EXCLUDE_FROM_ALL)
    target_link_libraries(lab-${number}${suffix} PRIVATE lab_${number}_check${suffix}
      lab_${number}_launch${suffix} ${lab_LIBRARIES})
    add_custom_target(lab-${number}${suffix}-prepared)
    add_dependencies(lab-${number}${suffix}-prepared lab_${number}_check${suffix}
      ${lab_LIBRARIES})
  endforeach()
endfunction()
