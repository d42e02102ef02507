#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Everything that is decided and measured can be seen.
. "$(dirname "$0")/lib.sh"

write_sleepy() {
    printf '%s' '{"pipeline": [{"op": "range", "stop": 100000}, {"op": "sleep", "ms": 40}, {"op": "batch", "size": 1}]}' >"$work/sleepy.json"
}
begin_elastic() {
    begin_dispatcher --provisioner process --max-workers 4 --worker-arg=--threads=1 "--worker-arg=--listen=$own_host:0" --scale-window 500ms \
        --scale-in 500ms "$@"
}
decisions() { "$cachew" decisions --dispatcher "$DISPATCHER" --json "$@"; }
# How many decisions of a kind there are, and whether each is whole.
check_decisions() {
    /usr/bin/python3 -c '
import collections, json, sys
kinds, last = collections.Counter(), 0
for line in open(sys.argv[1]):
    d = json.loads(line)
    assert d["id"] > last, (d["id"], last)
    last = d["id"]
    assert d["reason"] and d["policy"] and d["time_ms"] > 0 and isinstance(d["candidates"], list), d
    assert (d["job"] is None) == (d["kind"] in ("provision", "evict")), d
    assert isinstance(d["inputs"], dict) and d["inputs"], d
    if d["kind"] == "autoscale":
        assert 0 < d["inputs"]["window"]["seconds"] and d["inputs"]["available"]["remote"] == 4 and d["choice"].endswith(" workers"), d
    if d["kind"] == "provision":
        assert {"wanted", "workers", "starting", "jobs"} <= set(d["inputs"]), d
    kinds[d["kind"]] += 1
for need in sys.argv[2:]:
    assert kinds[need] > 0, (need, dict(kinds))
' "$@" || fail "decisions: $(cat "$1")"
}
has_kind() { decisions --kind "$1" "${@:2}" | says '"kind":"'"$1"'"'; }
has_worker() { "$cachew" workers --json --dispatcher "$DISPATCHER" | says '"state":"ready"'; }
top_once() { "$cachew" top --once --dispatcher "$DISPATCHER" >"$work/text"; } # it waits for an answer for 3 s
drained() { decisions --kind provision | says '"choice":"drain '; }

