#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The examples for audio in docs/examples/audio, on small data: they give what there is, and the same with several workers and whatever the
# CPU can do.
. "$(dirname "$0")/lib.sh"

examples=$(dirname "${BASH_SOURCE[0]}")/../../docs/examples/audio
stored=$(dirname "${BASH_SOURCE[0]}")/../ops

# WAV files of three rates, and of one channel and two; MP3 files are those of the operator's cases.
write_data() {
    mkdir -p "$work"/data/{speech,clips}
    /usr/bin/python3 - "$work/data" "$stored" <<'PYTHON'
import json, math, random, shutil, struct, sys, wave
data, stored, r = sys.argv[1], sys.argv[2], random.Random(3)
for i in range(40):
    rate, channels = (8000, 16000, 22050)[i % 3], 1 + i % 2
    with wave.open(f"{data}/speech/{i:02}.wav", "wb") as f:
        f.setnchannels(channels)
        f.setsampwidth(2)
        f.setframerate(rate)
        samples = [int(9000 * math.sin(0.1 * k + 1e-5 * k * k) + r.randrange(-999, 999)) for k in range(channels * r.randrange(rate, 3 * rate))]
        samples = samples[:len(samples) // channels * channels]
        f.writeframes(struct.pack("<%dh" % len(samples), *samples))
with open(f"{stored}/decode_audio.json") as f:
    cases = json.load(f)["cases"]
files = sorted({c["input"][0]["bytes"]["file"] for c in cases if "mp3" in c["name"] and "file" in c["input"][0]["bytes"]})
assert len(files) >= 4
for i, path in enumerate(files * 6):
    shutil.copy(f"{stored}/{path}", f"{data}/clips/{i:02}.mp3")
PYTHON
}

# check NAME ELEMENTS: of an epoch
check() {
    local expected
    write_data
    sed "s|/data/|$work/data/|" "$examples/$1.json" >"$work/$1.json"
    DISPATCHER='' run one "$work/$1.json" --epochs 2 --seed 7
    same "elements" "$2 $2" "$(field elements "$work/one.out" | paste -sd' ')"
    expected=$(hashes one)
    DISPATCHER='' run three "$work/$1.json" --epochs 2 --seed 7 --workers 3 --threads 2
    same "3 workers" "$expected" "$(hashes three)"
    CACHEW_CPU=plain DISPATCHER='' run plain "$work/$1.json" --epochs 2 --seed 7
    same "plain C" "$expected" "$(hashes plain)"
}
case_speech() { check speech 40; }
case_common_voice() { check common_voice 24; }
run_case "$@"; exit
