/* SPDX-License-Identifier: Apache-2.0 */
/* Finding out which packs the store has, and which blocks are in those of other workers. */
#include "cache/source/tier_store.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"

#define ROWS_MAX (1u << 20)

static bool rows_are_good(const struct cw_source_place *places, size_t n, uint64_t end)
{
    uint64_t at = 0;
    for (size_t i = 0; i < n; i++) {
        const struct cw_source_row *r = &places[i].row;
        if (r->offset != at || r->bytes == 0 || r->bytes > CW_SOURCE_BLOCK_BYTES ||
            r->bytes > end - at)
            return false;
        at += r->bytes;
    }
    return at == end;
}

static int read_rows(struct cw_store_file *file, const struct cw_source_tail *tail,
                     struct cw_source_place **ret_places, struct cw_err *err)
{
    size_t bytes = (size_t)tail->rows * sizeof(struct cw_source_row);
    uint64_t end = tail->bytes - sizeof(*tail) - bytes;
    struct cw_source_row *rows = cw_mem_try(bytes);
    struct cw_source_place *places = cw_mem_try((size_t)tail->rows * sizeof(*places));
    int rc = rows && places ? cw_store_file_read(file, end, rows, bytes, err)
                            : cw_err_set(err, CW_E_NOMEM, "no memory for a list of blocks");
    if (rc == 0 && cw_hash_u64(rows, bytes) != tail->rows_sum)
        rc = cw_err_set(err, CW_E_CORRUPT, "its list of blocks is damaged");
    for (size_t i = 0; rc == 0 && i < tail->rows; i++)
        places[i] = (struct cw_source_place){.row = rows[i]};
    if (rc == 0 && !rows_are_good(places, (size_t)tail->rows, end))
        rc = cw_err_set(err, CW_E_CORRUPT, "its list of blocks cannot be");
    cw_mem_free(rows);
    if (rc < 0)
        cw_mem_free(places);
    else
        *ret_places = places;
    return rc;
}

static int read_pack(struct cw_tier_store *s, const char *name, struct cw_source_place **ret_places,
                     size_t *ret_n, struct cw_err *err)
{
    struct cw_store_file *file = NULL;
    struct cw_source_tail tail;
    uint64_t bytes = 0;
    int rc = cw_store_file_open(s->store, name, &file, &bytes, err);
    if (rc < 0)
        return rc;
    if (bytes < sizeof(tail))
        rc = cw_err_set(err, CW_E_CORRUPT, "it is cut");
    if (rc == 0)
        rc = cw_store_file_read(file, bytes - sizeof(tail), &tail, sizeof(tail), err);
    if (rc == 0 && (memcmp(tail.magic, CW_SOURCE_PACK_MAGIC, sizeof(tail.magic)) != 0 ||
                    tail.bytes != bytes || tail.rows == 0 || tail.rows > ROWS_MAX ||
                    tail.rows * sizeof(struct cw_source_row) > bytes - sizeof(tail)))
        rc = cw_err_set(err, CW_E_CORRUPT, "its tail is damaged");
    if (rc == 0)
        rc = read_rows(file, &tail, ret_places, err);
    cw_store_file_close(file);
    *ret_n = rc == 0 ? (size_t)tail.rows : 0;
    return rc < 0 ? cw_err_wrap(err, "%s", name) : 0;
}

struct listed {
    struct cw_tier_store *packs;
    struct listed_file {
        char name[CW_STORE_NAME_MAX + 1];
        uint64_t bytes;
        int64_t mtime_ms;
    } * v;
    size_t n, cap;
};

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);
    return n > m && strcmp(s + n - m, end) == 0;
}

static int on_listed(void *arg, const char *name, uint64_t bytes, int64_t mtime_ms)
{
    struct listed *l = arg;
    if (!cw_str_starts(name, CW_SOURCE_PACK_PREFIX) || strlen(name) > CW_STORE_NAME_MAX)
        return 0;
    CW_GROW(l->v, l->n, l->cap);
    struct listed_file *f = &l->v[l->n++];
    snprintf(f->name, sizeof(f->name), "%s", name);
    f->bytes = bytes;
    f->mtime_ms = mtime_ms;
    return 0;
}

/* Returns the known pack whose .pack or .used file has this name, or NULL. */
static struct cw_source_pack *pack_of(struct cw_tier_store *s, const char *name)
{
    char text[CW_STORE_NAME_MAX + 1];
    snprintf(text, sizeof(text), "%s", name);
    char *dot = strrchr(text, '.');
    if (dot && strcmp(dot, ".used") == 0)
        memcpy(dot, ".pack", 5);
    return cw_strmap_get(&s->packs, text);
}

static void forget_unlisted(struct cw_tier_store *s)
{
    const char *name;
    void *value;
    cw_mutex_lock(&s->mutex);
    for (size_t i = 0; cw_strmap_next(&s->packs, &i, &name, &value);) {
        struct cw_source_pack *p = value;
        if (p->listed)
            p->listed = false;
        else
            cw_tier_store_forget(s, p);
    }
    cw_mutex_unlock(&s->mutex);
}

/* Notes that a listed file exists, and when it was last used. Returns whether its pack is known. */
static bool note(struct cw_tier_store *s, const struct listed_file *f)
{
    cw_mutex_lock(&s->mutex);
    struct cw_source_pack *p = pack_of(s, f->name);
    if (p) {
        p->used_ms = CW_MAX(p->used_ms, f->mtime_ms);
        p->listed = p->listed || ends_with(f->name, ".pack");
    }
    cw_mutex_unlock(&s->mutex);
    return p != NULL;
}

void cw_tier_store_list(struct cw_tier_store *s)
{
    struct listed l = {.packs = s};
    struct cw_err err = {0};
    s->listed_ns = cw_clock_ns();
    atomic_store(&s->missed, false);
    if (!s->store)
        return;
    if (cw_store_list(s->store, CW_SOURCE_PACK_PREFIX, on_listed, &l, &err) < 0) {
        cw_tier_counters_error(&s->tally, err.msg);
        cw_mem_free(l.v);
        return;
    }
    for (size_t i = 0; i < l.n; i++) {
        struct cw_source_place *places = NULL;
        size_t n = 0;
        if (note(s, &l.v[i]) || !ends_with(l.v[i].name, ".pack"))
            continue;
        int rc = read_pack(s, l.v[i].name, &places, &n, &err);
        if (rc == 0) {
            cw_tier_store_learn(s, l.v[i].name, l.v[i].bytes, places, n, l.v[i].mtime_ms);
            continue;
        }
        cw_tier_counters_error(&s->tally, err.msg);
        if (rc == CW_E_CORRUPT) {
            atomic_fetch_add(&s->tally.damaged, 1);
            (void)cw_store_remove(s->store, l.v[i].name, &err);
        }
    }
    for (size_t i = 0; i < l.n; i++)
        (void)note(s, &l.v[i]);
    forget_unlisted(s);
    cw_mem_free(l.v);
}
