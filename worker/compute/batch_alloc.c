/* SPDX-License-Identifier: Apache-2.0 */
/* Allocates the memory of batches. Every larger batch is built in a slot of shared memory,
 * whichever client will get it: its client may be on the same host, and the pages of a slot exist
 * already, while those of fresh heap memory do not. */
#include "worker/compute/batch_alloc.h"

#include "worker/model/state.h"

#define SLOT_MIN ((size_t)32 << 10)

struct cw_buf *cw_wtask_batch_alloc(void *worker, size_t bytes, struct cw_err *err)
{
    struct cw_worker_state *w = worker;
    struct cw_buf *buf = bytes >= SLOT_MIN ? cw_shm_pool_get(w->pool, bytes, NULL) : NULL;
    if (!buf)
        buf = cw_buf_new(bytes);
    if (!buf)
        cw_err_set(err, CW_E_NOMEM, "no memory for a batch of %zu bytes", bytes);
    return buf;
}
