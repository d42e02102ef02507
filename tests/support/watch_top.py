#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`cachew top` in a terminal of its own. watch_top.py CACHEW DISPATCHER DISPATCHER_PID: prints what went wrong, if anything did.

Looks at it, makes the terminal smaller, kills the dispatcher under it, quits by key; and then once more ended by a signal: the terminal must be
as it was each time."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

ENTER, LEAVE = b"\x1b[?1049h", b"\x1b[?1049l"


def run(columns, rows, *command):
    """In the terminal, until the command ends: its status, or 99 when the terminal is not as it was. (One that nobody holds any more is reset.)"""
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    before = termios.tcgetattr(0)
    signal.signal(signal.SIGTERM, lambda *_: None) # it is meant for the command
    status = subprocess.run(command, env={**os.environ, "TERM": "xterm"}, check=False).returncode
    return status & 0xff if termios.tcgetattr(0) == before else 99


class Top:
    def __init__(self, cachew, dispatcher, columns, rows):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os._exit(run(columns, rows, cachew, "top", "--interval", "100ms", "--dispatcher", dispatcher))
        self.bytes = b""

    def resize(self, columns, rows):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self):
        ready, _, _ = select.select([self.fd], [], [], 0.2)
        if not ready:
            return True
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            return False
        self.bytes += data
        return bool(data)

    def screen(self):
        """Lines of the last screen that is there as a whole."""
        whole = [part for part in self.bytes.split(b"\x1b[H") if part.endswith(b"\x1b[J") or b"\x1b[J" in part]
        text = re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", whole[-1].split(b"\x1b[J")[0]) if whole else b""
        return [line.strip("\r") for line in text.decode().split("\n")]

    def wait(self, what, test):
        end = time.monotonic() + 60
        while not test(self.screen()):
            if time.monotonic() > end or not self.read():
                sys.exit("waited in vain: %s: %r" % (what, self.bytes[-3000:]))

    def finish(self):
        while self.read():
            pass
        _, status = os.waitpid(self.pid, 0)
        if self.bytes.count(ENTER) != 1 or self.bytes.count(LEAVE) != 1 or not self.bytes.rstrip().endswith(LEAVE):
            sys.exit("the screen was not given back: %r" % self.bytes[-200:])
        return status


def main():
    cachew, dispatcher, dispatcher_pid = sys.argv[1], sys.argv[2], int(sys.argv[3])
    top = Top(cachew, dispatcher, 80, 24)
    top.wait("a job", lambda lines: any(line.startswith("sleepy") and "running" in line for line in lines))
    top.wait("24 lines of 80", lambda lines: len(lines) <= 24 and max(map(len, lines)) <= 80 and lines[-1] == "q quits")
    top.resize(40, 12)
    top.wait("a smaller screen", lambda lines: len(lines) <= 12 and max(map(len, lines)) <= 40 and lines[-1] == "q quits")
    other = Top(cachew, dispatcher, 100, 30)
    other.wait("the other one", lambda lines: lines[-1] == "q quits")
    os.kill(dispatcher_pid, signal.SIGKILL)
    top.wait("that the connection is lost", lambda lines: any("connection lost" in line for line in lines))
    os.write(top.fd, b"q")
    if top.finish() != 0:
        sys.exit("it ended badly by q")
    os.killpg(other.pid, signal.SIGTERM)
    if os.waitstatus_to_exitcode(other.finish()) != 130:
        sys.exit("it ended otherwise by SIGTERM")


main()
