#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# docs/examples/python/torch_train.py with Debian's PyTorch: its losses are those of PyTorch's own DataLoader, whatever happens to workers, and
# a checkpoint is gone on with by any number of processes. The photographs are those that support/make_cedar_data.py cuts out of Debian packages, if
# CACHEW_CEDAR_DATA names its folder, else such as support/make_photos.py makes.
. "$(dirname "$0")/lib.sh"

export PYTHONPATH=$tree/client/python
train=$SOURCE_DIR/docs/examples/python/torch_train.py

begin_case() {
    /usr/bin/python3 -c 'import torch, PIL' || fail "python3-torch and python3-pil are not here"
    photos
    /usr/bin/python3 "$here/sort_photos.py" "${CACHEW_CEDAR_DATA:-$work}/photos" "$work/sorted" || fail "sort_photos.py"
    service
}
cases() { # CASE ARGS...
    timeout 900 /usr/bin/python3 -X faulthandler "$here/torch_train_cases.py" "$1" "$DISPATCHER" "$work/sorted" "${@:2}" || fail "torch_train_cases.py $1"
}

case_equal() {
    begin_case
    cases equal
}

says_step() { [ "$(grep -c '^step' "$work/held.log")" -ge "$1" ] || is_gone held; }
case_killed() {
    begin_case
    cases held >"$work/whole.out"
    begin_worker w2
    mkfifo "$work/go"
    begin held /usr/bin/python3 "$here/torch_train_cases.py" held "$DISPATCHER" "$work/sorted" "$work/go"
    wait_until "the first steps" says_step 1
    end w KILL
    timeout 60 sh -c 'echo >"$1"' - "$work/go"
    wait_until "some more steps" says_step 2
    begin_worker w3
    end w2 KILL
    timeout 60 sh -c 'echo >"$1"' - "$work/go"
    wait_for held || fail "the trainer failed: $(cat "$work/held.log")"
    same "losses" "$(<"$work/whole.out")" "$(<"$work/held.out")"
}

example() { # CHECKPOINT ARGS...
    timeout 600 /usr/bin/python3 "$train" --service "$DISPATCHER" --data "$work/sorted" --checkpoint "$@" || fail "torch_train.py $*"
}
case_resumed() {
    begin_case
    example "$work/whole.pt" --batch 5 >"$work/whole.out"
    { example "$work/parts.pt" --batch 5 --steps 11 && example "$work/parts.pt" --batch 5; } >"$work/parts.out"
    same "losses" "$(<"$work/whole.out")" "$(<"$work/parts.out")"
}

# ranks WORLD NAME CHECKPOINT ARGS...: as torchrun starts them; what they print is in NAME.RANK.out.
ranks() {
    local world=$1 name=$2 rank
    for ((rank = 0; rank < world; rank++)); do
        begin "$name.$rank" env WORLD_SIZE="$world" RANK="$rank" MASTER_ADDR="${own_host}" MASTER_PORT="$((20000 + $$ % 10000))" OMP_NUM_THREADS=1 \
            /usr/bin/python3 "$train" --service "$DISPATCHER" --data "$work/sorted" --name "$name" --batch 2 --epochs 1 --checkpoint "${@:3}"
    done
    for ((rank = 0; rank < world; rank++)); do
        wait_for "$name.$rank" || fail "rank $rank of $world: $(cat "$work/$name.$rank.log")"
    done
}
# taken NAME...: the numbers of the photographs in the steps of these runs, sorted.
taken() {
    local name
    for name in "$@"; do sed 's/.*of \[\(.*\)\]/\1/; s/, /\n/g' "$work/$name".*.out; done | sort -n
}
# Saved by two processes in the middle of an epoch, and gone on with by one and by four: each photograph once.
case_world() {
    begin_case
    local world
    ranks 2 saved "$work/two.pt" --steps 5
    for world in 1 4; do
        cp "$work/two.pt" "$work/$world.pt"
        ranks "$world" "by-$world" "$work/$world.pt"
        same "photographs of 2 and $world" "$(seq 0 39)" "$(taken saved "by-$world")"
    done
}

run_case "$@"
