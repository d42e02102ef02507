/* SPDX-License-Identifier: Apache-2.0 */
/* References of a server: it counts its open calls, and is freed when it has shut down and none is
 * left. gRPC's report that a server has shut down does not mean that its calls are gone. */
#include "base/limits.h"
#include "base/mem.h"
#include "rpc/server_int.h"

struct cw_rpc *cw_server_rpc(const struct cw_server *server)
{
    return server->rpc;
}

static void free_server(struct cw_server *server)
{
    cw_timer_free(server->grace);
    cw_door_fini(&server->door);
    cw_listener_fini(&server->listener);
    grpc_server_destroy(server->server);
    for (struct cw_server_part *part = server->parts, *next; part; part = next) {
        next = part->next;
        part->destroy(part);
    }
    for (size_t i = 0; i < server->methods_n; i++)
        cw_mem_free((char *)(uintptr_t)server->methods[i].path);
    cw_mem_free(server->methods);
    cw_mem_free(server->times);
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

size_t cw_server_method_index(const struct cw_server *server, const struct cw_method *method)
{
    return (size_t)(method - server->methods);
}

void cw_server_note_time(struct cw_server *server, size_t method, int64_t ns)
{
    server->times[method].messages++;
    cw_server_note_later(server, method, ns);
}

void cw_server_note_later(struct cw_server *server, size_t method, int64_t ns)
{
    struct cw_method_stat *stat = &server->times[method];
    stat->longest_ns = CW_MAX(stat->longest_ns, ns);
    stat->long_n += ns > CW_MESSAGE_LONG_NS;
}

void cw_server_set_request_max(struct cw_server *server, const char *path, size_t bytes)
{
    for (size_t i = 0; i < server->methods_n; i++)
        if (strcmp(server->methods[i].path, path) == 0)
            server->times[i].request_max = bytes;
}

void cw_server_set_queue_max(struct cw_server *server, size_t bytes)
{
    server->queue_max = bytes;
}

bool cw_server_next_method(const struct cw_server *server, size_t *i,
                           struct cw_method_time *ret_time)
{
    if (*i >= server->methods_n)
        return false;
    const struct cw_method_stat *stat = &server->times[*i];
    *ret_time = (struct cw_method_time){server->methods[*i].path, stat->messages, stat->longest_ns,
                                        stat->long_n};
    (*i)++;
    return true;
}

struct cw_server_calls cw_server_calls(const struct cw_server *server)
{
    const struct cw_door *door = &server->door;
    return (struct cw_server_calls){.open = server->calls,
                                    .silent = door->reading_n + door->waiting_n,
                                    .refused = door->refused,
                                    .timed_out = door->timed_out,
                                    .connections = server->listener.taken,
                                    .connections_refused = server->listener.refused,
                                    .full = cw_listener_is_full(&server->listener)};
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
