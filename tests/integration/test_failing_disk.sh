#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A disk that begins to fail: parts of a store's chunks, of source files and of blocks of the source cache give EIO to a read, and SIGBUS to who has them mapped.
# What can be had elsewhere costs time; what cannot is an error that names the file. No worker dies of it.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cache_lib.sh"

# What stands at $work/files is seen at $work/disk, where parts of it fail as $work/bad says.
mount_disk() {
    mkdir "$work/files" "$work/disk"
    : >"$work/bad"
    /usr/bin/python3 -c 'import fusepy' 2>/dev/null || skip "the package python3-fusepy is not here"
    trap unmount_disk EXIT
    begin disk /usr/bin/python3 "$(dirname "$0")/../support/failing_fs.py" "$work/files" "$work/disk" "$work/bad"
    wait_until "the file system is mounted" is_ready_or_gone disk
    mountpoint -q "$work/disk" || skip "FUSE cannot be used here: $(cat "$work/disk.log")"
}
# spoil FILE: the page in its middle cannot be read any more.
spoil() {
    local middle=$(($(stat -c %s "$1") / 2 / 4096 * 4096))
    echo "$middle $((middle + 4096)) ${1#"$work/files/"}" >>"$work/bad"
}
spoil_each() { while read -r file; do spoil "$file"; done; }
all_live() {
    local name
    for name in "$@"; do ! is_gone "$name" || fail "$name died"; done
}

# cache PARAMETERS REASON: chunks that were written while the disk was well are read by workers that are new.
cache() {
    mount_disk
    write_pipelines
    DISPATCHER='' run reference "$work/fashion.json" --epochs 2 --seed 3
    cached_at zip "$work/fashion.json" "$work/cached.json"
    begin_dispatcher --cache-store "dir:$work/disk/cache?$1" --autocache off --cache-chunk-bytes 1M
    begin_worker w1
    run fill "$work/cached.json" --seed 3
    wait_cached records 10000
    end w1
    chunks_of "$work/files" >"$work/chunks"
    [ "$(wc -l <"$work/chunks")" -ge 4 ] || fail "too few chunks"
    sed -n '1~2p' "$work/chunks" | spoil_each
    begin_worker w2
    begin_worker w3
    # A job may end before a worker has read the index of a chunk, and then meets nothing of what is wrong with it: the next one does.
    ask_until "unreadable chunks are removed" have_met_all
    all_live w2 w3
    # Each is given up by name and with the reason. What was read of it before, perhaps in the last epoch, is written anew by who needs it next.
    cat "$work/w2.log" "$work/w3.log" | says -E "\.chunk.*$2.*Input/output error" || fail "no worker names a chunk and why it is given up"
    run later "$work/cached.json" --seed 3 --epochs 2
    same hashes "$(hashes reference)" "$(hashes later)"
    wait_cached records 10000
}
have_met_all() {
    run again "$work/cached.json" --seed 3 --epochs 2
    same hashes "$(hashes reference)" "$(hashes again)"
    bad_are_gone
}
bad_are_gone() {
    local file
    while read -r _ _ file; do [ ! -e "$work/files/$file" ] || return 1; done <"$work/bad"
}
case_mapped() { cache map=on 'byte [0-9]+ of the mapped file'; }
case_read() { cache map=off ''; }

# The command finds what cannot be read, and removes it when asked to.
case_verify() {
    mount_disk
    write_pipelines
    cached_at zip "$work/fashion.json" "$work/cached.json"
    begin_dispatcher --cache-store "dir:$work/disk/cache" --autocache off --cache-chunk-bytes 1M
    begin_worker w1
    run fill "$work/cached.json"
    wait_cached records 10000
    end w1
    end dispatcher
    chunks_of "$work/files" | sed -n 1p | spoil_each
    "$cachew" cache verify "dir:$work/disk/cache" >"$work/verify.out" 2>&1 && fail "an unreadable chunk is good"
    grep -q 'damaged.*Input/output error' "$work/verify.out" || fail "the chunk is not named: $(cat "$work/verify.out")"
    [ -e "$(chunks_of "$work/files" | sed -n 1p)" ] || fail "it was removed though nobody asked for it"
    "$cachew" cache verify "dir:$work/disk/cache" --remove-damaged >"$work/removed.out" 2>&1
    grep -q '^removed' "$work/removed.out" || fail "the chunk is not removed: $(cat "$work/removed.out")"
    bad_are_gone || fail "the chunk is still there"
    "$cachew" cache verify "dir:$work/disk/cache" >"$work/good.out" 2>&1 || fail "the rest is not good: $(cat "$work/good.out")"
}

# An element that cannot be read fails the job by the name of its file, whether bad elements are skipped or not: a disk that fails is no bad element.
case_source() {
    local file
    mount_disk
    write_pipelines
    mv "$work/photos" "$work/files/photos"
    sed "s|$work/photos|$work/disk/photos|" "$work/photos.json" >"$work/disk.json"
    file=$(find "$work/files/photos" -name '*.jpg' | sort | tail -n 1)
    begin_dispatcher
    begin_worker w1
    begin_worker w2
    run good "$work/disk.json"
    spoil "$file"
    expect_error photo "${file#"$work/files/"}.*Input/output error" "$cachew" run "$work/disk.json" --dispatcher "$DISPATCHER" --timeout 60s
    expect_error skip "${file#"$work/files/"}.*Input/output error" "$cachew" run "$work/disk.json" --skip-bad --dispatcher "$DISPATCHER" --timeout 60s
    : >"$work/bad"
    run later "$work/disk.json"
    same hash "$(hashes good)" "$(hashes later)"
    all_live w1 w2
}

# Blocks of source files that the cache's directory cannot give are read from the source.
case_source_cache() {
    mount_disk
    write_pipelines
    find "$work/photos" -exec touch -d '1 hour ago' {} +
    DISPATCHER='' run reference "$work/photos.json"
    begin_dispatcher
    begin_worker w1 --source-cache-dir "$work/disk/blocks"
    run fill "$work/photos.json"
    end w1
    find "$work/files/blocks" -type f ! -name usage >"$work/blocks"
    [ -s "$work/blocks" ] || fail "nothing was kept"
    spoil_each <"$work/blocks"
    begin_worker w2 --source-cache-dir "$work/disk/blocks"
    run again "$work/photos.json"
    same hash "$(hashes reference)" "$(hashes again)"
    all_live w2
}

run_case "$@"
