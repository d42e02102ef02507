# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# COMMAND | says [GREP OPTION]... REGEX: whether a line of what it prints matches. All of it is read: `grep -q`, and grep to /dev/null, end at the
# first match, a program that goes on writing dies of SIGPIPE, and with pipefail the answer is no. tests/lint/shell.sh finds those.
says() { [ "$(grep -c "$@")" -gt 0 ]; }
