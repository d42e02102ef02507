#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The example of docs/user-operators.md, as its reader builds and tries it: with the installed header alone, and the installed programs.
# shellcheck source=tests/install/lib.sh
. "$(dirname "$0")/lib.sh"

command -v g++ >/dev/null || { echo "skipped: no g++"; exit 77; }
example=$SOURCE_DIR/docs/examples/user_operator
mkdir -p "$work/run/cachew" "$work/tmp"
export TMPDIR=$work/tmp
cp "$example"/* "$work/run"
cp "$prefix/include/cachew/op.h" "$work/run/cachew" # no other header is there
cd "$work/run"
gcc -std=c11 -Wall -Wextra -Werror -Wpedantic -O2 -fPIC -shared -I. -o whiten.so whiten.c || fail "whiten.c does not build"
for std in c++11 c++20; do
    g++ -std=$std -Wall -Wextra -Werror -Wpedantic -O2 -fPIC -shared -I. -o words.so words.cc || fail "words.cc does not build as $std"
done
needed=$(readelf -d whiten.so | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
[ "$needed" = libc.so.6 ] || fail "whiten.so needs other libraries: $needed"

bin=$prefix/bin
"$bin/cachew" ops --test cases.json --plugin whiten.so --plugin words.so >cases.txt || { cat cases.txt; fail "the cases of the example fail"; }
grep -qx '9 cases, 0 failed' cases.txt || { cat cases.txt; fail "the runner says something else"; }
sed 's/\[-2, 0, 2\]/[-2, 0, 3]/' cases.json >wrong.json
! "$bin/cachew" ops --test wrong.json --plugin whiten.so --plugin words.so >wrong.txt || fail "a wrong case passes"
grep -q 'field "x": value 2 is 2, expected 3' wrong.txt || { cat wrong.txt; fail "the runner does not say what differs"; }

cat >run.json <<'JSON'
{"pipeline": [{"op": "range", "stop": 64}, {"op": "cast", "dtype": "u8"}, {"op": "mylab.whiten"}, {"op": "batch", "size": 16}]}
JSON
"$bin/cachew" check run.json --plugin whiten.so | says 'mylab.whiten.*x: f32' || fail "cachew check"
timeout 300 "$bin/cachew" run run.json --json --plugin whiten.so >run.txt || fail "cachew run"
grep -q '"batches":4,"elements":64,' run.txt || { cat run.txt; fail "cachew run says something else"; }
ask_until "no program of the service is left running" none_runs
cat cases.txt run.txt
