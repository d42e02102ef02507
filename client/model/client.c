/* SPDX-License-Identifier: Apache-2.0 */
/* Checks whether this process may use a client or a job. */
#include "client/model/client.h"

#include <unistd.h>

int cw_client_check_pid(pid_t pid, struct cw_err *err)
{
    if (pid != getpid())
        return cw_err_set(
            err, CW_E_STATE,
            "this process was forked from the one that connected: open a connection of its own "
            "(cachew_connect) after fork(), or start workers before they need the client");
    return 0;
}

int cw_client_check(const struct cachew_client *client, struct cw_err *err)
{
    if (!client || client->magic != CW_CLIENT_MAGIC)
        return cw_err_set(err, CW_E_STATE, "this is not an open client");
    return cw_client_check_pid(client->pid, err);
}
