/* SPDX-License-Identifier: Apache-2.0 */
/* Writes that wait for their transaction, in order. A later write of a row replaces an earlier one.
 * So while the disk is slow or fails, the size of the queue depends on how many rows there are, and
 * not on how long it lasts. */
#include <string.h>
#include "base/mem.h"
#include "dispatcher/state/state_int.h"

struct cw_state_op *cw_state_op_new(enum cw_state_statement which, const char *doing)
{
    struct cw_state_op *op = CW_NEW(struct cw_state_op);
    op->which = which;
    op->doing = doing;
    return op;
}

void cw_state_op_free(struct cw_state_op *op)
{
    if (!op)
        return;
    for (int i = 0; i < op->n; i++)
        cw_buf_unref(op->v[i].buf);
    cw_str_fini(&op->bytes);
    cw_mem_free(op->key);
    cw_mem_free(op);
}

static struct cw_state_value *next_value(struct cw_state_op *op, enum cw_state_type type)
{
    CW_ASSERT(op->n < CW_STATE_VALUES_MAX);
    struct cw_state_value *value = &op->v[op->n++];
    value->type = type;
    return value;
}

void cw_state_add_u64(struct cw_state_op *op, uint64_t v)
{
    next_value(op, CW_STATE_INT)->number = v;
}

void cw_state_add_f64(struct cw_state_op *op, double v)
{
    next_value(op, CW_STATE_REAL)->real = v;
}

static void add_bytes(struct cw_state_op *op, enum cw_state_type type, const void *p, size_t n)
{
    struct cw_state_value *value = next_value(op, type);
    value->at = op->bytes.len;
    value->n = n;
    if (n > 0)
        cw_str_add_bytes(&op->bytes, p, n);
}

void cw_state_add_text(struct cw_state_op *op, const char *s)
{
    add_bytes(op, CW_STATE_TEXT, s, s ? strlen(s) : 0);
}

void cw_state_add_blob(struct cw_state_op *op, const void *p, size_t n)
{
    add_bytes(op, CW_STATE_BLOB, p, n);
}

void cw_state_add_buf(struct cw_state_op *op, const struct cw_state_blob *blob, struct cw_buf *buf)
{
    if (!buf) {
        cw_state_add_blob(op, blob->p, blob->n);
        return;
    }
    struct cw_state_value *value = next_value(op, CW_STATE_BLOB);
    value->n = blob->n;
    value->buf = cw_buf_ref(buf);
}

void cw_state_add_set(struct cw_state_op *op, const struct cw_set *set)
{
    struct cw_state_value *value = next_value(op, CW_STATE_BLOB);
    value->at = op->bytes.len;
    cw_state_set_bytes(set, &op->bytes);
    value->n = op->bytes.len - value->at;
}

static size_t cost(const struct cw_state_op *op)
{
    size_t bytes = sizeof(*op) + op->bytes.len;
    for (int i = 0; i < op->n; i++)
        bytes += op->v[i].buf ? op->v[i].n : 0;
    return bytes;
}

/* Returns which row the write is about: the letter of the table and the values that name the row.
 * NULL: nothing replaces it. */
static char *make_key(const struct cw_state_op *op)
{
    const struct cw_state_sql *sql = &cw_state_sql[op->which];
    if (sql->row == 0)
        return NULL;
    CW_STR_AUTO key = {0};
    cw_str_add_char(&key, sql->row);
    for (int i = 0; i < sql->key_n; i++) {
        const struct cw_state_value *value = &op->v[i];
        if (value->type == CW_STATE_INT)
            cw_str_addf(&key, "\x1f%llu", (unsigned long long)value->number);
        else
            cw_str_addf(&key, "\x1f%.*s", (int)value->n, cw_str_text(&op->bytes) + value->at);
    }
    return cw_str_take(&key);
}

static void unlink_op(struct cw_state_queue *queue, struct cw_state_op *op)
{
    *(op->prev ? &op->prev->next : &queue->first) = op->next;
    *(op->next ? &op->next->prev : &queue->last) = op->prev;
    queue->n--;
    queue->bytes -= cost(op);
    if (op->key && cw_strmap_get(&queue->by_key, op->key) == op)
        (void)cw_strmap_remove(&queue->by_key, op->key);
}

/* An operation that creates a row stays where it is in the queue, since later ones may need the
 * row. Only the removal of the row replaces it. */
static bool replaces(const struct cw_state_op *op, const struct cw_state_op *before)
{
    return before->which != CW_STATE_PUT_JOB || op->which == CW_STATE_REMOVE_JOB;
}

void cw_state_queue_add(struct cw_state_queue *queue, struct cw_state_op *op)
{
    op->key = make_key(op);
    struct cw_state_op *before = op->key ? cw_strmap_get(&queue->by_key, op->key) : NULL;
    if (before && replaces(op, before)) {
        unlink_op(queue, before);
        cw_state_op_free(before);
    }
    op->next = NULL;
    op->prev = queue->last;
    *(queue->last ? &queue->last->next : &queue->first) = op;
    queue->last = op;
    queue->n++;
    queue->bytes += cost(op);
    if (op->key)
        (void)cw_strmap_set(&queue->by_key, op->key, op);
}

void cw_state_queue_prepend(struct cw_state_queue *queue, struct cw_state_queue *older)
{
    while (older->last) {
        struct cw_state_op *op = older->last;
        unlink_op(older, op);
        struct cw_state_op *after = op->key ? cw_strmap_get(&queue->by_key, op->key) : NULL;
        if (after && replaces(after, op)) {
            cw_state_op_free(op);
            continue;
        }
        op->prev = NULL;
        op->next = queue->first;
        *(queue->first ? &queue->first->prev : &queue->last) = op;
        queue->first = op;
        queue->n++;
        queue->bytes += cost(op);
        if (op->key && !after)
            (void)cw_strmap_set(&queue->by_key, op->key, op);
    }
}

void cw_state_queue_clear(struct cw_state_queue *queue)
{
    while (queue->first) {
        struct cw_state_op *op = queue->first;
        unlink_op(queue, op);
        cw_state_op_free(op);
    }
    cw_strmap_fini(&queue->by_key);
    *queue = (struct cw_state_queue){0};
}
