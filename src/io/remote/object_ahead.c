/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of objects that are read before anybody needs them (io/ahead.h): each is a fetch for which no
 * thread waits. */
#include <stdatomic.h>

#include "base/mem.h"
#include "io/remote/object.h"
#include "io/remote/remote_loop.h"

/* Then it is left to the thread that needs the bytes, whose tries end as docs/sources.md says. */
#define PATIENCE_MS 10000

struct request {
    struct cw_fetch fetch;
    struct cw_io_fetch *asked;
    char *url;
    struct cw_loop_node cancel_node;
    atomic_bool
        is_cancelled; /* set before cancel_node is posted, whose call then frees the request */
    bool is_done;
};

static void request_free(struct request *r)
{
    cw_fetch_fini(&r->fetch);
    cw_mem_free(r->url);
    cw_mem_free(r);
}

static void on_end(struct cw_fetch *fetch)
{
    struct request *r = (struct request *)(void *)fetch; /* its first member */
    struct cw_io_fetch *asked = r->asked;
    asked->is_there = fetch->rc == 0 && fetch->got == asked->n && fetch->info.size >= 0;
    asked->info = fetch->info;
    if (asked->is_there)
        cw_object_set_state(&asked->info, r->url);
    asked->done(asked); /* from here on nobody cancels it */
    r->is_done = true;
    if (!atomic_load(&r->is_cancelled))
        request_free(r);
}

void cw_object_fetch(const struct cw_dialect *dialect, const char *url, struct cw_io_fetch *asked)
{
    struct request *r = CW_NEW(struct request);
    r->url = cw_mem_strdup(url);
    r->asked = asked;
    r->fetch = (struct cw_fetch){.dialect = dialect,
                                 .ask = {.method = "GET", .url = r->url},
                                 .offset = asked->offset,
                                 .n = asked->n,
                                 .dst = asked->dst,
                                 .fd = -1,
                                 .patience_ms = PATIENCE_MS,
                                 .only_range = true,
                                 .on_end = on_end};
    asked->request = r;
    cw_fetch_start(&r->fetch);
}

/* Called on the loop thread. */
static void cancel(void *arg)
{
    struct request *r = arg;
    cw_fetch_cancel(&r->fetch);
    request_free(r);
}

void cw_object_cancel(struct cw_io_fetch *asked)
{
    struct request *r = asked->request;
    atomic_store(&r->is_cancelled, true);
    r->cancel_node = (struct cw_loop_node){.fn = cancel, .arg = r};
    cw_loop_post_node(cw_remote_loop(), &r->cancel_node);
}
