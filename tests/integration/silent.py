#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A server that takes connections and never says a word: silent.py HOST. Prints `ready HOST:PORT`, then `came` for each connection."""
import socket
import sys

listener = socket.create_server((sys.argv[1], 0))
print("ready %s:%d" % listener.getsockname(), flush=True)
kept = []
while True:
    kept.append(listener.accept())
    print("came", flush=True)
