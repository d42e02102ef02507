#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Prints what a tab makes of a line in zsh. Usage: zsh_completes.py DIRECTORY LINE, with the directory of _cachew.

zsh completes on a terminal: on one of its own, in which a widget writes the line into a file after the completion."""
import os
import pty
import shlex
import sys
import tempfile

directory, line = sys.argv[1:]
with tempfile.TemporaryDirectory() as home:
    done = os.path.join(home, "done")
    with open(os.path.join(home, ".zshrc"), "w", encoding="utf-8") as file:
        file.write(f"""PS1= ; unsetopt zle_bracketed_paste 2>/dev/null
fpath=({shlex.quote(directory)} $fpath)
autoload -Uz compinit && compinit -u -D
complete-and-say() {{ BUFFER={shlex.quote(line)}; CURSOR=$#BUFFER; zle complete-word; print -rn -- "$BUFFER" >{shlex.quote(done)}; exit 0 }}
zle -N complete-and-say
zle-line-init() {{ zle complete-and-say }}
zle -N zle-line-init
""")
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvpe("zsh", ["zsh", "-i"], {**os.environ, "ZDOTDIR": home, "TERM": "dumb"})
    try:
        while os.read(terminal, 4096):
            pass
    except OSError:
        pass  # zsh has ended
    os.waitpid(pid, 0)
    with open(done, encoding="utf-8") as file:
        print(file.read(), end="")
