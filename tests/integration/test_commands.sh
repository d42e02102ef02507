#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every command of the tool that asks or changes something, for every kind of job in every state: the dispatcher lives on, the command succeeds or
# says in one line why not, and what is to be JSON is.
. "$(dirname "$0")/lib.sh"

# begin_job NAME PIPELINE ARGS...: a job whose trainer takes one batch and then thinks for ever.
begin_job() {
    local name=$1 pipeline=$2
    shift 2
    begin "$name" "$cachew" run "$work/$pipeline.json" --dispatcher "$DISPATCHER" --epochs 0 --step-ms 3600000 --timeout 120s --quiet "$@"
}
begin_named() { begin_job "$1" "$2" --name "$1" "${@:3}"; }
listed() { # EXPRESSION: over the rows of `cachew jobs`, as jobs
    "$cachew" jobs --json --dispatcher "$DISPATCHER" >"$work/listed" || return 1
    /usr/bin/python3 -c 'import json, sys
jobs = [json.loads(line) for line in open(sys.argv[1])]
print(eval(sys.argv[2]))' "$work/listed" "$1"
}
holds() { [ "$(listed "$1")" = True ]; }

# ask EXPECT COMMAND...: EXPECT is ok, any (ok, or one line), or a regex that the one line of an error matches. What a command with --json prints
# is gathered. All of it in the shell, since there are hundreds.
ask() {
    local expect=$1 status lines
    shift
    "$cachew" "$@" --dispatcher "$DISPATCHER" >"$answers.out" 2>"$answers.err"
    status=$?
    mapfile -t lines <"$answers.err"
    [ "$status" -le 2 ] || { echo "$*: status $status: ${lines[*]}"; return 1; }
    if [ "$status" -eq 0 ]; then
        [[ $expect = ok || $expect = any ]] || { echo "$*: succeeds, and should not"; return 1; }
        [[ " $* " = *" --json "* ]] && cat "$answers.out" >>"$answers.json"
        return 0
    fi
    [[ ${#lines[@]} -eq 1 && ${lines[0]} =~ ^cachew[^:]*:\ .{10,} ]] || { echo "$*: not one line: ${lines[*]}"; return 1; }
    [[ $expect = any || ($expect != ok && ${lines[0]} =~ $expect) ]] || { echo "$*: ${lines[0]}"; return 1; }
}

# The commands of a job. Columns: of one that prepares or runs; of one that is over; of one that there is not; the command.
no="there is no job \""
table=(
    "ok;the job is over;$no;scale JOB auto"
    "ok;the job is over;$no;scale JOB off"
    "ok;the job is over;$no;scale JOB cachew"
    "any;the job is over;$no;scale JOB --place auto"
    "ok;the job is over;$no;scale JOB --place off"
    "ok;the job is over;$no;scale JOB hpa"
    "any;the job is over;$no;scale JOB --place pecan"
    "ok;the job is over;$no;scale JOB off"
    "any;the job is over;$no;scale JOB --place fixed:1,1"
    "ok;the job is over;$no;scale JOB fixed:1"
    "ok;the job is over;$no;scale JOB fixed:3"
    "is not known. there are: ;the job is over;$no;scale JOB nonsense"
    "is not known. there are: ;the job is over;$no;scale JOB --place nonsense"
    "ok;ok;$no;explain JOB"
    "ok;ok;$no;explain JOB --json"
    "ok;ok;any;decisions JOB --json"
    "any;the job is not running;$no;skip JOB 3"
    "any;the job is not running;$no;skip JOB 4-6 --epoch 2"
    "has no such batches|is not running;the job is not running;$no;skip JOB 1000000000"
    "any;any;$no;replay --job JOB --step 2 --epoch 0 --json"
)
# ask_all STATE JOB...: STATE is live, over or gone. A process a job, since what one job is asked does not touch the other.
ask_all() {
    local state=$1 job pids=()
    shift
    for job in "$@"; do
        ask_one "$state" "$job" >"$work/asked_$job" 2>&1 &
        pids+=($!)
    done
    for job in "${pids[@]}"; do
        wait "$job" || fail "$(cat "$work"/asked_*)"
    done
    is_alive || fail "the dispatcher is gone"
}
ask_one() { # STATE JOB
    local row columns answers=$work/answers_$2
    local -A column=([live]=0 [over]=1 [gone]=2)
    for row in "${table[@]}"; do
        IFS=';' read -ra columns <<<"$row"
        # shellcheck disable=SC2086
        ask "${columns[${column[$1]}]}" ${columns[3]//JOB/$2} || return 1
    done
}
# What is asked of all.
ask_around() {
    local answers=$work/answers_ command
    for command in "jobs" "jobs --json" "workers" "workers --json" "tenants" "tenants --json" "top --once" "top --once --json" "decisions" \
        "decisions --json" metrics "cache ls" "cache ls --json --chunks" "cache scan" "cache status --json" "cache evict --bytes 1" "cache evict --all" \
        "backup $work/copy"; do
        # shellcheck disable=SC2086
        ask ok $command || fail "$command"
    done
    for command in "cache evict 00" "cache pin 0000000000000000000000000000000f" "cache unpin 0000000000000000000000000000000f" "drain nobody"; do
        # shellcheck disable=SC2086
        ask any $command || fail "$command"
    done
    is_alive || fail "the dispatcher is gone"
}
is_alive() { ! is_gone dispatcher; }
check_json() {
    /usr/bin/python3 -c 'import json, sys
n = 0
for name in sys.argv[1:]:
    text, at, read = open(name).read(), 0, json.JSONDecoder()
    while at < len(text):
        at = read.raw_decode(text, at)[1]
        while text[at:at + 1].isspace():
            at += 1
        n += 1
assert n > 100, n' "$work"/answers_*.json || fail "what is to be JSON is not"
}

case_table() {
    local policies live="anonymous none auto cachew fixed off place_auto place_pecan place_fixed place_off sparse coordinated shared cached" name id
    # shellcheck disable=SC2206
    live=($live)
    printf '%s' '{"pipeline": [{"op": "range", "stop": 1000}, {"op": "batch", "size": 10}]}' >"$work/dense.json"
    printf '%s' '{"pipeline": [{"op": "range", "stop": 1000}, {"op": "filter", "expr": "x % 3 == 0"}, {"op": "batch", "size": 10}]}' >"$work/sparse.json"
    printf '%s' '{"pipeline": [{"op": "range", "stop": 1000}, {"op": "cache"}, {"op": "batch", "size": 10}]}' >"$work/cached.json"
    printf '%s' '{"pipeline": [{"op": "files", "pattern": "'"$work"'/bad.jpg"}, {"op": "read_file"}, {"op": "decode_image"}, {"op": "batch", "size": 1}]}' \
        >"$work/bad.json"
    echo "no image" >"$work/bad.jpg"
    listen=unix:$work/dispatcher.sock
    begin_dispatcher --cache-store "dir:$work/cache" --heartbeat 600s --max-jobs 100
    ask_around

    # No worker has come yet.
    begin_named waiting dense
    ask_until "a job waits" holds "[j['state'] for j in jobs] == ['waiting'] or [j['state'] for j in jobs] == ['preparing']"
    ask_all live waiting

    begin_worker w1
    run finished "$work/dense.json" --name finished
    expect_error failed 'bad.jpg.*--skip-bad' "$cachew" run "$work/bad.json" --name failed --dispatcher "$DISPATCHER" --timeout 120s
    begin_job anonymous dense
    for name in auto cachew off; do begin_named "$name" dense --autoscale $name; done
    for name in auto pecan off; do begin_named "place_$name" dense --autoplace $name --local-workers 1 --local-threads 1; done
    begin_named place_fixed dense --autoplace fixed:1,1 --local-workers 1 --local-threads 1
    begin_named fixed dense --autoscale fixed:1
    begin_named none dense
    begin_named sparse sparse
    begin_named coordinated dense --consumers 2
    begin_named shared dense --consumers 2 --mode shared
    begin_named cached cached
    ask_until "all jobs run" holds "len(jobs) == 17 and sum(j['state'] == 'running' for j in jobs) == 15"
    "$cachew" jobs --dispatcher "$DISPATCHER" >"$work/table" 2>&1
    grep -Eq ' finished +default +finished +1/1 +100/100 ' "$work/table" || fail "a job that is over: $(cat "$work/table")"
    same "over" "['failed', 'finished']" "$(listed "sorted(j['state'] for j in jobs if j['state'] != 'running')")"
    live[0]=$(listed "[j['id'] for j in jobs if not j['name']][0]")
    ask_all live "${live[@]}" waiting
    ask_all over finished failed
    ask_around

    # A worker that prepares a job, and does not come to an end; and then none any more.
    kill -STOP "${pid_of[w1]}"
    begin_named preparing dense
    ask_until "a job is being prepared" holds "[j['state'] for j in jobs if j['name'] == 'preparing'] == ['preparing']"
    ask_all live preparing
    end w1 KILL
    ask_all live preparing none sparse

    # What was set last is set after a restart, as soon as the trainers are back.
    "$cachew" scale place_fixed fixed:0,1 --place --dispatcher "$DISPATCHER" >"$work/answer" 2>&1 || fail "$(cat "$work/answer")"
    "$cachew" scale place_auto pecan --place --dispatcher "$DISPATCHER" >"$work/answer" 2>&1 || fail "$(cat "$work/answer")"
    "$cachew" scale none off --dispatcher "$DISPATCHER" >"$work/answer" 2>&1 || fail "$(cat "$work/answer")"
    policies="[(j['name'], j['autoscale'], j['autoplace']) for j in sorted(jobs, key=lambda j: j['name']) if j['state'] == 'running' or j['state'] == 'waiting']"
    id=$(listed "$policies")
    [[ $id = *"('auto', 'fixed:3', 'off')"* && $id = *"('none', 'off', 'off')"* && $id = *"('place_fixed', 'fixed:3', 'fixed:0,1')"* ]] ||
        fail "not all are scaled by what was said last: $id"
    end dispatcher KILL
    begin_dispatcher --cache-store "dir:$work/cache" --max-jobs 100
    ask_until "the same policies as before: $id" holds "$policies == $id"
    ask_all live sparse place_pecan
    ask_all over failed

    # Removed.
    for name in "${live[@]}" finished failed; do
        "$cachew" remove "$name" --dispatcher "$DISPATCHER" >"$work/answer" 2>&1 || fail "remove $name: $(cat "$work/answer")"
    done
    same "jobs" "['preparing', 'waiting']" "$(listed "sorted(j['name'] for j in jobs)")"
    ask_all gone "${live[0]}" place_fixed finished nobody
    ask_around
    begin_worker w2
    "$cachew" drain "$(sed -n 's/^ready //p' "$work/w2.out")" --wait --dispatcher "$DISPATCHER" >"$work/answer" 2>&1 || fail "drain: $(cat "$work/answer")"
    check_json
    end dispatcher || fail "the dispatcher does not end well"
}
# What bash completes.
completed() { # WORD...
    PATH=$CACHEW_BIN:$PATH bash -c '. "$0" && COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) && _cachew && echo "${COMPREPLY[*]}"' "$completion" "$@"
}
completes() { # WANT WORD...
    local want=$1
    shift
    same "$*" "$want" "$(completed "$@")"
}
case_completion() {
    completion=$(realpath "$(dirname "$0")/../../deploy/completion/cachew.bash")
    completes explain cachew exp
    completes explain cachew help exp
    completes "--skip-bad" cachew run --ski
    completes fetch cachew cache fe
    completes "--json" cachew cache fetch --js
    completes build cachew index bui
    completes "--requests" cachew index build --re
    (cd "$work" && touch some.json && completes some.json cachew run so) || exit 1
    [[ " $(completed cachew '') " == *" run check "* ]] || fail "the commands are not listed"
}
# What fish and zsh complete. zsh says it on a terminal only.
in_fish() { PATH=$CACHEW_BIN:$PATH fish --no-config -c "source '$deployed/cachew.fish'; complete -C '$1'" | cut -f1 | sort | tr '\n' ' '; }
in_zsh() { # LINE: with a tab behind it
    PATH=$CACHEW_BIN:$PATH /usr/bin/python3 "$deployed/../../tests/integration/zsh_completes.py" "$deployed" "$1"
}
case_completion_of_others() {
    deployed=$(realpath "$(dirname "$0")/../../deploy/completion")
    command -v fish >/dev/null && command -v zsh >/dev/null || skip "fish or zsh is not here"
    cd "$work" || exit 1
    touch some.json
    same "fish" "explain " "$(in_fish 'cachew exp')"
    same "fish" "explain " "$(in_fish 'cachew help exp')"
    same "fish" "--skip-bad " "$(in_fish 'cachew run --ski')"
    same "fish" "fetch " "$(in_fish 'cachew cache fe')"
    same "fish" "--json " "$(in_fish 'cachew cache fetch --js')"
    same "fish" "build " "$(in_fish 'cachew index bui')"
    same "fish" "some.json " "$(in_fish 'cachew run so')"
    same "zsh" "cachew explain " "$(in_zsh 'cachew exp')"
    same "zsh" "cachew help explain " "$(in_zsh 'cachew help exp')"
    same "zsh" "cachew run --skip-bad " "$(in_zsh 'cachew run --ski')"
    same "zsh" "cachew cache fetch " "$(in_zsh 'cachew cache fe')"
    same "zsh" "cachew cache fetch --json " "$(in_zsh 'cachew cache fetch --js')"
    same "zsh" "cachew index build " "$(in_zsh 'cachew index bui')"
    same "zsh" "cachew run some.json " "$(in_zsh 'cachew run so')"
}
# On a narrow terminal lists leave out what matters least, and long lines of explain are broken.
case_narrow() {
    command -v script >/dev/null || skip "script is not here (package bsdutils)"
    printf '%s' '{"pipeline": [{"op": "range", "stop": 100}, {"op": "batch", "size": 10}]}' >"$work/dense.json"
    begin_dispatcher
    begin_worker w1
    run night "$work/dense.json" --name night
    same "running" 1 "$("$cachew" jobs --running --dispatcher "$DISPATCHER" | wc -l)"
    same "wide" "1 1" "$(on_terminal 250 jobs | grep -c 'WORKER TIME') $(on_terminal 250 jobs | grep -c night)"
    for command in jobs workers "explain night"; do
        on_terminal 80 "$command" >"$work/narrow.out"
        [ "$(awk '{ if (length($0) > n) n = length($0) } END { print n + 0 }' "$work/narrow.out")" -le 80 ] || fail "$command: $(cat "$work/narrow.out")"
        grep -qE 'night|ready' "$work/narrow.out" || fail "$command: $(cat "$work/narrow.out")"
    done
}
# An interrupt leaves no line of progress before the prompt.
case_interrupted() {
    printf '%s' '{"pipeline": [{"op": "range", "stop": 100000}, {"op": "batch", "size": 10}]}' >"$work/long.json"
    begin_dispatcher
    begin_worker w1
    begin screen /usr/bin/python3 -c 'import pty, sys; pty.spawn(sys.argv[1:])' sh -c "echo \$\$ >'$work/pid'; exec '$cachew' run '$work/long.json' --step-ms 20 --dispatcher '$DISPATCHER'"
    wait_until "a line of progress" grep -q 'epoch 0 \[' "$work/screen.out"
    kill -INT "$(cat "$work/pid")"
    wait_for screen
    same "what the screen ends with" "$(printf '\r\033[K' | od -c)" "$(tail -c 4 "$work/screen.out" | od -c)"
}
on_terminal() { # COLUMNS COMMAND
    local wide=$1
    script -qec "stty cols $wide rows 24; '$cachew' $2 --dispatcher '$DISPATCHER'" /dev/null </dev/null | tr -d '\r'
}
# What each command says without a dispatcher: what it is for; that it does not know an option or a word; and that nobody is there.
case_arguments() {
    local command status commands asking
    mapfile -t commands < <("$cachew" --help | sed -n 's/^  \([a-z]*\)  .*/\1/p' | grep -vx -e cache -e index
        for command in cache index; do "$cachew" $command --help | sed -n "s/^  \([a-z]*\)  .*/$command \1/p"; done)
    [ ${#commands[@]} -gt 20 ] || fail "there are only ${#commands[@]} commands"
    for command in "${commands[@]}"; do
        # shellcheck disable=SC2086
        "$cachew" $command --help >"$work/help" 2>&1 || fail "$command --help: status $?"
        grep -q "^[Uu]sage: cachew $command" "$work/help" || fail "$command --help: $(cat "$work/help")"
        # shellcheck disable=SC2086
        says_one_line 2 "unknown option --no-such-option" $command --no-such-option
        # shellcheck disable=SC2086
        says_one_line 2 "unexpected argument|is required|: [a-z]" $command a b c d e
    done
    asking=("jobs" "workers" "tenants" "metrics" "top --once" "explain j" "decisions" "remove j" "scale j off" "skip j 1" "drain w" "backup $work/copy"
        "cache ls" "cache evict --all" "cache pin 0" "cache unpin 0" "cache scan" "cache status")
    for command in "${asking[@]}"; do
        # shellcheck disable=SC2086
        says_one_line 1 "$own_host:1" $command --dispatcher "$own_host:1"
        # shellcheck disable=SC2086
        says_one_line 1 "which dispatcher\?|local:" $command --dispatcher local:
    done
    says_one_line 2 "no-such-command" no-such-command
    says_one_line 2 "no-such-command" cache no-such-command
}
# says_one_line STATUS REGEX COMMAND...: it ends with the status, and with one line that matches.
says_one_line() {
    local expected=$1 regex=$2 status lines
    shift 2
    timeout 60 "$cachew" "$@" >"$work/said" 2>"$work/said.err" </dev/null
    status=$?
    mapfile -t lines <"$work/said.err"
    [ "$status" -eq "$expected" ] || fail "$*: status $status: ${lines[*]}"
    [[ ${#lines[@]} -eq 1 && ${lines[0]} =~ $regex ]] || fail "$*: ${lines[*]}"
}
# Who writes to a full device is told so, whatever he asks.
case_full() {
    local command
    printf '%s' '{"pipeline": [{"op": "range", "stop": 20}, {"op": "batch", "size": 10}]}' >"$work/dense.json"
    listen=unix:$work/dispatcher.sock
    begin_dispatcher
    begin_worker w1
    run kept "$work/dense.json" --name kept
    for command in "--help" "--version" "run --help" "ops" "check $work/dense.json" "jobs" "jobs --json" "workers --json" "tenants" "metrics" "explain kept" \
        "explain kept --json" "top --once" "run $work/dense.json" "run $work/dense.json --json --epochs 1000000"; do
        # shellcheck disable=SC2086
        CACHEW_DISPATCHER=$DISPATCHER full_output $command
    done
    expect_error batches "cannot write /dev/full: No space left" "$cachew" run "$work/dense.json" --dispatcher "$DISPATCHER" --epochs 1000000 --batches /dev/full
    same "lines of the error" 1 "$(wc -l <"$work/batches.log")"
}
full_output() { # COMMAND...
    local lines
    if timeout 60 "$cachew" "$@" >/dev/full 2>"$work/said.err" </dev/null; then fail "$*: succeeds on a full device"; fi
    mapfile -t lines <"$work/said.err"
    [[ ${#lines[@]} -eq 1 && ${lines[0]} =~ ^"cachew: cannot write to standard output: "("No space left on device"|"an earlier write failed")$ ]] || fail "$*: ${lines[*]}"
}
# CACHEW_CPU: a worker in plain C gives the batches of one with all that this CPU has, tells its level, and refuses what is no level.
case_cpu() {
    photos
    cat >"$work/photos.json" <<JSON
{"pipeline": [{"op": "files", "pattern": "$work/photos/**/*.jpg"}, {"op": "read_file"}, {"op": "decode_image"},
  {"op": "random_resized_crop", "size": 48}, {"op": "random_flip"}, {"op": "normalize", "mean": 0.5}, {"op": "batch", "size": 8}]}
JSON
    begin_dispatcher
    begin_worker fast
    run fast "$work/photos.json"
    end fast
    CACHEW_CPU=plain begin_worker plain
    run plain "$work/photos.json"
    [ -n "$(hashes fast)" ] || fail "no hash: $(cat "$work/fast.out")"
    same "the hash in plain C" "$(hashes fast)" "$(hashes plain)"
    CACHEW_CPU=plain "$CACHEW_BIN/cachew-worker" --version | says -F 'kernels: plain (this CPU can run ' || fail "--version"
    CACHEW_CPU='' "$CACHEW_BIN/cachew-worker" --version | says -E '^kernels: ([a-z0-9]+) \(this CPU can run \1\)$' || fail "--version without a cap"
    CACHEW_CPU=pliant expect_error cpu 'CACHEW_CPU: "pliant" is none of plain, avx2, avx512' "$CACHEW_BIN/cachew-worker" --dispatcher "$DISPATCHER"
}
case_no_hash() {
    printf '%s' '{"pipeline": [{"op": "range", "stop": 20}, {"op": "batch", "size": 10}]}' >"$work/dense.json"
    run json "$work/dense.json" --no-hash --batches "$work/list"
    same "epochs" 1 "$(grep -c '^{"epoch":0,.*"seconds":' "$work/json.out")"
    if grep -qi hash "$work/json.out"; then fail "a hash of nothing: $(cat "$work/json.out")"; fi
    same "the list" "0 0 10 -,0 1 10 -" "$(paste -sd, "$work/list")"
}
# What the documents print can be copied.
case_documents() {
    local here
    here=$(dirname "$0")
    /usr/bin/python3 "$here/documented_pipelines.py" "$cachew" "$work" "$here/../../README.md" "$here"/../../docs/*.md >"$work/checked" ||
        fail "pipelines of documents: $(cat "$work/checked")"
}
run_case "$@"; exit
