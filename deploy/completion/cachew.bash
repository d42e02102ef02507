# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Completion of the command cachew in bash: commands, their options, and files. It asks `cachew --help`, so it knows what this version has.
# Installed to share/bash-completion/completions; by hand: . cachew.bash

_cachew_words() { # what `cachew ... --help` lists: commands, or options
    "$@" --help 2>/dev/null | sed -nE 's/^  ([a-z]+)  .*/\1/p; s/^ +(-[a-z], )?(--[a-z-]+).*/\2/p'
}
_cachew() {
    local word=${COMP_WORDS[COMP_CWORD]} program=${COMP_WORDS[0]} at=1 command=("${COMP_WORDS[0]}")
    if [ "$COMP_CWORD" -gt 1 ]; then
        command+=("${COMP_WORDS[1]}")
        at=2
        if [[ ${COMP_WORDS[1]} == @(cache|index) && $COMP_CWORD -gt 2 ]]; then
            command+=("${COMP_WORDS[2]}")
            at=3
        fi
    fi
    [ "${COMP_WORDS[1]-}" != help ] || { command=("$program") at=2; }
    if [[ $word == -* || ($COMP_CWORD -eq 1 || ($COMP_CWORD -eq 2 && ${COMP_WORDS[1]} == @(cache|index|help))) && $at -le 2 ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_cachew_words "${command[@]}")" -- "$word")
    else
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
    fi
}
complete -o filenames -F _cachew cachew
