# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2154
# What the tests of the cache share. The oracle is always the list of batches, or the hash, of the same pipeline without a cache.

# cached_at OP FILE OUT [OPTIONS]: the pipeline with an operator `cache` behind the last OP.
cached_at() {
    /usr/bin/python3 - "$@" <<'PY' || fail "cached_at $*"
import json, sys
op, source, out = sys.argv[1:4]
graph = json.load(open(source))
nodes = graph["pipeline"]
at = max(i for i, node in enumerate(nodes) if node["op"] == op)
nodes.insert(at + 1, {"op": "cache", **json.loads(sys.argv[4] if len(sys.argv) > 4 else "{}")})
json.dump(graph, open(out, "w"))
PY
}
# cached FIELD [KEY=VALUE...]: of all keys in the catalogue (of those that have these values) together.
cached() {
    "$cachew" cache ls --json --dispatcher "$DISPATCHER" >"$work/ls.out" 2>"$work/ls.log" || fail "cachew cache ls: $(cat "$work/ls.log")"
    /usr/bin/python3 - "$work/ls.out" "$@" <<'PY'
import json, sys
rows = []
for line in open(sys.argv[1]):
    value = json.loads(line)
    rows += value.get("rows", [value]) if isinstance(value, dict) else value
wanted = [word.split("=", 1) for word in sys.argv[3:]]
print(sum(int(row[sys.argv[2]]) for row in rows if "key" in row and all(str(row.get(k)) == v for k, v in wanted)))
PY
}
has_cached() { [ "$(cached "$1" "${@:3}")" -ge "$2" ]; } # FIELD N [KEY=VALUE...]
wait_cached() { ask_until "$1 of the cache come to $2: $(cached "$1" "${@:3}")" has_cached "$@"; }
# of_three WHAT COMMAND...: succeeds the first, second or third time. A worker begins with what it knows of the cache, so the first job may compute what
# it has not heard of yet; but a cache that works only now and then is none.
of_three() {
    local what=$1
    shift
    "$@" || "$@" || "$@" || fail "three times in vain: $what"
}
# finds OP N HASH FILE ARGS...: a run of it finds N elements in the cache. OP computes whatever is not found.
finds() {
    local runs=0
    of_three "a run finds $2 elements in the cache" has_found "$@"
}
has_found() {
    local name=finds$((++runs))
    run $name "$4" --name $name "${@:5}"
    same "hash from the cache" "$3" "$(hashes $name)"
    ask_until "what $name has done is told" is_told $name "$1" "$2"
    [ "$(operators $name hits)" -ge "$2" ]
}
is_told() { [ "$(($(operators "$1" hits) + $(operators "$1" elements "$2")))" -ge "$3" ]; } # both come at once, some time after the batches
operators() { # JOB FIELD [OP]: the sum over its operators
    "$cachew" explain "$1" --json --dispatcher "$DISPATCHER" | /usr/bin/python3 -c 'import json, sys
print(int(sum(row[sys.argv[1]] for row in json.load(sys.stdin)["operators"] if row["op"] in (sys.argv[2:] or row["op"]))))' "${@:2}"
}
chunks_of() { find "$1" -name '*.chunk' | sort; } # DIRECTORY

# A pipeline that counts what it computes: each element takes a millisecond of sleep.
write_slow_pipeline() { # N
    printf '%s' "{\"pipeline\": [{\"op\": \"range\", \"stop\": $1}, {\"op\": \"sleep\", \"ms\": 1}, {\"op\": \"cache\"}, {\"op\": \"batch\", \"size\": 10}]}" \
        >"$work/slow.json"
}
# The photographs as garbage of the same size and time of change: whoever decodes one now fails. Only a cache can still give them.
spoil_photos() {
    find "$work/photos" -name '*.jpg' | while read -r photo; do
        touch -r "$photo" "$work/time"
        head -c "$(stat -c %s "$photo")" /dev/zero >"$work/zeroes"
        cat "$work/zeroes" >"$photo"
        touch -r "$work/time" "$photo"
    done
}
# from_cache NAME FILE ARGS...: as `run`, when nothing but the cache can give what is needed: while a worker has not heard of all that is in it, it computes,
# and the run fails.
from_cache() { of_three "$1: all comes from the cache" try_run "$@"; }
try_run() { timeout 300 "$cachew" run "$2" --json --dispatcher "${DISPATCHER:-local:}" --timeout 120s "${@:3}" >"$work/$1.out" 2>"$work/$1.log"; }
