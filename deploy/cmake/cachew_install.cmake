# SPDX-License-Identifier: Apache-2.0
# What is installed besides programs and libraries, which their own folders install. The tree may be moved after it is
# installed: cachew.pc and the CMake package find it from where they lie, programs are found beside libcachew.
include(CMakePackageConfigHelpers)

install(DIRECTORY "${CMAKE_SOURCE_DIR}/include/cachew" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT libcachew-dev FILES_MATCHING PATTERN "*.h")

set(made "${CMAKE_BINARY_DIR}/install")
set(pc_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
set(config_dir "${CMAKE_INSTALL_LIBDIR}/cmake/cachew")

file(RELATIVE_PATH CACHEW_PC_PREFIX "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
file(RELATIVE_PATH CACHEW_PC_LIBDIR "${CMAKE_INSTALL_PREFIX}" "${CMAKE_INSTALL_FULL_LIBDIR}")
file(RELATIVE_PATH CACHEW_PC_INCLUDEDIR "${CMAKE_INSTALL_PREFIX}" "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
get_property(CACHEW_PC_LIBS_PRIVATE GLOBAL PROPERTY CACHEW_STATIC_LIBS)
configure_file("${CMAKE_SOURCE_DIR}/deploy/cmake/cachew.pc.in" "${made}/cachew.pc" @ONLY)
install(FILES "${made}/cachew.pc" DESTINATION "${pc_dir}" COMPONENT libcachew-dev)

configure_package_config_file("${CMAKE_SOURCE_DIR}/deploy/cmake/cachewConfig.cmake.in" "${made}/cachewConfig.cmake"
    INSTALL_DESTINATION "${config_dir}" NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${made}/cachewConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${made}/cachewConfig.cmake" "${made}/cachewConfigVersion.cmake" DESTINATION "${config_dir}" COMPONENT libcachew-dev)
install(EXPORT cachewTargets NAMESPACE cachew:: DESTINATION "${config_dir}" COMPONENT libcachew-dev)

foreach(page IN ITEMS cachew.1 cachew-controller.8 cachew-dispatcher.8 cachew-worker.8)
    string(REGEX REPLACE ".*\\." "" section "${page}")
    install(FILES "docs/man/${page}" DESTINATION "${CMAKE_INSTALL_MANDIR}/man${section}")
endforeach()

install(FILES deploy/systemd/cachew-dispatcher.service deploy/systemd/cachew-worker.service DESTINATION lib/systemd/system)
install(FILES deploy/completion/cachew.bash DESTINATION share/bash-completion/completions RENAME cachew)
install(FILES deploy/completion/_cachew DESTINATION share/zsh/site-functions)
install(FILES deploy/completion/cachew.fish DESTINATION share/fish/vendor_completions.d)
install(FILES README.md LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(DIRECTORY docs/ DESTINATION "${CMAKE_INSTALL_DOCDIR}" PATTERN man EXCLUDE)
