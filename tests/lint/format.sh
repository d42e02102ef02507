#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every C file is as clang-format writes it (.clang-format). To mend: git ls-files '*.c' '*.h' | xargs clang-format -i
cd "$1" || exit 1
command -v clang-format-14 >/dev/null || { echo "clang-format-14 is not here"; exit 77; }
git ls-files '*.c' '*.h' | xargs -P "$(nproc)" -n 64 clang-format-14 --dry-run -Werror
