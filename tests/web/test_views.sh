#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The page in a browser (views.py), and that it is built of its sources. What is missing is a failure: tests/run.sh --all
# installs it. The pictures stay in the build tree.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
: "${CACHEW_BIN:?is not set: run this through ctest}"
command -v chromium >/dev/null || { echo "no chromium: deploy/local/install.sh --everything"; exit 1; }
PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 "$here/views.py" "$CACHEW_BIN" "$(dirname "$CACHEW_BIN")/web_pictures"
"$here/build.sh" --check
