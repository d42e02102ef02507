#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The main job on real data, on one machine: installs what is missing, builds, starts a dispatcher and two workers,
# trains a classifier on Fashion-MNIST through the service, then streams photographs, and stops everything.
set -euo pipefail
cd "$(dirname "$0")/../.."

usage() {
    echo "usage: deploy/local/demo.sh [--epochs N]"
    echo "Runs cachew's main job on real data. Builds into build/release; keeps its data in build/data."
}
epochs=6
while [ $# -gt 0 ]; do
    case "$1" in
    --epochs) epochs=${2:?--epochs needs a number}; shift ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
    esac
    shift
done
. deploy/local/service.sh
say() { printf '\n== %s\n' "$*"; }

say "packages"
deploy/local/install.sh

say "build (release)"
build_release
bin=$PWD/build/release/bin

say "data"
# Real data come in Debian packages; they are unpacked here, not installed.
unpack() { # PACKAGE: to build/data/PACKAGE
    local dir=build/data/$1
    [ -e "$dir/.done" ] && return
    rm -rf "$dir" && mkdir -p "$dir"
    if ! ls "$dir"/*.deb >/dev/null 2>&1; then
        (cd "$dir" && { apt-get -qq download "$1" 2>/dev/null || { apt-get -qq update && apt-get -qq download "$1"; }; })
    fi
    dpkg-deb -x "$dir"/*.deb "$dir"
    rm "$dir"/*.deb
    touch "$dir/.done"
}
unpack dataset-fashion-mnist
unpack opencv-doc
fashion=$PWD/build/data/dataset-fashion-mnist/usr/share/datasets/fashion-mnist
photos=$PWD/build/data/photos
if [ ! -e "$photos/.done" ]; then
    rm -rf "$photos" && mkdir -p "$photos"
    # Photographs: the JPEG files of 40 kB and more (the smaller ones are figures).
    n=0
    while read -r file; do
        cp "$file" "$photos/$((n += 1))-$(basename "$file")"
    done < <(find build/data/opencv-doc -name '*.jpg' -size +40k | sort)
    touch "$photos/.done"
fi
echo "70,000 images of Fashion-MNIST; $(find "$photos" -name '*.jpg' | wc -l) photographs"

say "service: one dispatcher, two workers"
begin dispatcher "$bin/cachew-dispatcher" --listen 127.0.0.1:0 --state-dir "$work/state"
dispatcher=$address
begin worker-1 "$bin/cachew-worker" --dispatcher "$dispatcher" --listen 127.0.0.1:0 --threads 1
begin worker-2 "$bin/cachew-worker" --dispatcher "$dispatcher" --listen 127.0.0.1:0 --threads 1
"$bin/cachew" workers --dispatcher "$dispatcher"

say "training on Fashion-MNIST"
"$bin/trainer" "$fashion" "$dispatcher" "$epochs" | tee "$work/train.txt"
last=$(tail -n 1 "$work/train.txt")
value() { sed -n "s/.*[ :]$1=\([^ ]*\).*/\1/p" <<<"$last"; }

say "photographs: decode, crop, flip, normalize"
sed "s|/data/photos|$photos|; s|\"size\": 64|\"size\": 16|" docs/examples/photos.json >"$work/photos.json"
"$bin/cachew" run "$work/photos.json" --dispatcher "$dispatcher" --epochs 3 --seed 1 --json --batches "$work/batches" | tee "$work/photos.txt"
# Every batch number of every epoch, once, in order.
read -r jpeg_lost jpeg_repeated < <(awk '
    $1 != epoch { epoch = $1; next_number = 0 }
    $2 > next_number { lost += $2 - next_number }
    $2 < next_number { repeated++ }
    { next_number = $2 + 1 }
    END { print lost + 0, repeated + 0 }' "$work/batches")
jpeg_rate=$(sed 's/[{}"]//g; s/[,:]/ /g' "$work/photos.txt" |
    awk '{ for (i = 1; i < NF; i++) { if ($i == "elements") n += $(i + 1); if ($i == "seconds") t += $(i + 1) } } END { printf "%.0f", n / t }')

accuracy=$(value accuracy)
lost=$(($(value batches_lost) + jpeg_lost))
repeated=$(($(value batches_repeated) + jpeg_repeated))
say "the service after it"
"$bin/cachew" jobs --dispatcher "$dispatcher"
awk -v a="$accuracy" 'BEGIN { exit !(a > 0.80) }' || { echo "demo: accuracy $accuracy is not over 0.80" >&2; exit 1; }
[ "$lost" -eq 0 ] && [ "$repeated" -eq 0 ] || { echo "demo: batches lost: $lost, repeated: $repeated" >&2; exit 1; }
summary="demo: ok accuracy=$accuracy train_samples_per_s=$(value samples_per_s) jpeg_images_per_s=$jpeg_rate batches_lost=$lost batches_repeated=$repeated"
end_daemons
echo
echo "$summary"
