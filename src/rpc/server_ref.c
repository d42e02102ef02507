/* SPDX-License-Identifier: Apache-2.0 */
/* References of a server: it counts its open calls, and is freed when it has shut down and none is
 * left. gRPC's report that a server has shut down does not mean that its calls are gone. */
#include "base/mem.h"
#include "rpc/server_int.h"

struct cw_rpc *cw_server_rpc(const struct cw_server *server)
{
    return server->rpc;
}

static void free_server(struct cw_server *server)
{
    cw_timer_free(server->grace);
    grpc_server_destroy(server->server);
    for (struct cw_server_part *part = server->parts, *next; part; part = next) {
        next = part->next;
        part->destroy(part);
    }
    for (size_t i = 0; i < server->methods_n; i++)
        cw_mem_free((char *)(uintptr_t)server->methods[i].path);
    cw_mem_free(server->methods);
    cw_strmap_fini(&server->by_path);
    server->rpc->objects--;
    cw_mem_free(server);
}

void cw_server_free_if_stopped(struct cw_server *server)
{
    if (!server->shut || server->posted > 0 || server->calls > 0)
        return;
    cw_loop_fn *fn = server->stopped;
    void *arg = server->arg;
    free_server(server);
    if (fn)
        fn(arg);
}

void cw_server_enter(struct cw_server *server)
{
    server->calls++;
}

void cw_server_leave(struct cw_server *server)
{
    server->calls--;
    cw_server_free_if_stopped(server);
}
