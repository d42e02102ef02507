/* SPDX-License-Identifier: Apache-2.0 */
/* The scratch memory that the threads of the pool keep between elements. */
#include "exec/exec_pool.h"

void cw_exec_tidy(struct cw_exec *exec, struct cw_exec_scratch *scratch)
{
    if (scratch->sheds != exec->sheds)
        cw_arena_trim(scratch->arena);
    scratch->sheds = exec->sheds;
    cw_arena_set_keep(scratch->arena, exec->keep);
    if (cw_arena_bytes(scratch->arena) > exec->keep)
        cw_arena_reset(scratch->arena);
    const size_t bytes = cw_arena_bytes(scratch->arena);
    if (bytes == scratch->counted)
        return;
    atomic_fetch_add_explicit(&exec->kept, bytes - scratch->counted, memory_order_relaxed);
    scratch->counted = bytes;
}

void cw_exec_limit_kept(struct cw_exec *exec, size_t bytes)
{
    cw_mutex_lock(&exec->mutex);
    exec->keep = CW_MIN(CW_EXEC_KEEP_BYTES, bytes / exec->threads_n);
    cw_mutex_unlock(&exec->mutex);
}

size_t cw_exec_kept(const struct cw_exec *exec)
{
    return atomic_load_explicit(&exec->kept, memory_order_relaxed);
}

void cw_exec_shed(struct cw_exec *exec)
{
    cw_mutex_lock(&exec->mutex);
    exec->sheds++;
    cw_cond_broadcast(&exec->cond);
    cw_mutex_unlock(&exec->mutex);
}
