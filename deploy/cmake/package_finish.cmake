# SPDX-License-Identifier: Apache-2.0
# CPack runs this on the installed trees of all packages before it packs them: a copyright and a changelog, as Debian's policy
# wants them, manual pages compressed, and no search path for libraries that the system finds.
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
    set(root "${CPACK_TEMPORARY_INSTALL_DIRECTORY}/${component}/usr")
    set(doc "${root}/share/doc/${component}")
    file(REMOVE "${doc}/LICENSE") # said by the copyright
    file(WRITE "${doc}/copyright" "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: cachew

Files: *
Copyright: 2026 The cachew developers
License: Apache-2.0
 On Debian systems the text of this license is in
 /usr/share/common-licenses/Apache-2.0.
")
    file(WRITE "${doc}/changelog.Debian" "cachew (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium

  * Version ${CPACK_PACKAGE_VERSION}; docs/changelog.md says what is new.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
    file(GLOB_RECURSE pages "${root}/share/man/*.[0-9]")
    execute_process(COMMAND gzip -9nf "${doc}/changelog.Debian" ${pages} COMMAND_ERROR_IS_FATAL ANY)
    file(GLOB modules "${root}/lib/python3/dist-packages/libcachew/*.so")
    foreach(module IN LISTS modules)
        file(RPATH_REMOVE FILE "${module}")
    endforeach()
    # Whatever umask this runs under.
    execute_process(COMMAND chmod -R u+rwX,go+rX,go-w "${root}" COMMAND_ERROR_IS_FATAL ANY)
    file(GLOB_RECURSE units "${root}/lib/systemd/system/*.service")
    if(units) # Debian 12 looks for them there, whether or not /usr is merged
        file(MAKE_DIRECTORY "${root}/../lib/systemd")
        file(RENAME "${root}/lib/systemd/system" "${root}/../lib/systemd/system")
        file(REMOVE_RECURSE "${root}/lib/systemd")
    endif()
endforeach()
