# `cpack --config build-package/CPackConfig.cmake`: the installation as an archive that runs from any
# folder, a Debian package and an RPM (preset "package"; docs/release.md).
set(CPACK_GENERATOR TGZ)
set(tools dpkg-deb rpmbuild)
set(kinds DEB RPM)
foreach(tool kind IN ZIP_LISTS tools kinds) # those that can be made here
  find_program(GPUBENCH_MAKES_${kind} ${tool})
  mark_as_advanced(GPUBENCH_MAKES_${kind})
  if(GPUBENCH_MAKES_${kind})
    list(APPEND CPACK_GENERATOR ${kind})
  endif()
endforeach()
set(CPACK_PACKAGE_VENDOR "gpubench")
set(CPACK_PACKAGE_CONTACT "the gpubench authors <gpubench@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "CUDA microbenchmarks, measured on a GPU or predicted without one")
set(CPACK_PACKAGE_DESCRIPTION
  "Measures what a GPU delivers, one performance concept at a time, compares it with the hardware
limit, and predicts the same rows on a model device without a GPU.")
set(CPACK_RPM_PACKAGE_DESCRIPTION ${CPACK_PACKAGE_DESCRIPTION})
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGE_FILE_NAME gpubench-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_VERBATIM_VARIABLES ON)

# Into /usr; binutils has addr2line, which finds the lines of kernels. Debian's C library is found by
# dpkg-shlibdeps, the RPM's by rpmbuild.
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_DEPENDS binutils)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "g++, cmake, ninja-build, python3")
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_LICENSE Apache-2.0)
set(CPACK_RPM_PACKAGE_REQUIRES binutils)
set(CPACK_RPM_PACKAGE_SUGGESTS "gcc-c++, cmake, ninja-build, python3")
set(CPACK_RPM_PACKAGE_AUTOREQ ON)
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION /usr/lib/cmake /usr/share/doc)
# Object files that others link with are no programs: nothing is stripped from them. The builder's
# host name is nobody's business.
set(CPACK_RPM_SPEC_MORE_DEFINE "%global __os_install_post %{nil}\n%global debug_package %{nil}\n\
%global _build_id_links none\n%global _buildhost localhost")
include(CPack)
