#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tenants: who is admitted, who gets how much of the workers, and what is charged.
. "$(dirname "$0")/lib.sh"

# write_sleepy MS [SIZE]: elements that take a thread MS each, batches of SIZE.
write_sleepy() {
    printf '{"pipeline": [{"op": "range", "stop": 100000}, {"op": "sleep", "ms": %s}, {"op": "batch", "size": %s}]}' "$1" "${2:-1}" >"$work/sleepy$1.json"
}
# begin_job NAME FILE ARGS...: a named job in the background that goes on until it is ended. Each has a seed of its own: they share no items.
seed=0
begin_job() {
    local name=$1 file=$2
    shift 2
    begin "$name" "$cachew" run "$file" --json --dispatcher "$DISPATCHER" --timeout 120s --name "$name" --seed $((++seed)) "$@"
}
# of jobs|tenants NAME EXPRESSION: in Python, of the row as r.
of() {
    "$cachew" "$1" --json --dispatcher "$DISPATCHER" | /usr/bin/python3 -c '
import json, sys
rows = {}
for line in sys.stdin:
    r = json.loads(line)
    rows[r.get("name") or r.get("tenant")] = r
r = rows.get(sys.argv[1])
print(eval(sys.argv[2]) if r else None)' "$2" "$3"
}
is() { [ "$(of "$1" "$2" "$3")" = True ]; }

