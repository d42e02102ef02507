/* SPDX-License-Identifier: Apache-2.0 */
/* A server stays while a request or a stream refers to it. */
#include "base/mem.h"
#include "daemon/daemon_int.h"

void cw_http_ref(struct cw_http *http)
{
    (void)__atomic_add_fetch(&http->refs, 1, __ATOMIC_RELAXED);
}

void cw_http_unref(struct cw_http *http)
{
    if (__atomic_sub_fetch(&http->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    cw_cond_fini(&http->cond);
    cw_mutex_fini(&http->mutex);
    cw_mem_free(http->cert);
    cw_mem_free(http->key);
    cw_mem_free(http);
}
