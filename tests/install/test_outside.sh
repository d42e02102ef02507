#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Outside programs are built against the installed tree four ways (pkg-config and find_package, shared and static) and run;
# the libraries show only what they should, and nothing refers to the build tree.
# shellcheck source=tests/install/lib.sh
. "$(dirname "$0")/lib.sh"

trainer=$SOURCE_DIR/docs/examples/trainer.c
version=$(sed -n 's/^project(cachew VERSION \([0-9.]*\).*/\1/p' "$SOURCE_DIR/CMakeLists.txt")
built=()

build_with_pkg_config() { # KIND
    local kind=$1 flags program out
    case "$kind" in
    shared) flags=$(pkg-config --cflags --libs cachew) ;;
    # Both libraries lie there: -l: takes the archive.
    static) flags=$(pkg-config --static --cflags --libs cachew) flags=${flags/-lcachew/-l:libcachew.a} ;;
    esac
    for program in "$trainer" "$SOURCE_DIR/tests/install/outside/version.c"; do
        out=$work/pkg-config/$(basename "$program" .c)_$kind
        mkdir -p "$work/pkg-config"
        # shellcheck disable=SC2086
        "$CC" -std=c11 -D_GNU_SOURCE "${sanitize[@]}" -o "$out" "$program" $flags -lm || fail "pkg-config, $kind: $(basename "$program") does not build"
        built+=("$out")
    done
}

build_with_cmake() {
    local log=$work/cmake.log kind program
    "$CMAKE" -G "$CMAKE_GENERATOR" -S "$SOURCE_DIR/tests/install/outside" -B "$work/find_package" "-DCMAKE_C_COMPILER=$CC" "-DCMAKE_PREFIX_PATH=$prefix" \
        "-DTRAINER=$trainer" "-DCMAKE_C_FLAGS=${sanitize[*]}" >"$log" 2>&1 && "$CMAKE" --build "$work/find_package" >>"$log" 2>&1 ||
        { cat "$log"; fail "find_package: the outside project does not build"; }
    grep -q "^cachew_DIR:PATH=$prefix/" "$work/find_package/CMakeCache.txt" || fail "find_package took another cachew than the installed one"
    for program in trainer version; do
        for kind in shared static; do built+=("$work/find_package/${program}_$kind"); done
    done
}

needed() { readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'; }

check_program() { # PATH_KIND
    local program=$1 said libraries
    libraries=$(needed "$program") || fail "readelf of $program"
    case "$program" in
    *_shared) grep -qx 'libcachew\.so\.0' <<<"$libraries" || fail "$program is not linked to libcachew.so.0" ;;
    *_static) grep -q libcachew <<<"$libraries" && fail "$program is linked to the shared library" ;;
    esac
    case "$program" in
    */version_*)
        said=$(LD_LIBRARY_PATH=$lib "$program") || fail "$program does not run"
        [ "$said" = "$version" ] || fail "$program: cachew_version() is \"$said\", the project's is \"$version\""
        ;;
    */trainer_*)
        LD_LIBRARY_PATH=$lib "$program" >"$work/usage" 2>&1 && fail "$program without arguments should show its usage and fail"
        grep -q '^usage: trainer' "$work/usage" || { cat "$work/usage"; fail "$program does not run"; }
        ;;
    esac
}

# Only the public functions are global, in both libraries, and neither needs a decoder, storage or database.
check_symbols() {
    local others libraries
    others=$(nm -D --defined-only "$lib/libcachew.so" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | grep -v '^cachew_' || true)
    [ -z "$others" ] || fail "libcachew.so exports: $others"
    others=$(nm -g --defined-only "$lib/libcachew.a" | awk 'NF == 3 && $3 !~ /^cachew_/ { print $3 }' | grep -v '^__odr_asan' || true)
    [ -z "$others" ] || fail "libcachew.a defines: $others"
    others=$(comm -3 <(nm -D --defined-only "$lib/libcachew.so" | awk '$2 == "T" { sub(/@.*/, "", $3); print $3 }' | sort) \
        <(nm -g --defined-only "$lib/libcachew.a" | awk '$2 == "T" { print $3 }' | sort))
    [ -z "$others" ] || fail "not in both libraries: $others"
    libraries=$(needed "$lib/libcachew.so") || fail "readelf of libcachew.so"
    others=$(grep -E '^lib(jpeg|turbojpeg|png|z|webp|tiff|sqlite3|curl|gfapi|glusterfs|stdc\+\+)' <<<"$libraries" || true)
    [ -z "$others" ] || fail "libcachew.so is linked to: $others"
    readelf -d "$lib/libcachew.so" | says 'SONAME.*\[libcachew\.so\.0\]' || fail "the SONAME of libcachew.so is not libcachew.so.0"
}

# Each header alone, as C99, C11 and, where there is a compiler, C++.
check_headers() {
    local header name
    for header in "$prefix"/include/cachew/*.h; do
        name=cachew/$(basename "$header")
        for std in c99 c11; do
            echo "#include <$name>" | "$CC" -x c -std=$std -Wall -Wextra -Wpedantic -Werror -I "$prefix/include" -fsyntax-only - || fail "$name alone as $std"
        done
        command -v g++ >/dev/null || continue
        printf '#include <%s>\nint main() { return 0; }\n' "$name" | g++ -x c++ -std=c++11 -Wall -Wextra -Wpedantic -Werror -I "$prefix/include" -fsyntax-only - ||
            fail "$name alone as C++"
    done
    diff <(cd "$SOURCE_DIR/include/cachew" && ls -- *.h) <(cd "$prefix/include/cachew" && ls -- *.h) || fail "the installed headers are others"
}

# Texts, and programs without their debug information: no path of the build tree, no search path for libraries. (Sanitizers put the
# paths of sources into programs.)
check_no_build_tree() {
    local file found section
    found=$(grep -rlF --binary-files=without-match -e "$BUILD_DIR" "$prefix" || true)
    [ -z "$found" ] || fail "the build tree is named in: $found"
    for file in "$prefix"/bin/* "$lib"/libcachew.so "$lib"/libcachew.a; do
        strip -g -o "$work/stripped" "$file"
        [ -n "${SANITIZE-}" ] || ! grep -qF -e "$BUILD_DIR" "$work/stripped" || fail "the build tree is named in $file"
        section=$(readelf -d "$file") || fail "readelf of $file"
        ! grep -E 'RPATH|RUNPATH' <<<"$section" || fail "$file has a search path"
    done
}

# The tree works from another place, too.
check_moved() {
    mv "$prefix" "$work/moved"
    "$work/moved/bin/cachew" --version | says -F "$version" || fail "cachew --version of the moved tree"
    PKG_CONFIG_PATH=${PKG_CONFIG_PATH/$prefix/$work/moved} pkg-config --cflags cachew | says -F "$work/moved" || fail "cachew.pc does not follow when the tree is moved"
}

build_with_pkg_config shared
build_with_pkg_config static
build_with_cmake
for program in "${built[@]}"; do check_program "$program"; done
[ ${#built[@]} -eq 8 ] || fail "${#built[@]} programs were built, not 8"
check_symbols
check_headers
check_no_build_tree
for file in cachew-dispatcher.service cachew-worker.service; do
    [ -e "$prefix/lib/systemd/system/$file" ] || fail "$file is not installed"
done
for page in "$SOURCE_DIR"/docs/man/*.[1-9]; do
    [ -e "$prefix/share/man/man${page##*.}/$(basename "$page")" ] || fail "$(basename "$page") is not installed"
done
check_moved
echo "${#built[@]} programs built and run"
