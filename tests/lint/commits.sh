#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks the subjects of the commits since the rule began: at most 72 characters, an area, a colon, what changed.
# Usage: commits.sh SOURCE_DIR. With a file as second argument: checks the message in it (a commit-msg hook).
# Exits with 77 (skipped) without git, outside a repository, and in a clone that does not reach back to the beginning.
set -euo pipefail
root=$1
since=27810f3f2cadb05dbda4d71eeff022a042ba6e9c
# area[, area]: a folder, a file or a part of the project, in small letters
form='^[a-z][a-z0-9_./-]*(, ?[a-z][a-z0-9_./-]*)*: [^ ].*$'

check() { # subject, name of the commit
    [[ $1 == Merge\ * || $1 == fixup!\ * || $1 == squash!\ * ]] && return 0
    if [ "${#1}" -gt 72 ]; then
        echo "$2: the subject has ${#1} characters, 72 are allowed: $1"
        return 1
    elif ! [[ $1 =~ $form ]]; then
        echo "$2: the subject does not begin with an area and a colon: $1"
        return 1
    fi
}

if [ $# -gt 1 ]; then
    check "$(grep -v '^#' "$2" | head -1)" "commit message"
    exit
fi
command -v git >/dev/null || { echo "no git"; exit 77; }
git -C "$root" merge-base --is-ancestor "$since" HEAD 2>/dev/null || { echo "no history since $since"; exit 77; }
bad=0
while IFS=$'\t' read -r commit subject; do
    check "$subject" "$commit" || bad=1
done < <(git -C "$root" log --no-merges --format='%h%x09%s' "$since..HEAD")
exit $bad
