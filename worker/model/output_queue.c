/* SPDX-License-Identifier: Apache-2.0 */
/* Outputs are rarely revoked, so revoking simply walks the whole heap. */
#include "worker/model/output_queue.h"

#include "base/mem.h"

/* Outputs of at most this size are copied into their wire form when they are queued, and copied
 * again when they are sent: that costs less than keeping a batch. */
#define PACKED_MAX 1024
/* Bytes that an output needs in the queue: the pointer, and the spare capacity of a growing
 * array. */
#define PLACE_BYTES (2 * sizeof(struct cw_output *))

static bool is_small(const struct cw_batch *batch)
{
    return !batch->buf || (batch->buf->len <= PACKED_MAX && batch->buf->tag == 0);
}

struct cw_output *cw_output_new(struct cw_batch *batch, struct cw_lease_id lease)
{
    struct cw_wire_size size = {0};
    if (is_small(batch))
        size = cw_wire_output_size(batch);
    size_t own = sizeof(struct cw_output) + size.head + size.payload;
    struct cw_output *output = cw_mem_new(own);
    output->epoch = batch->epoch;
    output->item = batch->item;
    output->lease = lease;
    output->bytes = batch->buf ? batch->buf->len : 0;
    output->size = size;
    output->held = cw_mem_cost(own) + PLACE_BYTES;
    if (is_small(batch)) {
        cw_wire_output_pack(batch, size, output->packed);
        cw_batch_unref(batch);
    } else {
        output->batch = batch;
        output->held += cw_batch_held(batch);
    }
    return output;
}

void cw_output_free(struct cw_output *output)
{
    cw_batch_unref(output->batch);
    cw_mem_free(output);
}

static bool before(const struct cw_output *a, const struct cw_output *b)
{
    return cw_item_before(a->epoch, a->item, b->epoch, b->item);
}

static void sift_up(struct cw_outq *q, size_t i)
{
    struct cw_output *o = q->v[i];
    while (i > 0 && before(o, q->v[(i - 1) / 2])) {
        q->v[i] = q->v[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    q->v[i] = o;
}

static void sift_down(struct cw_outq *q, size_t i)
{
    struct cw_output *o = q->v[i];
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= q->n)
            break;
        if (child + 1 < q->n && before(q->v[child + 1], q->v[child]))
            child++;
        if (!before(q->v[child], o))
            break;
        q->v[i] = q->v[child];
        i = child;
    }
    q->v[i] = o;
}

void cw_outq_push(struct cw_outq *q, struct cw_output *output)
{
    CW_GROW(q->v, q->n, q->cap);
    q->v[q->n++] = output;
    sift_up(q, q->n - 1);
}

struct cw_output *cw_outq_first(const struct cw_outq *q)
{
    return q->n > 0 ? q->v[0] : NULL;
}

struct cw_output *cw_outq_pop(struct cw_outq *q)
{
    struct cw_output *first = q->v[0];
    q->v[0] = q->v[--q->n];
    if (q->n > 0)
        sift_down(q, 0);
    return first;
}

void cw_outq_filter(struct cw_outq *q, cw_outq_drop_fn *drop, void *arg)
{
    size_t kept = 0;
    for (size_t i = 0; i < q->n; i++)
        if (!drop(arg, q->v[i]))
            q->v[kept++] = q->v[i];
    if (kept == q->n)
        return;
    q->n = kept;
    for (size_t i = kept / 2; i-- > 0;)
        sift_down(q, i);
}
