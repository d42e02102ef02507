/* SPDX-License-Identifier: Apache-2.0 */
/* Stands between the worker's threads and the end of an item, by --wrap: the first 8 bytes of each
 * finished batch become the time at which it was finished. */
#include <string.h>

#include "base/clock.h"
#include "exec/task.h"

struct cw_batch *__real_cw_exec_task_finish(struct cw_exec_task *task,
                                            struct cw_thread_context *work, struct cw_err *err);
struct cw_batch *__wrap_cw_exec_task_finish(struct cw_exec_task *task,
                                            struct cw_thread_context *work, struct cw_err *err);

struct cw_batch *__wrap_cw_exec_task_finish(struct cw_exec_task *task,
                                            struct cw_thread_context *work, struct cw_err *err)
{
    struct cw_batch *batch = __real_cw_exec_task_finish(task, work, err);
    if (batch && batch->buf && batch->buf->len >= sizeof(int64_t)) {
        int64_t now = cw_clock_ns();
        memcpy(batch->buf->data, &now, sizeof(now));
    }
    return batch;
}
