#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the page for browsers: dispatcher/web/src becomes dispatcher/web/dist, which is stored. Needs node 18 and npm.
# --check builds elsewhere and compares: the stored page must be what its sources give.
set -euo pipefail
cd "$(dirname "$0")/../.."
web=$PWD/dispatcher/web work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$web"/{src,public,index.html,package.json,package-lock.json,tsconfig.json,vite.config.js} "$work"
cd "$work"
npm ci --no-audit --no-fund --silent
npx --no-install tsc --noEmit
npx --no-install vite build --logLevel warn
bytes=$(cat dist/* | wc -c)
[ "$bytes" -lt 300000 ] || { echo "the page has $bytes bytes" >&2; exit 1; }
if [ "${1:-}" = --check ]; then
    diff -r dist "$web/dist" || { echo "dispatcher/web/dist is not what its sources give: run tests/web/build.sh" >&2; exit 1; }
    echo "the page is up to date: $bytes bytes"
else
    rm -rf "$web/dist" && cp -r dist "$web/dist"
    /usr/bin/python3 "$web/../../tests/lint/web.py" --write "$web/../.."
fi
