# SPDX-License-Identifier: Apache-2.0
# Completion of the command cachew in fish: commands and options with what they are for, and files. It asks `cachew --help`, so it knows what
# this version has. Installed to share/fish/vendor_completions.d; by hand: source cachew.fish

function __cachew_list # SED_EXPRESSION COMMAND...: what `COMMAND... --help` lists, with descriptions
    $argv[2..] --help 2>/dev/null | sed -nE $argv[1]
end
function __cachew_complete
    set -l words (commandline -opc)
    set -l last (commandline -ct)
    set -l n (count $words)
    set -l command $words[1]
    if test $n -gt 1; and test "$words[2]" != help
        set command $words[1..2]
        if contains -- $words[2] cache index; and test $n -gt 2
            set command $words[1..3]
        end
    end
    if string match -q -- '-*' $last
        __cachew_list 's/^ +(-[a-z], )?(--[a-z-]+)( [A-Z.=]+)?( +(.*))?$/\2\t\5/p' $command
    else if test $n -eq 1; or begin
            test $n -eq 2; and contains -- $words[2] cache index help
        end
        __cachew_list 's/^  ([a-z]+)  +(.*)/\1\t\2/p' $command
    else
        __fish_complete_path $last
    end
end
complete -c cachew -f -a '(__cachew_complete)'
