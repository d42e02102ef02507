/* SPDX-License-Identifier: Apache-2.0 */
/* Memory for received batches. Freed buffers are kept by size class and reused, since the page
 * faults of fresh memory cost more than the copy into it. Any thread. */
#ifndef CW_CLIENT_TRANSPORT_RECVPOOL_H
#define CW_CLIENT_TRANSPORT_RECVPOOL_H

#include "base/buf.h"

struct cw_recvpool;
/* Makes a pool that keeps at most keep_bytes of idle memory. */
struct cw_recvpool *cw_recvpool_new(size_t keep_bytes) CW_MUST_CHECK;
/* Buffers in use stay valid. It accepts NULL. */
void cw_recvpool_free(struct cw_recvpool *pool);
/* Returns a buffer with one reference; NULL if there is no memory. */
struct cw_buf *cw_recvpool_get(struct cw_recvpool *pool, size_t bytes) CW_MUST_CHECK;

#endif
