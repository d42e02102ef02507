# SPDX-License-Identifier: Apache-2.0
# Toolchain of the preset arm64: Debian's cross compiler, libraries of deploy/local/arm64_root.sh, programs by qemu-user.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

get_filename_component(arm64_root "${CMAKE_CURRENT_LIST_DIR}/../../build/arm64-root" ABSOLUTE)
if(NOT EXISTS "${arm64_root}/.packages")
    message(FATAL_ERROR "there are no arm64 libraries in ${arm64_root}: deploy/local/arm64_root.sh")
endif()
set(CMAKE_SYSROOT "${arm64_root}")
set(CMAKE_FIND_ROOT_PATH "${arm64_root}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER) # protoc, python3: of the build machine
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

# Where the compiler finds what Debian has in folders of an architecture, whatever it was built with.
set(arm64_lib "${arm64_root}/usr/lib/aarch64-linux-gnu")
set(CMAKE_C_FLAGS_INIT "-B${arm64_lib}/ -isystem ${arm64_root}/usr/include/aarch64-linux-gnu")
foreach(kind IN ITEMS EXE SHARED MODULE)
    set(CMAKE_${kind}_LINKER_FLAGS_INIT "-L${arm64_lib} -Wl,-rpath-link,${arm64_lib}:${arm64_root}/lib/aarch64-linux-gnu")
endforeach()

set(ENV{PKG_CONFIG_SYSROOT_DIR} "${arm64_root}")
set(ENV{PKG_CONFIG_LIBDIR} "${arm64_lib}/pkgconfig:${arm64_root}/usr/share/pkgconfig")
set(ENV{PKG_CONFIG_PATH} "")

set(CMAKE_CROSSCOMPILING_EMULATOR "qemu-aarch64;-L;${arm64_root}")
