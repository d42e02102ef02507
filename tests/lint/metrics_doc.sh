#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# docs/metrics.md is what `cachew-dispatcher --metrics-markdown` prints. Usage: metrics_doc.sh SOURCE_DIR BIN_DIR
set -uo pipefail
if ! diff -u "$1/docs/metrics.md" <("$2/cachew-dispatcher" --metrics-markdown); then
    echo "docs/metrics.md is not what dispatcher/admin/metric_items.h says: \`cachew-dispatcher --metrics-markdown >docs/metrics.md\`"
    exit 1
fi
