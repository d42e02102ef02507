#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# docs/operators.md is what `cachew ops --markdown` prints. Usage: operators_doc.sh SOURCE_DIR BIN_DIR
set -uo pipefail
if ! diff -u "$1/docs/operators.md" <("$2/cachew" ops --markdown); then
    echo "docs/operators.md is not what the operators' tables say: \`cachew ops --markdown >docs/operators.md\`"
    exit 1
fi
