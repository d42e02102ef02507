# SPDX-License-Identifier: Apache-2.0
"""A module that functions of python_functions.py use from two modules away."""
import threading

FACTOR = 3
LOCK = threading.Lock()  # nothing that can be sent to a worker


def far(x):
    return x * FACTOR


def one(x):
    return 1 if x != 3 else 1 // (x - 3)
