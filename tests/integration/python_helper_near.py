# SPDX-License-Identifier: Apache-2.0
"""A module that a function of python_functions.py uses, which uses another one."""
import python_helper_far


def near(x):
    return python_helper_far.far(x) + 1
