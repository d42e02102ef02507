/* SPDX-License-Identifier: Apache-2.0 */
/* Gives out parts of an index, to threads and as leases. */
#include "ops/source/index_parts.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "format/source_file.h"
#include "io/source_root.h"

#define AT_ONCE_DEFAULT 16
#define LEASE_FILES_MAX 32

enum part { PART_FREE, PART_LEASED, PART_TAKEN, PART_MADE };

struct lease {
    struct lease *next;
    uint64_t number;
    size_t first, n; /* the parts first, ..., first + n - 1 */
};
struct cw_index_parts {
    void (*ready)(void *arg);
    void *arg;
    struct cw_mutex mutex;              /* guards all that follows */
    const struct cw_index_whole *whole; /* NULL: nothing is made now */
    uint8_t *state;
    size_t front,
        back; /* what is free lies between: threads take from the front, leases from the back */
    size_t made;
    struct lease *leases; /* the latest first */
    bool failed;
    size_t failed_at; /* the lowest of the files that failed */
    struct cw_err err;
};

static _Atomic unsigned at_once = AT_ONCE_DEFAULT;

void cw_index_parts_set_at_once(unsigned n)
{
    atomic_store(&at_once, CW_MAX(1u, CW_MIN(n, (unsigned)CW_INDEX_AT_ONCE_MAX)));
}

unsigned cw_index_parts_at_once(void)
{
    return atomic_load(&at_once);
}

struct cw_index_parts *cw_index_parts_new(void (*ready)(void *arg), void *arg)
{
    struct cw_index_parts *p = CW_NEW(struct cw_index_parts);
    cw_mutex_init(&p->mutex);
    p->ready = ready;
    p->arg = arg;
    return p;
}

void cw_index_parts_free(struct cw_index_parts *p)
{
    if (!p)
        return;
    CW_ASSERT(!p->whole && !p->leases);
    cw_mutex_fini(&p->mutex);
    cw_mem_free(p);
}

/* ---- threads of this process ---- */

/* The part of a lease that its holder comes to last, or SIZE_MAX. */
static size_t last_leased(const struct cw_index_parts *p)
{
    for (const struct lease *l = p->leases; l; l = l->next)
        for (size_t i = l->first + l->n; i > l->first; i--)
            if (p->state[i - 1] == PART_LEASED)
                return i - 1;
    return SIZE_MAX;
}

/* Takes the next part for this thread. Returns false if there is none. */
static bool take(struct cw_index_parts *p, size_t *ret_i)
{
    size_t i = SIZE_MAX;
    cw_mutex_lock(&p->mutex);
    if (!p->failed) {
        while (p->front < p->back && p->state[p->front] != PART_FREE)
            p->front++;
        i = p->front < p->back ? p->front++ : last_leased(p);
    }
    if (i != SIZE_MAX)
        p->state[i] = PART_TAKEN;
    cw_mutex_unlock(&p->mutex);
    *ret_i = i;
    return i != SIZE_MAX;
}

/* With the lock held. */
static void set_made(struct cw_index_parts *p, size_t i, int64_t records)
{
    if (p->state[i] == PART_MADE)
        return;
    p->state[i] = PART_MADE;
    p->whole->made(p->whole->arg, i, records);
    p->made++;
}

static void finish(struct cw_index_parts *p, size_t i, int rc, int64_t records,
                   const struct cw_err *err)
{
    cw_mutex_lock(&p->mutex);
    if (rc == 0) {
        set_made(p, i, records);
    } else if (p->state[i] != PART_MADE && (!p->failed || i < p->failed_at)) {
        p->failed = true;
        p->failed_at = i;
        p->err = *err;
        p->err.code = rc;
    }
    cw_mutex_unlock(&p->mutex);
}

struct worker {
    struct cw_index_parts *parts;
    cw_index_part_fn *fn;
    void *arg;
    uint64_t store;  /* as in cw_source_use_store */
    uint32_t reader; /* as in cw_source_root_read_as */
};

/* Says how far the index is, and looks whether it is still wanted. */
static int look(struct cw_index_parts *p, size_t i, struct cw_err *err)
{
    char at[CW_STOP_AT_BYTES];
    cw_mutex_lock(&p->mutex);
    const size_t made = p->made;
    cw_mutex_unlock(&p->mutex);
    p->whole->at(p->whole->arg, i, made, at);
    return cw_stop_check_at(p->whole->stop, at, err);
}

static void work(void *arg)
{
    const struct worker *w = arg;
    cw_source_use_store(w->store);
    cw_source_root_read_as(w->reader);
    for (size_t i; take(w->parts, &i);) {
        struct cw_err err = {0};
        int64_t records = 0;
        int rc = look(w->parts, i, &err);
        if (rc == 0)
            rc = w->fn(w->arg, i, &records, &err);
        finish(w->parts, i, rc, records, &err);
    }
}