case_options() {
    expect_error name '"te am" is no name of a tenant' "$CACHEW_BIN/cachew-dispatcher" --listen 127.0.0.1:0 --state-dir y --tenant 'te am:weight=1'
    expect_error key 'no "weigt" \(did you mean weight\?\)' "$CACHEW_BIN/cachew-dispatcher" --listen 127.0.0.1:0 --state-dir y --tenant team:weigt=1
    expect_error value 'max-memory: "lots" is not bytes' "$CACHEW_BIN/cachew-dispatcher" --listen 127.0.0.1:0 --state-dir y --tenant team:max-memory=lots
    expect_error quota 'cache-store URL is missing' "$CACHEW_BIN/cachew-dispatcher" --listen 127.0.0.1:0 --state-dir y --tenant team:cache-quota=1G
    write_sleepy 1
    begin_dispatcher --tenant team:weight=2.5,max-workers=3,max-jobs=4,max-memory=1G --tenant '*:max-jobs=7'
    # Those that are named are there from the start; limits that there are not are null.
    same "the named tenant" "team 2.5 3 4 1073741824 None 0" \
        "$(of tenants team '" ".join(str(r[k]) for k in ("tenant", "weight", "max_workers", "max_jobs", "max_memory", "cache_quota", "jobs"))')"
    expect_error long 'tenant' "$cachew" run "$work/sleepy1.json" --dispatcher "$DISPATCHER" --tenant "$(printf 'x%.0s' {1..65})"
    expect_error letters 'tenant.*letters' "$cachew" run "$work/sleepy1.json" --dispatcher "$DISPATCHER" --tenant 'a b'
    expect_error long_name 'name.*201 bytes, at most 200' "$cachew" run "$work/sleepy1.json" --dispatcher "$DISPATCHER" --name "$(printf 'x%.0s' {1..201})"
    expect_error no_text 'name.*UTF-8' "$cachew" run "$work/sleepy1.json" --dispatcher "$DISPATCHER" --name $'half \xc3'
    # What one side takes the others take, too.
    sed "s/100000/5/" "$work/sleepy1.json" >"$work/short.json"
    begin_worker w1
    run dotted "$work/short.json" --tenant team.a --name "$(printf '\xc3\xa4%.0s' {1..100})"
    same "jobs of team.a" 1 "$(of tenants team.a "r['jobs'] + 1")"
}
# One job too many is told so and may come when another is gone; so with memory. Other tenants have nothing to do with it, and who comes back is not asked.
case_admission() {
    write_sleepy 1
    sed "s/100000/50/" "$work/sleepy1.json" >"$work/short.json"
    begin_dispatcher --tenant few:max-jobs=1 --tenant small:max-memory=100M --tenant nobody:max-jobs=0
    begin_worker w1
    begin_job one "$work/sleepy1.json" --tenant few
    ask_until "it runs" is jobs one "r['consumed'] > 0"
    expect_error refused 'tenant few has 1 job, and may have 1 \(--tenant, max-jobs\): try again when one has ended' \
        "$cachew" run "$work/sleepy1.json" --dispatcher "$DISPATCHER" --tenant few
    run other "$work/short.json" --tenant other
    expect_error other_tenant 'exists with another tenant' "$cachew" run "$work/sleepy1.json" --dispatcher "$DISPATCHER" --name one --tenant other
    end dispatcher KILL
    listen=$DISPATCHER begin_dispatcher --tenant few:max-jobs=1 --tenant small:max-memory=100M
    local before
    before=$(of jobs one "r['consumed']")
    ask_until "it goes on" is jobs one "r['consumed'] > $before"
    expect_error refused 'tenant few has 1 job, and may have 1' "$cachew" run "$work/sleepy1.json" --dispatcher "$DISPATCHER" --tenant few
    end one
    "$cachew" remove one --dispatcher "$DISPATCHER" >/dev/null || fail "it cannot be removed"
    run two "$work/short.json" --tenant few
    # Memory: of this job 60 MB are counted, whatever it uses.
    begin_job large "$work/sleepy1.json" --tenant small --buffer 60M
    ask_until "it runs" is jobs large "r['consumed'] > 0"
    same "memory of the tenant" "62914560" "$(of tenants small "r['memory']")"
    expect_error memory 'tenant small: .* 104857600 bytes .*max-memory.* have 62914560, this one asks for 62914560: give it a smaller buffer' \
        "$cachew" run "$work/sleepy1.json" --dispatcher "$DISPATCHER" --tenant small --buffer 60M
    run smaller "$work/short.json" --tenant small --buffer 40M
}
# What was used outlives a dispatcher that is killed, and the job.
case_accounting() {
    write_sleepy 5
    local prices=(--worker-price 3600 --client-price 36000) usage="r['worker_seconds'], r['client_seconds'], r['cost']"
    begin_dispatcher "${prices[@]}" --tenant t:weight=2
    begin_worker w1
    begin_worker w2
    begin_job one "$work/sleepy5.json" --tenant t
    ask_until "it is charged" is jobs one "r['worker_seconds'] > 3 and r['client_seconds'] > 1.5 and r['elements'] > 100 and r['cpu_seconds'] > 0"
    # Two workers and a trainer: to each second of the trainer two of workers, when these were there at once.
    is jobs one "r['worker_seconds'] <= 2.01 * r['client_seconds']" || fail "$(of jobs one r)"
    is jobs one "abs(r['cost'] - r['worker_seconds'] - 10 * r['client_seconds']) < 0.02" || fail "$(of jobs one r)"
    "$cachew" jobs --dispatcher "$DISPATCHER" | says 'WORKER TIME *COST' || fail "the table does not show it"
    local before after
    before=$(of jobs one "($usage)")
    ask_until "that is stored" is jobs one "r['worker_seconds'] > ${before}[0] + 4"
    end dispatcher KILL
    listen=$DISPATCHER begin_dispatcher "${prices[@]}"
    is jobs one "all(now >= then for now, then in zip(($usage), $before))" || fail "before $before, after the restart $(of jobs one r)"
    after=$(of jobs one "r['elements']")
    ask_until "it goes on" is jobs one "r['elements'] > $after"
    end one
    ask_until "it has no client" is jobs one "r['clients'] == 0"
    after=$(of jobs one "($usage)")
    is tenants t "($usage) == $after" || fail "the tenant's is not its job's: $after, $(of tenants t r)"
    "$cachew" remove one --dispatcher "$DISPATCHER" >/dev/null || fail "it cannot be removed"
    same "the job" None "$(of jobs one r)"
    is tenants t "($usage) == $after and r['jobs'] == 0" || fail "it went with the job: $after, $(of tenants t r)"
    end dispatcher KILL
    begin_dispatcher
    is tenants t "($usage) == $after" || fail "it went with the dispatcher: $after, $(of tenants t r)"
    "$cachew" tenants --dispatcher "$DISPATCHER" | says '^t ' || fail "$("$cachew" tenants --dispatcher "$DISPATCHER")"
}
# all_are EXPRESSION: of the rows of all jobs by name, as r.
all_are() {
    "$cachew" jobs --json --dispatcher "$DISPATCHER" | /usr/bin/python3 -c '
import json, sys
r = {row["name"]: row for row in map(json.loads, sys.stdin)}
try:
    sys.exit(not eval(sys.argv[1]))
except KeyError: # it is not there yet
    sys.exit(1)' "$1"
}
begin_three() {
    local i
    for i in 1 2 3; do begin_worker "w$i"; done
    ask_until "three workers" eval '[ "$("$cachew" workers --json --dispatcher "$DISPATCHER" | grep -c ready)" -eq 3 ]'
}
# Twice the weight, twice the workers, when policies want as many as there are.
case_weights() {
    write_sleepy 5
    begin_dispatcher --tenant a:weight=2
    begin_three
    begin_job a "$work/sleepy5.json" --tenant a --autoscale fixed:3
    begin_job b "$work/sleepy5.json" --tenant b --autoscale fixed:3
    ask_until "two and one" all_are "r['a']['assigned'] == 2 and r['b']['assigned'] == 1 and r['a']['granted'] == 2 and r['b']['granted'] == 1"
    end a
    ask_until "all of it" all_are "r['b']['assigned'] == 3"
}
# Without policies both use all three, and the workers divide their time: twice the batches, and twice the worker time in the accounts.
case_weights_off() {
    write_sleepy 5
    begin_dispatcher --tenant a:weight=2
    begin_three
    begin_job b "$work/sleepy5.json" --tenant b
    ask_until "alone: all of it" all_are "r['b']['granted'] == 3 and r['b']['consumed'] > 20"
    begin_job a "$work/sleepy5.json" --tenant a
    ask_until "two and one" all_are "r['a']['granted'] == 2 and r['b']['granted'] == 1 and r['a']['assigned'] == 3 and r['b']['assigned'] == 3 and r['a']['consumed'] > 600"
    for _ in 1 2 3 4 5; do has_twice && return; done
    fail "not twice: $("$cachew" jobs --json --dispatcher "$DISPATCHER")"
}
# While some hundred elements are computed; all is read at one moment.
has_twice() {
    local t
    t=$("$cachew" jobs --json --dispatcher "$DISPATCHER" |
        /usr/bin/python3 -c 'import json, sys; print({r["name"]: (r["elements"], r["worker_seconds"]) for r in map(json.loads, sys.stdin)})')
    ask_until "some hundreds more" is jobs b "r['elements'] > ${t}['b'][0] + 800"
    all_are "all(1.5 < (r['a'][k] - ${t}['a'][i]) / (r['b'][k] - ${t}['b'][i]) < 2.7 for i, k in enumerate(('elements', 'worker_seconds')))"
}
# The higher one first, but the other keeps what it has a right to; it has all when the higher one is gone.
case_priority() {
    write_sleepy 5
    begin_dispatcher
    begin_three
    begin_job low "$work/sleepy5.json" --autoscale fixed:3
    ask_until "all of it" all_are "r['low']['assigned'] == 3"
    begin_job high "$work/sleepy5.json" --autoscale fixed:3 --priority 5
    ask_until "two and one" all_are "r['high']['assigned'] == 2 and r['low']['assigned'] == 1"
    local before
    before=$(of jobs low "r['consumed']")
    ask_until "the low one goes on" is jobs low "r['consumed'] > $before + 50"
    end high
    ask_until "all of it again" all_are "r['low']['assigned'] == 3"
}
# A tenant's jobs share what it may have, and others have the rest; a job has its own limit.
case_max_workers() {
    write_sleepy 5
    begin_dispatcher --tenant few:max-workers=1
    begin_three
    begin_job one "$work/sleepy5.json" --tenant few
    begin_job two "$work/sleepy5.json" --tenant few --autoscale fixed:3
    begin_job limited "$work/sleepy5.json" --tenant other --max-workers 2
    ask_until "half of one, half of one, two" all_are "r['one']['granted'] == r['two']['granted'] == 0.5 and r['limited']['granted'] == r['limited']['assigned'] == 2"
    same "workers of the tenant" "1 1.0" "$(of tenants few "str(r['workers']) + ' ' + str(r['granted'])")"
    local before after
    before=$(of jobs one "r['consumed']") after=$(of jobs two "r['consumed']")
    ask_until "both go on" all_are "r['one']['consumed'] > $before + 50 and r['two']['consumed'] > $after + 50"
}
# Five jobs on one worker, one of them with batches that take as long as all of another: all get on side by side, and all are done.
case_nobody_starves() {
    write_sleepy 8
    sed 's/100000/600/' "$work/sleepy8.json" >"$work/small.json"
    sed 's/"size": 1/"size": 600/; s/100000/1200/' "$work/sleepy8.json" >"$work/huge.json"
    begin_dispatcher
    local i
    begin_job j0 "$work/huge.json"
    for i in 1 2 3 4; do begin_job "j$i" "$work/small.json" --tenant "t$i"; done
    ask_until "five jobs" all_are "len(r) == 5"
    begin_worker w1
    ask_until "the four are in the middle at once, each has its fifth, and the huge one is not done" \
        all_are "all(50 < r['j%d' % i]['consumed'] < 600 for i in (1, 2, 3, 4)) and all(abs(row['granted'] - 0.2) < 1e-6 for row in r.values()) and r['j0']['state'] == 'running'"
    for i in 0 1 2 3 4; do wait_for "j$i" || fail "j$i: $(cat "$work/j$i.log")"; done
    same "batches of all" "2 600 600 600 600" "$(for i in 0 1 2 3 4; do field batches "$work/j$i.out"; done | paste -sd' ')"
}
run_case "$@"; exit
