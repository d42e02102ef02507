#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every header compiles alone as C11; public ones as C99 and C++ too. Usage: headers.sh SOURCE_DIR BUILD_DIR
set -uo pipefail
src=$1 build=$2 failed=0
cd "$src" || exit 1
# Python's headers, where they are; without them those of client/python are left out.
python=$(python3 -c 'import sysconfig; print(sysconfig.get_path("include"))' 2>/dev/null)
while read -r header; do
    include=()
    case "$header" in
    *_list.h | *_items.h) continue ;; # tables to be included with a macro
    client/python/*)
        [ -r "$python/Python.h" ] || continue
        include=(-isystem "$python")
        ;;
    esac
    gcc -std=c11 -D_GNU_SOURCE -fsyntax-only -Wall -Wextra -Werror -I src -I . -I "$build/generated" -I include "${include[@]}" \
        -include "$header" -x c /dev/null || { echo "$header: does not compile alone"; failed=1; }
done < <(find src dispatcher worker client cache policies -name '*.h' | sort)
for header in include/cachew/*.h; do
    gcc -std=c99 -pedantic -fsyntax-only -Wall -Wextra -Werror -I include -include "$header" -x c /dev/null || failed=1
    if command -v g++ >/dev/null; then
        g++ -std=c++11 -fsyntax-only -Wall -Wextra -Werror -I include -include "$header" -x c++ /dev/null || failed=1
    fi
done
exit $failed