static void begin(struct cw_index_parts *p, const struct cw_index_whole *whole)
{
    cw_mutex_lock(&p->mutex);
    p->whole = whole;
    p->state = CW_NEW_ARRAY(uint8_t, whole->n);
    p->front = p->made = 0;
    p->back = whole->n;
    p->failed = false;
    cw_mutex_unlock(&p->mutex);
    if (p->ready && whole->op)
        p->ready(p->arg);
}

static int end(struct cw_index_parts *p, struct cw_err *err)
{
    cw_mutex_lock(&p->mutex);
    for (struct lease *l = p->leases, *next; l; l = next) {
        next = l->next;
        cw_mem_free(l);
    }
    p->leases = NULL;
    p->whole = NULL;
    cw_mem_free(p->state);
    p->state = NULL;
    cw_mutex_unlock(&p->mutex);
    if (!p->failed)
        return 0;
    if (err)
        *err = p->err;
    return p->err.code;
}

int cw_index_parts_make_all(struct cw_index_parts *parts, const struct cw_index_whole *whole,
                            cw_index_part_fn *fn, void *arg, struct cw_err *err)
{
    struct cw_thread threads[CW_INDEX_AT_ONCE_MAX];
    struct cw_index_parts *p = parts ? parts : cw_index_parts_new(NULL, NULL);
    struct worker w = {.parts = p,
                       .fn = fn,
                       .arg = arg,
                       .store = cw_source_store_used(),
                       .reader = cw_source_root_reads_as()};
    const size_t n = CW_MIN((size_t)cw_index_parts_at_once(), whole->n);
    begin(p, whole);
    for (size_t i = 1; i < n; i++)
        cw_thread_start(&threads[i], "cachew-index", work, &w);
    work(&w);
    for (size_t i = 1; i < n; i++)
        cw_thread_join(&threads[i]);
    int rc = end(p, err);
    if (!parts)
        cw_index_parts_free(p);
    return rc;
}

void cw_index_parts_progress(struct cw_index_parts *p, size_t *ret_made, size_t *ret_n,
                             const char **ret_what)
{
    cw_mutex_lock(&p->mutex);
    *ret_made = p->whole ? p->made : 0;
    *ret_n = p->whole ? p->whole->n : 0;
    *ret_what = p->whole ? p->whole->what : "";
    cw_mutex_unlock(&p->mutex);
}

/* ---- the files of a source ---- */

struct files {
    struct cw_file_set *set;
};

static void file_made(void *arg, size_t i, int64_t records)
{
    const struct files *files = arg;
    files->set->v[i].records = records;
}

static void at_file(void *arg, size_t i, size_t made, char ret_at[CW_STOP_AT_BYTES])
{
    const struct files *files = arg;
    const char *path = files->set->v[i].path;
    const size_t n = strlen(path), most = CW_STOP_AT_BYTES - 64;
    snprintf(ret_at, CW_STOP_AT_BYTES, "%s (index: %zu of %zu files)",
             n > most ? path + (n - most) : path, made, files->set->n);
}

static void file_rows(void *arg, size_t first, size_t n, struct cw_value *ret_rows)
{
    const struct files *files = arg;
    cw_file_set_manifest_of(files->set, first, n, ret_rows);
}

/* Takes the number of records of a file from a row of a manifest. Returns false if it is of another
 * file. */
static bool take_file(void *arg, size_t i, const struct cw_value *row, int64_t *ret_records)
{
    const char *path;
    struct cw_file_stamp stamp;
    const struct files *files = arg;
    const struct cw_file *file = &files->set->v[i];
    return cw_file_row_read(row, files->set->identity, &path, &stamp, ret_records, NULL) == 0 &&
           strcmp(path, file->path) == 0 && stamp.size == file->stamp.size &&
           stamp.mtime_ns == (stamp.identity == CW_IDENTITY_MTIME ? file->stamp.mtime_ns : 0) &&
           cw_hash_eq(stamp.sum, file->stamp.sum);
}

int cw_index_parts_make(struct cw_index_parts *parts, struct cw_file_set *files,
                        const struct cw_op_open *how, cw_index_part_fn *fn, void *arg,
                        struct cw_err *err)
{
    struct files of = {files};
    const struct cw_index_whole whole = {.what = "files",
                                         .n = files->n,
                                         .op = how->op,
                                         .options = how->options,
                                         .stop = how->stop,
                                         .arg = &of,
                                         .at = at_file,
                                         .rows = file_rows,
                                         .take = take_file,
                                         .made = file_made};
    return cw_index_parts_make_all(parts, &whole, fn, arg, err);
}

/* ---- leases ---- */

void cw_index_lease_fini(struct cw_index_lease *lease)
{
    cw_value_fini(&lease->options);
    cw_value_fini(&lease->files);
}

/* How many parts a new lease gets: a share of what is free, so that all are done at about the same
 * time, and all of them neighbours at the back. */
