/* SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>
#include <string.h>
#include "base/mem.h"
#include "client/session/session_int.h"

#define LINK_BYTES_MIN (64ull << 10)

static uint64_t link_share(const struct cw_session *session)
{
    uint64_t share = session->conf.buffer_bytes / CW_MAX(session->links_n, 1);
    return CW_MAX(share, LINK_BYTES_MIN);
}

static struct cw_link *link_find(const struct cw_session *session, uint64_t worker_id)
{
    for (size_t i = 0; i < session->links_n; i++)
        if (cw_link_worker(session->links[i]) == worker_id)
            return session->links[i];
    return NULL;
}

static bool list_has(const Cachew__V1__Workers *list, const struct cw_link *link)
{
    for (size_t i = 0; i < list->n_workers; i++)
        if (list->workers[i]->worker_id == cw_link_worker(link) &&
            strcmp(list->workers[i]->address, cw_link_address(link)) == 0)
            return true;
    return false;
}

void cw_session_drop_links(struct cw_session *session)
{
    size_t kept = 0, n = session->links_n;
    session->links_n = 0; /* so that nothing walks a list half changed */
    for (size_t i = 0; i < n; i++)
        if (cw_link_is_over(session->links[i]))
            cw_link_close(session->links[i]);
        else
            session->links[kept++] = session->links[i];
    session->links_n = kept;
}

void cw_session_set_workers(struct cw_session *session, const Cachew__V1__Workers *list)
{
    for (size_t i = 0; i < session->links_n; i++)
        cw_link_set_listed(session->links[i], list_has(list, session->links[i]));
    cw_session_drop_links(session);
    uint64_t share =
        CW_MAX(session->conf.buffer_bytes / CW_MAX(list->n_workers, 1), LINK_BYTES_MIN);
    for (size_t i = 0; i < list->n_workers; i++) {
        const Cachew__V1__WorkerInfo *worker = list->workers[i];
        if (link_find(session, worker->worker_id))
            continue;
        CW_GROW(session->links, session->links_n, session->links_cap);
        struct cw_link *link =
            cw_link_new(session, worker->worker_id, worker->address, worker->host_id, share);
        session->links[session->links_n++] = link;
    }
    for (size_t i = 0; i < session->links_n; i++)
        cw_link_set_limit(session->links[i], link_share(session));
    cw_session_count_workers(session);
}

void cw_session_count_workers(struct cw_session *session)
{
    uint32_t up = 0;
    for (size_t i = 0; i < session->links_n; i++)
        up += cw_link_is_up(session->links[i]);
    atomic_store_explicit(&session->job->counts.workers, up, memory_order_relaxed);
}