# A job that is scaled: decisions of all kinds, the same again from a dispatcher that was killed; following ends with the job.
case_decisions() {
    write_sleepy
    state=$work/state listen=unix:$work/dispatcher.sock
    begin_elastic --cache-store "dir:$work/store"
    "$cachew" decisions --kind auto --dispatcher "$DISPATCHER" >"$work/kind.out" 2>&1 && fail "there are no decisions of this kind"
    says 'none of decisions: autocache, ' <"$work/kind.out" || fail "$(cat "$work/kind.out")"
    begin job "$cachew" run "$work/sleepy.json" --name sleepy --epochs 0 --dispatcher "$DISPATCHER" --timeout 120s --step-ms 10
    ask_until "the job" decisions sleepy
    begin follow "$cachew" decisions sleepy --json --follow --dispatcher "$DISPATCHER"
    ask_until "autoscale" has_kind autoscale sleepy
    ask_until "autocache" has_kind autocache sleepy
    ask_until "provision" has_kind provision
    wait_until "autoscale is followed" grep -qs '"kind":"autoscale"' "$work/follow.out" # what is removed is not
    wait_until "autocache is followed" grep -qs '"kind":"autocache"' "$work/follow.out"
    decisions >"$work/all"
    check_decisions "$work/all" autoscale autocache provision
    end dispatcher KILL
    begin_elastic --cache-store "dir:$work/store" --grace 1s
    decisions -n 1000 >"$work/again"
    head -n "$(wc -l <"$work/all")" "$work/again" | cmp - "$work/all" || fail "other decisions after the restart"
    is_gone follow && fail "following ended with the dispatcher"
    "$cachew" explain sleepy --json --dispatcher "$DISPATCHER" >"$work/explain" || fail "explain"
    ask_until "workers are back" has_worker
    end job TERM
    "$cachew" remove sleepy --dispatcher "$DISPATCHER" || fail "remove"
    wait_for follow || fail "following ended badly: $(cat "$work/follow.log")"
    check_decisions "$work/follow.out" autoscale autocache
    grep -q '"kind":"provision"' "$work/follow.out" && fail "a decision of the fleet among those of a job"
    ask_until "workers that nobody needs leave" drained
    expect_error none 'there is no job "sleepy"' "$cachew" decisions sleepy --dispatcher "$DISPATCHER"
}
# A job without a name is forgotten when its trainer is done; what was decided about it is not.
case_anonymous() {
    write_sleepy
    begin_elastic
    begin job "$cachew" run "$work/sleepy.json" --epochs 0 --dispatcher "$DISPATCHER" --timeout 120s --step-ms 10
    ask_until "autoscale" has_kind autoscale
    local id
    id=$(decisions --kind autoscale -n 1 | sed -n 's/.*"job":"\([^"]*\)".*/\1/p')
    end job TERM
    begin follow "$cachew" decisions "$id" --json --follow --dispatcher "$DISPATCHER"
    wait_for follow || fail "$(cat "$work/follow.log")"
    check_decisions "$work/follow.out" autoscale
}
# What a job's trainers and operators do, and its workers' hosts, also where there is neither a cache nor a policy.
case_explain() {
    write_sleepy
    begin_dispatcher --scale-window 200ms --heartbeat 20s
    begin_worker one
    begin job "$cachew" run "$work/sleepy.json" --name sleepy --epochs 0 --dispatcher "$DISPATCHER" --timeout 120s --step-ms 10
    measured() {
        "$cachew" explain sleepy --json --dispatcher "$DISPATCHER" >"$work/explain" 2>/dev/null &&
            [ "$(grep -o '"batch_s"' "$work/explain" | wc -l)" -gt 3 ] && ! grep -q '"op":"sleep"[^}]*"wall_ns":0.0' "$work/explain"
    }
    ask_until "windows and counts" measured
    "$cachew" workers --json --dispatcher "$DISPATCHER" >"$work/workers"
    /usr/bin/python3 -c '
import json, sys
said, worker = json.load(open(sys.argv[1])), json.load(open(sys.argv[2]))
job = said["standing"]
assert job["taken_bytes"] >= 8 * job["batches"] > 0 and job["copies"] <= job["batches"] + 100, job
assert job["autoscale"] == "off" and job["assigned"] == 1 and job["batches"] > 0 and job["trainer_seconds"] > job["wait_seconds"] > 0, job
for w in said["windows"]:
    assert w["remote"] == 1 and w["local"] == 0 and w["seconds"] > 0 and w["batches"] > 0 and 0 <= w["wait_share"] <= 1, w
assert max(w["wait_share"] for w in said["windows"]) > 0.3, said["windows"]  # 40 ms an element, and a step of 10
assert [o["op"] for o in said["operators"]] == ["range", "sleep", "batch"], said["operators"]
sleep = said["operators"][1]
assert sleep["elements"] > 0 and sleep["wall_ns"] >= 40e6, sleep
assert said["says"] == [] and said["now"] is None, said
assert worker["host_cpus"] > 0 and 0 <= worker["host_cpu_share"] <= 1 and worker["cpu_cores"] > 0 and worker["jobs"] == [said["job"]], worker
' "$work/explain" "$work/workers" || fail "$(cat "$work/explain" "$work/workers")"
    "$cachew" explain sleepy --dispatcher "$DISPATCHER" >"$work/text" || fail "explain"
    grep -q 'the trainer waits' "$work/text" || fail "$(cat "$work/text")"
    grep -qE '^sleep +sleep' "$work/text" || fail "$(cat "$work/text")"
    expect_error place 'no trainer of this job allows workers beside it' "$cachew" scale sleepy --place fixed:1,1 --dispatcher "$DISPATCHER"
    end job TERM
}
# Two jobs that want six workers of four: each is told why it has two, and when it has what it wants again.
case_short() {
    write_sleepy
    begin_elastic --min-workers 4
    all_there() { [ "$("$cachew" workers --json --dispatcher "$DISPATCHER" | grep -c '"state":"ready"')" -eq 4 ]; }
    ask_until "four workers" all_there # who gets fewer of those that are there while others start says so, too
    begin first "$cachew" run "$work/sleepy.json" --name first --epochs 0 --dispatcher "$DISPATCHER" --timeout 120s --step-ms 10 --autoscale fixed:3
    begin second "$cachew" run "$work/sleepy.json" --name second --epochs 0 --dispatcher "$DISPATCHER" --timeout 120s --step-ms 10 --autoscale fixed:3
    ask_until "the first is short" has_kind share first
    ask_until "the second is short" has_kind share second
    decisions second --kind share >"$work/short"
    grep -q '"choice":"2 workers","reason":"It wants 3; all jobs together want 6, and there are no more than 4."' "$work/short" || fail "$(cat "$work/short")"
    grep -q '"wanted":3,"share":2.0},.*"wanted":3,"share":2.0}' "$work/short" || fail "$(cat "$work/short")"
    end first TERM
    whole() { decisions second --kind share | says '"choice":"3 workers"'; }
    ask_until "it has what it wants" whole
    same "decisions" 2 "$(decisions second --kind share | wc -l)"
    end second TERM
}
# Workers beside the trainer are told apart from the others, in decisions and in what is measured.
case_placed() {
    write_sleepy
    begin_elastic
    begin job "$cachew" run "$work/sleepy.json" --name sleepy --epochs 0 --dispatcher "$DISPATCHER" --timeout 120s --step-ms 10 --local-workers 1 --local-threads 1 --autoplace fixed:1,1
    placed() {
        "$cachew" explain sleepy --json --dispatcher "$DISPATCHER" 2>/dev/null | /usr/bin/python3 -c '
import json, sys
said = json.load(sys.stdin)
job, windows, says = said["standing"], said["windows"], said["says"]
sys.exit(not (job["local"] == 1 and job["assigned"] == 2 and windows and windows[-1]["local"] == windows[-1]["remote"] == 1 and
              [d["kind"] for d in says] == ["autoplace"] and job["autoplace"] == "fixed:1,1" and job["wanted_local"] == 1))' 2>/dev/null
    }
    ask_until "a window with one of each" placed
    decisions sleepy --kind autoplace >"$work/placed"
    check_decisions "$work/placed" autoplace
    ask_until "the view" top_once
    "$cachew" metrics --dispatcher "$DISPATCHER" >"$work/metrics" || fail "metrics"
    grep -qE '^sleepy .* 1/1\+1 ' "$work/text" || fail "$(cat "$work/text")"
    grep -q ' beside sleepy' "$work/text" || fail "$(cat "$work/text")"
    "$cachew" explain sleepy --dispatcher "$DISPATCHER" >"$work/explain" || fail "explain"
    grep -q '^Workers: 2, of these 1 beside the trainer; autoplace fixed:1,1 wants 1 remote and 1 local ones, ' "$work/explain" || fail "$(cat "$work/explain")"
    grep -qE '^cachew_job_local_workers\{.*name="sleepy".*\} 1.0' "$work/metrics" || fail "$(cat "$work/metrics")"
    end job TERM
}
# Metrics: by the tool and by HTTP the same, each line in order, and they count.
case_metrics() {
    write_sleepy
    begin_elastic --cache-store "dir:$work/store" --metrics-listen "$own_host:0" --heartbeat 20s
    local port url
    port=$(sed -n 's/.*metrics by HTTP.*port \([0-9]*\).*/\1/p' "$work/dispatcher.log")
    url=http://$own_host:$port
    same "health" ok "$(curl -sS --noproxy '*' "$url/healthz")"
    begin job "$cachew" run "$work/sleepy.json" --name 'a "name" \ with' --tenant team --epochs 0 --dispatcher "$DISPATCHER" --timeout 120s --step-ms 10
    scraped() { curl -sS --noproxy '*' "$url/metrics" >"$work/scraped" && grep -q 'cachew_node_elements_total.*op="sleep"} [1-9]' "$work/scraped" && grep -q 'kind="autoscale"} [1-9]' "$work/scraped"; }
    ask_until "counts" scraped
    "$cachew" metrics --dispatcher "$DISPATCHER" >"$work/metrics" || fail "cachew metrics"
    /usr/bin/python3 "$(dirname "$0")/../support/check_metrics.py" "$work/scraped" "$work/metrics" || fail "$(cat "$work/metrics")"
    same "other pages" 404 "$(curl -sS --noproxy '*' -o /dev/null -w '%{http_code}' "$url/other")"
    same "other methods" 405 "$(curl -sS --noproxy '*' -o /dev/null -w '%{http_code}' -X DELETE "$url/metrics")"
    kill -STOP "${pid_of[dispatcher]}" # it does not answer; but when it goes on
    begin waiting curl -sS --noproxy '*' "$url/healthz"
    kill -CONT "${pid_of[dispatcher]}"
    wait_for waiting || fail "curl"
    same "health" ok "$(cat "$work/waiting.out")"
    expect_error taken "$port" timeout 60 "$CACHEW_BIN/cachew-dispatcher" --listen "$own_host:0" --state-dir "$work/other" --metrics-listen "$own_host:$port"
    end dispatcher TERM || fail "the dispatcher did not end well"
    end job TERM
}
# The live view: once as JSON and as text, in a terminal, and over a dispatcher that goes and comes.
case_top() {
    write_sleepy
    listen=unix:$work/dispatcher.sock
    begin_elastic
    begin job "$cachew" run "$work/sleepy.json" --name sleepy --tenant team --epochs 0 --dispatcher "$DISPATCHER" --timeout 120s --step-ms 10
    seen() { "$cachew" top --once --json --dispatcher "$DISPATCHER" >"$work/top" && grep -q '"window":{' "$work/top" && grep -q '"kind":"autoscale"' "$work/top"; }
    ask_until "the job in the view" seen
    /usr/bin/python3 -c '
import json, sys
top = json.load(open(sys.argv[1]))
assert top["version"] and top["uptime_ms"] > 0 and top["generation"] > 0 and top["time_ms"] > 0, top
fleet = top["fleet"]
assert fleet["provisioner"] == "process" and fleet["max_workers"] == 4 and fleet["ready"] + fleet["draining"] == len(top["workers"]), fleet
assert fleet["threads"] == sum(w["threads"] for w in top["workers"]), fleet
job, = top["jobs"]
assert job["name"] == "sleepy" and job["tenant"] == "team" and job["state"] == "running" and job["wanted"] >= 1 and 0 < job["epoch_done"] < 1, job
assert job["window"]["batches"] > 0 and job["window"]["step_s"] >= 0.005, job
assert {"provision", "autoscale"} <= {d["kind"] for d in top["decisions"]} and all(d["inputs"] is None for d in top["decisions"]), top["decisions"]
' "$work/top" || fail "$(cat "$work/top")"
    ask_until "the view" top_once
    grep -qE '^sleepy +running .*[0-9.]+ .*team' "$work/text" || fail "$(cat "$work/text")"
    begin lines "$cachew" top --json --interval 100ms --dispatcher "$DISPATCHER"
    begin text "$cachew" top --interval 100ms --dispatcher "$DISPATCHER"
    /usr/bin/python3 "$(dirname "$0")/../support/watch_top.py" "$cachew" "$DISPATCHER" "${pid_of[dispatcher]}" || fail "in a terminal"
    wait_until "that it is lost" grep -q '"error":' "$work/lines.out"
    wait_until "that it is lost" grep -q '^connection lost' "$work/text.out"
    wait_for dispatcher
    expect_error lost 'cannot ask the dispatcher' "$cachew" top --once --dispatcher "$DISPATCHER"
    before=$(grep -c '"fleet":' "$work/lines.out")
    begin_elastic --grace 1s
    back() { [ "$(grep -c '"fleet":' "$work/lines.out")" -gt "$before" ]; }
    wait_until "that it is back" back
    end lines INT
    end text TERM
    /usr/bin/python3 -c 'import json, sys; [json.loads(line) for line in open(sys.argv[1])]' "$work/lines.out" || fail "a line is no JSON"
    end job TERM
}
run_case "$@"; exit