static size_t lease_size(struct cw_index_parts *p, size_t others)
{
    if (!p->whole || p->failed || !p->whole->op)
        return 0;
    while (p->back > p->front && p->state[p->back - 1] != PART_FREE)
        p->back--;
    const size_t share = (p->back - p->front + others) / (2 * (others + 1));
    size_t n = 0;
    while (n < CW_MIN(share, (size_t)LEASE_FILES_MAX) && p->state[p->back - 1 - n] == PART_FREE)
        n++;
    return n;
}

bool cw_index_parts_lease(struct cw_index_parts *p, uint64_t number, size_t others,
                          struct cw_index_lease *ret_lease)
{
    cw_mutex_lock(&p->mutex);
    const size_t n = lease_size(p, others);
    if (n > 0) {
        struct lease *l = CW_NEW(struct lease);
        p->back -= n;
        *l = (struct lease){.next = p->leases, .number = number, .first = p->back, .n = n};
        p->leases = l;
        memset(p->state + l->first, PART_LEASED, n);
        *ret_lease = (struct cw_index_lease){.op = p->whole->op};
        cw_value_copy(&ret_lease->options, p->whole->options);
        p->whole->rows(p->whole->arg, l->first, n, &ret_lease->files);
    }
    cw_mutex_unlock(&p->mutex);
    return n > 0;
}

/* Takes what a helper found out of a part. Returns false if that is of another one, or a thread has made
 * the part, or is making it. */
static bool take_row(struct cw_index_parts *p, size_t i, const struct cw_value *row)
{
    int64_t records;
    if (p->state[i] != PART_LEASED || !p->whole->take(p->whole->arg, i, row, &records))
        return false;
    set_made(p, i, records);
    return true;
}

/* A part of a lease that was not made is to be had again. */
static void set_free(struct cw_index_parts *p, size_t i)
{
    if (p->state[i] != PART_LEASED)
        return;
    p->state[i] = PART_FREE;
    p->front = CW_MIN(p->front, i);
    p->back = CW_MAX(p->back, i + 1);
}

static void end_lease(struct cw_index_parts *p, const struct lease *l, const struct cw_value *files)
{
    const struct cw_value *rows =
        files && files->type == CW_VALUE_OBJECT ? cw_value_get(files, "files") : NULL;
    const bool fits = rows && rows->type == CW_VALUE_LIST && rows->n == l->n;
    for (size_t i = 0; i < l->n; i++)
        if (!fits || !take_row(p, l->first + i, &rows->items[i]))
            set_free(p, l->first + i);
}

void cw_index_parts_leased(struct cw_index_parts *p, uint64_t number, const struct cw_value *files)
{
    cw_mutex_lock(&p->mutex);
    struct lease **at = &p->leases;
    while (*at && (*at)->number != number)
        at = &(*at)->next;
    if (*at) {
        struct lease *l = *at;
        *at = l->next;
        end_lease(p, l, files);
        cw_mem_free(l);
    }
    cw_mutex_unlock(&p->mutex);
}

void cw_index_parts_lost(struct cw_index_parts *p)
{
    cw_mutex_lock(&p->mutex);
    for (struct lease *l = p->leases, *next; l; l = next) {
        next = l->next;
        end_lease(p, l, NULL);
        cw_mem_free(l);
    }
    p->leases = NULL;
    cw_mutex_unlock(&p->mutex);
}

/* Opens the source for these files, and asks it what it found. */
static int open_and_ask(const struct cw_op *op, const void *opts, struct cw_value *files,
                        const struct cw_stop *stop, struct cw_err *err)
{
    CW_SPEC_AUTO spec = {0};
    struct cw_op_open how = {.manifest = files, .out = &spec, .stop = stop, .only_index = true};
    void *state = NULL;
    int rc = op->check ? op->check(opts, err) : 0;
    if (rc == 0 && op->is_complete && !op->is_complete(opts))
        rc = cw_err_set(err, CW_E_INVALID, "%s: a lease must have what its files say as options",
                        op->name);
    if (rc == 0)
        rc = cw_file_manifest_identity(files, &how.identity, err);
    if (rc == 0)
        rc = op->infer(opts, NULL, 0, &spec, err);
    if (rc == 0)
        rc = op->open(opts, &how, &state, err);
    if (rc < 0)
        return rc;
    cw_value_fini(files);
    *files = (struct cw_value){0};
    op->manifest(opts, state, files);
    op->close(state);
    return 0;
}

int cw_index_parts_help(const struct cw_op *op, const struct cw_value *options,
                        struct cw_value *files, const struct cw_stop *stop, struct cw_err *err)
{
    if (!op || op->kind != CW_OP_SOURCE || !op->open || !op->manifest)
        return cw_err_set(err, CW_E_INVALID,
                          "this is no source that has an index, or none that is known here");
    cw_autofree void *opts = cw_mem_new(CW_MAX(op->options_bytes, 1));
    int rc = cw_opt_parse(op->options, options, opts, err);
    if (rc < 0)
        return rc;
    rc = open_and_ask(op, opts, files, stop, err);
    cw_opt_fini(op->options, opts);
    return rc;
}
