/* SPDX-License-Identifier: Apache-2.0 */
/* Memory for batches. */
#ifndef CW_WORKER_COMPUTE_BATCH_ALLOC_H
#define CW_WORKER_COMPUTE_BATCH_ALLOC_H

#include "base/err.h"
#include "data/batch.h"

/* The allocator for exec (cw_exec_alloc_fn); worker is a cw_worker_state. Any thread. */
struct cw_buf *cw_wtask_batch_alloc(void *worker, size_t bytes, struct cw_err *err);

#endif
