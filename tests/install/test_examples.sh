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
