#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The trainer and the pipeline of README.md, word for word but for the place of the photographs and the batch size, against the
# installed tree: "local:" finds the installed programs by itself, and nothing is left running.
# shellcheck source=tests/install/lib.sh
. "$(dirname "$0")/lib.sh"

block() { # LANGUAGE: the first block of this language in README.md
    awk -v want="\`\`\`$1" '$0 == want && !seen { inside = seen = 1; next } $0 == "```" { inside = 0 } inside' "$SOURCE_DIR/README.md"
}
mkdir "$work/run"
block c >"$work/run/trainer.c"
lines=$(wc -l <"$work/run/trainer.c")
[ "$lines" -ge 15 ] && [ "$lines" -le 30 ] || fail "README.md has no trainer of some 20 lines, but one of $lines"

mkdir "$work/photos"
cp "$SOURCE_DIR"/tests/ops/data/image_42*.jpg "$SOURCE_DIR"/tests/ops/data/image_444.jpg "$work/photos"
block json | sed "s|/data/photos|$work/photos|; s|\"size\": 64|\"size\": 2|; s|\"drop_remainder\": true|\"drop_remainder\": false|" >"$work/run/photos.json"
grep -q "$work/photos" "$work/run/photos.json" && grep -q '"size": 2,' "$work/run/photos.json" || fail "README.md: the pipeline is not as this test expects it"

for optimize in -O0 -O2; do
    # shellcheck disable=SC2046
    "$CC" -Wall -Wextra -Werror $optimize "${sanitize[@]}" -o "$work/run/trainer$optimize" "$work/run/trainer.c" $(pkg-config --cflags --libs cachew) ||
        fail "the trainer of README.md does not compile with $optimize"
done

cd "$work/run"
mkdir "$work/tmp"
export TMPDIR=$work/tmp
"$prefix/bin/cachew" check photos.json >check.txt || { cat check.txt; fail "cachew check"; }
LD_LIBRARY_PATH=$lib timeout 300 ./trainer-O2 >batches.txt || { cat batches.txt; fail "the trainer failed"; }
diff - batches.txt <<'TEXT' || fail "the batches are others"
batch 0: 2 images
batch 1: 1 images
TEXT
# Programs are found by the installed tool as well, and make of the pipeline what they should.
timeout 300 "$prefix/bin/cachew" run photos.json --json >run.json || fail "cachew run"
grep -q '"batches":2,"elements":3,' run.json || { cat run.json; fail "cachew run says something else"; }

ask_until "no program of the service is left running" none_runs
echo "$lines lines; $(cat run.json)"

# The example of docs/user-operators.md, as its reader builds and tries it: with the installed header alone, and the installed programs.
command -v g++ >/dev/null || { echo "no g++: the operators of one's own are left out"; exit 0; }
example=$SOURCE_DIR/docs/examples/user_operator
mkdir -p "$work/operator/cachew"
cp "$example"/* "$work/operator"
cp "$prefix/include/cachew/op.h" "$work/operator/cachew" # no other header is there
cd "$work/operator"
gcc -std=c11 -Wall -Wextra -Werror -Wpedantic -O2 -fPIC -shared -I. -o whiten.so whiten.c || fail "whiten.c does not build"
for std in c++11 c++20; do
    g++ -std=$std -Wall -Wextra -Werror -Wpedantic -O2 -fPIC -shared -I. -o words.so words.cc || fail "words.cc does not build as $std"
done
needed=$(readelf -d whiten.so | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
[ -z "$needed" ] || [ "$needed" = libc.so.6 ] || fail "whiten.so needs other libraries: $needed"

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
