/* SPDX-License-Identifier: Apache-2.0 */
/* A client is disconnected when the last thing that stands on it is gone, whoever holds that: a
 * tensor of a batch may outlive all of our Python objects, and Python itself. */
#include <stdatomic.h>
#include <stdlib.h>
#include "client/python/py_api.h"

struct cw_py_link *cw_py_link_new(struct cachew_client *client, int writable)
{
    struct cw_py_link *link = malloc(sizeof(*link));
    if (!link) {
        cachew_disconnect(client);
        return NULL;
    }
    link->client = client;
    link->writable = writable;
    atomic_init(&link->refs, 1);
    return link;
}

struct cw_py_link *cw_py_link_ref(struct cw_py_link *link)
{
    atomic_fetch_add_explicit(&link->refs, 1, memory_order_relaxed);
    return link;
}

void cw_py_link_unref(struct cw_py_link *link)
{
    if (!link || atomic_fetch_sub_explicit(&link->refs, 1, memory_order_acq_rel) != 1)
        return;
    cachew_disconnect(link->client);
    free(link);
}
