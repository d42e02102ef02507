#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Static analysis of the product's sources: clang-tidy (.clang-tidy) and gcc -fanalyzer (preset analyze). See --help.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

usage() {
    cat <<'TEXT'
usage: tests/analyze.sh [--tidy | --gcc] [FILE|FOLDER]...
  --tidy    clang-tidy only
  --gcc     gcc -fanalyzer only
FILE, FOLDER: only these; without any all of src, cache, policies, dispatcher, worker and client.
Prints each finding once, but for those that tests/analyze_known.txt explains.
The last line is "N findings"; the exit status is 1 if there are any.
TEXT
}
tools=(tidy gcc)
only=()
while [ $# -gt 0 ]; do
    case "$1" in
    --tidy) tools=(tidy) ;;
    --gcc) tools=(gcc) ;;
    -h | --help) usage; exit 0 ;;
    -*) usage >&2; exit 2 ;;
    *) only+=("$1") ;;
    esac
    shift
done
[ ${#only[@]} -gt 0 ] || only=(src cache policies dispatcher worker client)
{ cmake --preset analyze && cmake --build --preset analyze --target cw_proto; } >/dev/null || exit 1
# err.c defines what tests/support/analyzer.h redefines.
mapfile -t files < <(git ls-files -- "${only[@]}" | grep '\.c$' | grep -v '^src/base/err\.c$')
jobs=$(nproc)

run_tidy() {
    command -v clang-tidy-14 >/dev/null || { echo "analyze.sh: clang-tidy-14 is not here" >&2; exit 1; }
    printf '%s\0' "${files[@]}" |
        xargs -0 -P "$jobs" -n 1 clang-tidy-14 -p build/analyze --quiet --extra-arg=-Wno-unknown-warning-option --extra-arg=-include --extra-arg="$PWD/tests/support/analyzer.h" 2>/dev/null
}

# Compiles these files as compile_commands.json says, with the analyzer, to nowhere. Not optimised: the analyzer sees what the
# optimizer has left.
run_gcc() {
    /usr/bin/python3 - "${files[@]}" <<'PYTHON' | xargs -0 -P "$jobs" -n 1 bash -c 2>&1
import json, os, sys
wanted = {os.path.realpath(name) for name in sys.argv[1:]}
for entry in json.load(open("build/analyze/compile_commands.json")):
    if entry["file"] in wanted:
        wanted.remove(entry["file"])
        command = entry["command"].rpartition(" -o ")[0]
        hint = "-Wno-unused-value -Wno-stack-usage -include %s/tests/support/analyzer.h" % os.getcwd()
        print("cd %s; %s %s -fanalyzer -c -o /dev/null %s" % (entry["directory"], command, hint, entry["file"]), end="\0")
PYTHON
}

# A line of the list: FILE [CHECK] why; blank ones and comments are passed over.
unexplained() {
    local line file check
    while read -r line; do
        file=${line%%:*} check=${line##*[}
        grep -qF -- "$file [${check%%[],]*}] " tests/analyze_known.txt || echo "$line"
    done
}

found=$(for tool in "${tools[@]}"; do "run_$tool"; done | grep -E '(warning|error):.*\[' | sed "s|^$PWD/||; s|^\.\./\.\./||" | sort -u | unexplained)
[ -z "$found" ] || echo "$found"
n=$(grep -c . <<<"$found")
echo "$n findings"
[ "$n" -eq 0 ]
