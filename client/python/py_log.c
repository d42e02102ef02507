/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of the library go as datagrams to a socket, from which a thread of Python reads them: the
 * threads that say something must not wait for the GIL. What does not fit into the socket is lost. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include "client/python/py_api.h"

/* Reads as "LEVEL MODULE MESSAGE", cut at this length. */
#define LINE_BYTES 4096

static _Atomic int log_fd = -1;

static void on_message(void *arg, enum cachew_log_level level, const char *module,
                       const char *message)
{
    char line[LINE_BYTES];
    (void)arg;
    int n = snprintf(line, sizeof(line), "%d %s %s", (int)level, module, message);
    size_t length = n < 0 ? 0 : (size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1;
    int fd = atomic_load(&log_fd);
    if (fd >= 0)
        (void)send(fd, line, length, MSG_DONTWAIT | MSG_NOSIGNAL);
}

PyObject *cw_py_log_set(PyObject *module, PyObject *args)
{
    int fd, level;
    (void)module;
    if (!PyArg_ParseTuple(args, "ii:set_log", &fd, &level))
        return NULL;
    atomic_store(&log_fd, fd);
    cachew_set_log((enum cachew_log_level)level, fd >= 0 ? on_message : NULL, NULL);
    Py_RETURN_NONE;
}
