# SPDX-License-Identifier: Apache-2.0
# Debian packages (docs/packages.md): `cmake --build --preset release --target package` writes them into the build tree. What
# goes into which is said where it is installed (COMPONENT); package_finish.cmake puts in what only packages have.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME cachew)
set(CPACK_PACKAGE_VENDOR cachew)
set(CACHEW_MAINTAINER "The cachew developers <maintainers@cachew.example>" CACHE STRING "Maintainer of Debian packages: who makes them")
set(CPACK_PACKAGE_CONTACT "${CACHEW_MAINTAINER}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_COMPONENTS_ALL cachew libcachew0 libcachew-dev)
if(TARGET _cachew)
    list(APPEND CPACK_COMPONENTS_ALL python3-libcachew)
endif()
set(CPACK_PRE_BUILD_SCRIPTS "${CMAKE_SOURCE_DIR}/deploy/cmake/package_finish.cmake")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${CMAKE_BINARY_DIR}/lib")
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY "=")

set(version "${PROJECT_VERSION}-1")
set(control "${CMAKE_SOURCE_DIR}/deploy/debian")
set(about "cachew computes the batches of training jobs on workers of a shared service:
 pipelines of operators read, decode and transform source files, results are
 cached, and workers are given to the jobs whose trainers wait.")

# cachew_deb(COMPONENT SECTION SUMMARY DEPENDS RECOMMENDS): the fields of a package.
function(cachew_deb component section summary depends recommends)
    string(TOUPPER "${component}" name)
    set(CPACK_DEBIAN_${name}_PACKAGE_NAME "${component}" PARENT_SCOPE)
    set(CPACK_DEBIAN_${name}_PACKAGE_SECTION "${section}" PARENT_SCOPE)
    set(CPACK_DEBIAN_${name}_DESCRIPTION "${summary}\n${about}" PARENT_SCOPE)
    set(CPACK_COMPONENT_${name}_DESCRIPTION "${summary}\n${about}" PARENT_SCOPE)
    set(CPACK_DEBIAN_${name}_PACKAGE_DEPENDS "${depends}" PARENT_SCOPE)
    set(CPACK_DEBIAN_${name}_PACKAGE_RECOMMENDS "${recommends}" PARENT_SCOPE)
    file(GLOB extra "${control}/${component}/*")
    set(CPACK_DEBIAN_${name}_PACKAGE_CONTROL_EXTRA "${extra}" PARENT_SCOPE)
endfunction()
cachew_deb(cachew net "input data processing as a service: programs and units" "" "libgfapi0, libhdf5-103-1, libsndfile1, libvorbisfile3, libmpg123-0")
cachew_deb(libcachew0 libs "input data processing as a service: library for trainers" "" "cachew (= ${version})")
cachew_deb(libcachew-dev libdevel "input data processing as a service: headers and static library"
    "libcachew0 (= ${version}), libgrpc-dev, libssl-dev, libprotobuf-c-dev, libuv1-dev, libjansson-dev, libxxhash-dev" "")
cachew_deb(python3-libcachew python "input data processing as a service: Python package"
    "libcachew0 (= ${version}), python3 (>= 3.11)" "cachew (= ${version}), python3-numpy")
include(CPack)
