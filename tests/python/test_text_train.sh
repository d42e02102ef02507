#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# docs/examples/python/text_train.py: its tokens are those of the package tokenizers of PyPI; stopped and started again, it is where it would have been.
. "$(dirname "$0")/lib.sh"

begin_case() {
    pypi text
    /usr/bin/python3 -c 'import torch' || fail "python3-torch is not here"
    /usr/bin/python3 "$here/text_train_cases.py" make "$work" || fail "no texts"
    service
}
case_tokens() {
    begin_case
    /usr/bin/python3 -X faulthandler "$here/text_train_cases.py" tokens "$work" "$DISPATCHER" || fail "text_train_cases.py tokens"
}
example() { # CHECKPOINT ARGS...
    timeout 600 /usr/bin/python3 "$SOURCE_DIR/docs/examples/python/text_train.py" --service "$DISPATCHER" --data "$work/texts" --tokenizer "$work/tokenizer.json" \
        --checkpoint "$@" || fail "text_train.py $*"
}
case_resumed() {
    begin_case
    example "$work/whole.pt" --epochs 4 >"$work/whole.out"
    { example "$work/parts.pt" --epochs 4 --steps 11 && example "$work/parts.pt" --epochs 4; } >"$work/parts.out"
    same "losses" "$(<"$work/whole.out")" "$(<"$work/parts.out")"
    sed 's/.*loss //' "$work/whole.out" | awk 'NR == 1 { first = $1 } END { exit !(NR > 20 && $1 < first / 2) }' || fail "it learns nothing: $(<"$work/whole.out")"
}

run_case "$@"
