#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Becomes a program to which the kernel seems to have no Landlock: without_landlock.py PROGRAM [ARGUMENT...]."""
import ctypes
import os
import struct
import sys

ENOSYS, CREATE_RULESET = 38, 444  # the number of landlock_create_ruleset is the same on all machines
rules = (
    (0x20, 0, 0, 0),  # load the number of the call
    (0x15, 0, 1, CREATE_RULESET),  # if it is this one
    (0x06, 0, 0, 0x00050000 | ENOSYS),  # it fails
    (0x06, 0, 0, 0x7FFF0000),  # others do not
)
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *rule) for rule in rules))
program = struct.pack("HxxxxxxP", len(rules), ctypes.addressof(code))
libc = ctypes.CDLL(None, use_errno=True)
for call in ((38, 1, 0, 0, 0), (22, 2, ctypes.c_char_p(program), 0, 0)):  # PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP with SECCOMP_MODE_FILTER
    if libc.prctl(*call) != 0:
        sys.exit(f"prctl: {os.strerror(ctypes.get_errno())}")
os.execv(sys.argv[1], sys.argv[1:])
