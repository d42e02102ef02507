/* SPDX-License-Identifier: Apache-2.0 */
/* Starts the process of a child, with nothing but its socket and its memory. */
#ifndef CW_PYTHON_PYTHON_SPAWN_H
#define CW_PYTHON_PYTHON_SPAWN_H

#include <stdint.h>

#include "base/err.h"
#include "loop/child.h"

/* Starts a process that runs python_child.py. ret_socket is our end of a socket of packets, ret_memory an
 * empty file in memory that cannot be made smaller; both are the caller's. */
int cw_python_spawn(uint64_t memory_bytes, struct cw_child *ret_process, int *ret_socket,
                    int *ret_memory, struct cw_err *err);

/* The text of python_child.py, and its length (made by embed.cmake). */
extern const unsigned char cw_python_program[];
extern const size_t cw_python_program_n;

#endif
