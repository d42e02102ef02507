# SPDX-License-Identifier: Apache-2.0
# Compiler settings and the helpers that every folder's CMakeLists.txt uses.

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")

find_package(PkgConfig REQUIRED)
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

# Equal bytes on every CPU: no contraction to FMA behind our back.
add_compile_options(-ffp-contract=off -fno-math-errno)
add_compile_definitions(_GNU_SOURCE)
if(CACHEW_FAULTS)
    add_compile_definitions(CW_FAULTS=1)
endif()
# tests/install/hardened.sh looks whether programs have it. -U: some compilers define a lower level by themselves.
if(CACHEW_HARDEN)
    add_compile_options(-fstack-protector-strong -fstack-clash-protection -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
        add_compile_options(-fcf-protection=full)
    endif()
    add_link_options(-Wl,-z,relro,-z,now)
endif()
if(CACHEW_SANITIZE)
    add_compile_options(-fsanitize=${CACHEW_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
    add_link_options(-fsanitize=${CACHEW_SANITIZE})
endif()
if(CACHEW_FUZZ)
    add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all)
    add_link_options(-fsanitize=address,undefined)
endif()

add_library(cachew_warnings INTERFACE)
set(warnings -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition
    -Wpointer-arith -Wwrite-strings -Wundef -Wformat=2 -Wnull-dereference -Wdouble-promotion
    -Wconversion -Wsign-conversion -Wvla -Walloca -Wredundant-decls -Wdate-time)
if(CACHEW_WERROR)
    list(APPEND warnings -Werror)
endif()
if(CMAKE_C_COMPILER_ID STREQUAL GNU) # -Wcast-qual: clang looks into the macros of protobuf-c, which drop const
    list(APPEND warnings -Wcast-qual -Wcast-align=strict -Wformat-signedness -Wimplicit-fallthrough=5 -Wlogical-op -Wduplicated-cond
         -Wduplicated-branches -Wjump-misses-init)
endif()
target_compile_options(cachew_warnings INTERFACE ${warnings})

# A package found by pkg-config, once: pkg_target(uv libuv) -> PkgConfig::uv
macro(pkg_target name module)
    if(NOT TARGET PkgConfig::${name})
        pkg_check_modules(${name} REQUIRED IMPORTED_TARGET GLOBAL ${module})
    endif()
endmacro()

# cw_library(NAME SOURCES a.c b.c LINK cw_base PRIVATE PkgConfig::uv): static library cw_NAME of this folder.
# LINK are folders of lower layers; PRIVATE is what this folder alone may use.
function(cw_library name)
    cmake_parse_arguments(arg "" "" "SOURCES;LINK;PRIVATE" ${ARGN})
    add_library(cw_${name} STATIC ${arg_SOURCES})
    target_include_directories(cw_${name} PUBLIC "${CMAKE_SOURCE_DIR}/src" "${CMAKE_SOURCE_DIR}" "${CMAKE_BINARY_DIR}/generated")
    target_link_libraries(cw_${name} PUBLIC ${arg_LINK} PRIVATE cachew_warnings ${arg_PRIVATE} Threads::Threads)
    if(CMAKE_C_COMPILER_ID STREQUAL GNU) # clang sees an enumerator more, which protobuf-c adds for the size
        target_compile_options(cw_${name} PRIVATE -Wswitch-enum)
        if(NOT CACHEW_SANITIZE) # sanitizers put guards between variables
            target_compile_options(cw_${name} PRIVATE -Wstack-usage=16384)
        endif()
    endif()
endfunction()

# cw_program(NAME SOURCES ... LINK ...): an executable in bin/.
function(cw_program name)
    cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
    add_executable(${name} ${arg_SOURCES})
    target_include_directories(${name} PRIVATE "${CMAKE_SOURCE_DIR}/include")
    target_link_libraries(${name} PRIVATE cachew_warnings ${arg_LINK} Threads::Threads)
endfunction()
