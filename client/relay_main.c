/* SPDX-License-Identifier: Apache-2.0 */
/* cachew-relay: a process that was forked from one with gRPC must not use gRPC. So libcachew starts
 * this program there, and talks to it over standard input and output. The program speaks gRPC for
 * that process and ends when the process does. It is not to be run by hand. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/version.h"
#include "loop/loop.h"
#include "rpc/rpc.h"

int main(int argc, char **argv)
{
    if (argc != 2 || strcmp(argv[1], CW_VERSION) != 0) {
        fprintf(stderr,
                "cachew-relay %s is started by a libcachew of the same version, when a forked "
                "process connects; not by hand\n",
                CW_VERSION);
        return CW_RELAY_OTHER;
    }
    signal(SIGPIPE, SIG_IGN);
    cw_rpc_relay(cw_loop_new(), STDIN_FILENO, STDOUT_FILENO);
    return 0;
}
