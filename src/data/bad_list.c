/* SPDX-License-Identifier: Apache-2.0 */
#include "data/bad_list.h"

#include <stdatomic.h>
#include <string.h>
#include "base/limits.h"
#include "base/mem.h"

#define TEXTS 5

/* An element, and its texts in one piece of memory. */
struct entry {
    struct cw_bad_element element;
    int64_t row;
    char *texts;
    size_t bytes; /* the length of all texts */
};
struct cw_bad_list {
    _Atomic int refs;
    struct entry *v;
    size_t n, cap, bytes;
    /* Elements from this row on were dropped, or would have been. So what remains does not depend on
     * the order in which elements are added. */
    int64_t cut;
};

struct cw_bad_list *cw_bad_list_new(void)
{
    struct cw_bad_list *list = CW_NEW(struct cw_bad_list);
    atomic_init(&list->refs, 1);
    list->cut = INT64_MAX;
    return list;
}

struct cw_bad_list *cw_bad_list_ref(struct cw_bad_list *list)
{
    if (list)
        atomic_fetch_add_explicit(&list->refs, 1, memory_order_relaxed);
    return list;
}

struct cw_bad_list *cw_bad_list_unref(struct cw_bad_list *list)
{
    if (!list || atomic_fetch_sub_explicit(&list->refs, 1, memory_order_acq_rel) > 1)
        return NULL;
    for (size_t i = 0; i < list->n; i++)
        cw_mem_free(list->v[i].texts);
    cw_mem_free(list->v);
    cw_mem_free(list);
    return NULL;
}

/* Returns the length of a text, or of its beginning if it is too long: up to the end of a
 * character. */
static size_t kept_len(const char *text)
{
    size_t len = strnlen(text, CW_BAD_TEXT_MAX + 1);
    if (len <= CW_BAD_TEXT_MAX)
        return len;
    len = CW_BAD_TEXT_MAX;
    while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
        len--;
    return len;
}

static struct entry entry_of(int64_t row, const struct cw_bad_element *element)
{
    struct entry entry = {.element = *element, .row = row};
    const char **texts[TEXTS] = {&entry.element.file, &entry.element.source, &entry.element.node,
                                 &entry.element.op, &entry.element.reason};
    size_t len[TEXTS];
    for (size_t i = 0; i < TEXTS; i++) {
        len[i] = *texts[i] ? kept_len(*texts[i]) : 0;
        entry.bytes += len[i];
    }
    char *at = entry.texts = cw_mem_new(entry.bytes + TEXTS);
    for (size_t i = 0; i < TEXTS; i++) {
        if (len[i] > 0)
            memcpy(at, *texts[i], len[i]);
        *texts[i] = at;
        at += len[i] + 1;
    }
    return entry;
}

bool cw_bad_list_takes(const struct cw_bad_list *list, int64_t row)
{
    return row < list->cut;
}

/* Drops the last element. */
static void drop_last(struct cw_bad_list *list)
{
    struct entry *last = &list->v[--list->n];
    list->cut = last->row;
    list->bytes -= last->bytes;
    cw_mem_free(last->texts);
}

static bool is_too_long(const struct cw_bad_list *list)
{
    return list->n > CW_BAD_LISTED_MAX || list->bytes > CW_BAD_LIST_BYTES;
}

void cw_bad_list_add(struct cw_bad_list *list, int64_t row, const struct cw_bad_element *element)
{
    if (!cw_bad_list_takes(list, row))
        return;
    CW_GROW(list->v, list->n, list->cap);
    size_t at = list->n++;
    for (; at > 0 && list->v[at - 1].row > row; at--)
        list->v[at] = list->v[at - 1];
    list->v[at] = entry_of(row, element);
    list->bytes += list->v[at].bytes;
    while (is_too_long(list))
        drop_last(list);
}

void cw_bad_list_append(struct cw_bad_list *list, const struct cw_bad_list *more)
{
    for (size_t i = 0; i < cw_bad_list_n(more); i++)
        cw_bad_list_add(list, (int64_t)list->n, cw_bad_list_at(more, i));
}

size_t cw_bad_list_n(const struct cw_bad_list *list)
{
    return list ? list->n : 0;
}

const struct cw_bad_element *cw_bad_list_at(const struct cw_bad_list *list, size_t i)
{
    CW_ASSERT(i < list->n);
    return &list->v[i].element;
}

size_t cw_bad_list_held(const struct cw_bad_list *list)
{
    if (!list)
        return 0;
    return cw_mem_cost(sizeof(*list)) + cw_mem_cost(list->cap * sizeof(list->v[0])) + list->bytes +
           list->n * (TEXTS + 2 * sizeof(void *));
}
