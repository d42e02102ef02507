/* SPDX-License-Identifier: Apache-2.0 */
/* What a thread needs to encode by a model of SentencePiece. */
#include "ops/text/sp_model.h"

struct cw_sp_thread *cw_sp_thread_new(const struct cw_sp_model *model)
{
    struct cw_sp_thread *thread = CW_NEW(struct cw_sp_thread);
    cw_word_cache_init(&thread->cache);
    if (model->has_unused && model->kind == CW_SP_BPE)
        thread->left_n = CW_NEW_ARRAY(uint32_t, model->n);
    return thread;
}

void cw_sp_thread_free(struct cw_sp_thread *thread)
{
    if (!thread)
        return;
    cw_word_cache_fini(&thread->cache);
    cw_str_fini(&thread->normal);
    cw_ids_fini(&thread->ids);
    cw_ids_fini(&thread->word);
    cw_mem_free(thread->memory);
    cw_mem_free(thread->left_n);
    cw_mem_free(thread);
}

void *cw_sp_memory(struct cw_sp_thread *thread, size_t bytes, struct cw_err *err)
{
    if (bytes <= thread->memory_bytes)
        return thread->memory;
    cw_mem_free(thread->memory);
    bytes = CW_MAX(bytes, 4096);
    thread->memory = cw_mem_try(bytes);
    thread->memory_bytes = thread->memory ? bytes : 0;
    if (!thread->memory)
        cw_err_set(err, CW_E_NOMEM, "no memory for %zu bytes", bytes);
    return thread->memory;
}

int cw_sp_add(const struct cw_sp_model *model, struct cw_ids *ids, const uint8_t *p, size_t n,
              int32_t id, struct cw_err *err)
{
    int rc = cw_ids_reserve(ids, n, err);
    if (rc < 0)
        return rc;
    if (id != model->unk || !model->byte_fallback) {
        ids->v[ids->n++] = id;
        return 0;
    }
    for (size_t i = 0; i < n; i++)
        ids->v[ids->n++] = model->of_byte[p[i]];
    return 0;
}
