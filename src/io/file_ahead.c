/* SPDX-License-Identifier: Apache-2.0 */
#include "io/file_ahead.h"

#include <stdatomic.h>

#include "base/mem.h"
#include "io/ahead.h"
#include "io/source_root.h"
#include "io/step_pool.h"

struct request {
    struct cw_pool_step step; /* first: it is the request */
    struct cw_io_fetch *asked;
    cw_file_range_fn *read;
    char *url;
    uint32_t reader; /* with whose rights the file is opened */
    atomic_bool is_cancelled;
};

static struct cw_step_pool pool = {
    .name = "cachew-fahead", .limit = CW_AHEAD_REQUESTS, .mutex = CW_MUTEX_INIT};

static void run(struct cw_pool_step *step)
{
    struct request *r = (struct request *)(void *)step;
    cw_source_root_read_as(r->reader);
    r->asked->is_there = !atomic_load(&r->is_cancelled) && r->read(r->url, r->asked);
    r->asked->done(r->asked); /* from here on nobody cancels it */
    cw_mem_free(r->url);
    cw_mem_free(r);
}

void cw_file_fetch(const char *url, struct cw_io_fetch *asked, cw_file_range_fn *read)
{
    struct request *r = CW_NEW(struct request);
    r->url = cw_mem_strdup(url);
    r->asked = asked;
    r->read = read;
    r->reader = cw_source_root_reads_as();
    asked->request = r;
    cw_step_pool_add(&pool, &r->step, run);
}

void cw_file_cancel(struct cw_io_fetch *asked)
{
    struct request *r = asked->request;
    atomic_store(&r->is_cancelled, true);
}
