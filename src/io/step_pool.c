/* SPDX-License-Identifier: Apache-2.0 */
#include "io/step_pool.h"

static void work(void *arg)
{
    struct cw_step_pool *pool = arg;
    cw_mutex_lock(&pool->mutex);
    for (;;) {
        while (!pool->first) {
            pool->idle++;
            cw_cond_wait(&pool->cond, &pool->mutex);
            pool->idle--;
        }
        struct cw_pool_step *step = pool->first;
        pool->first = step->next;
        if (!pool->first)
            pool->last = NULL;
        cw_mutex_unlock(&pool->mutex);
        step->run(step);
        cw_mutex_lock(&pool->mutex);
    }
}

void cw_step_pool_add(struct cw_step_pool *pool, struct cw_pool_step *step,
                      void (*run)(struct cw_pool_step *step))
{
    step->run = run;
    step->next = NULL;
    cw_mutex_lock(&pool->mutex);
    if (pool->threads == 0)
        cw_cond_init(&pool->cond);
    *(pool->last ? &pool->last->next : &pool->first) = step;
    pool->last = step;
    if (pool->idle == 0 && pool->threads < pool->limit) {
        cw_thread_start(&pool->thread[pool->threads], pool->name, work, pool);
        pool->threads++;
    }
    cw_cond_signal(&pool->cond);
    cw_mutex_unlock(&pool->mutex);
}
