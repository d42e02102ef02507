/* SPDX-License-Identifier: Apache-2.0 */
/* Loads something once for each file of a source, and has the common functions of such sources. */
#include "ops/source/file_source.h"

#include <stdatomic.h>

#include "base/mem.h"

/* Number of locks: threads that load different files rarely wait for each other. */
#define LOCKS_N 32

struct cw_per_file {
    _Atomic(void *) *loaded;        /* an entry for each file; NULL until it is loaded */
    struct cw_mutex locks[LOCKS_N]; /* lock i % LOCKS_N is held while file i is loaded */
};

static struct cw_per_file *per_file_new(size_t files)
{
    struct cw_per_file *p = CW_NEW(struct cw_per_file);
    p->loaded = cw_mem_new_array(files, sizeof(*p->loaded));
    for (size_t i = 0; i < LOCKS_N; i++)
        cw_mutex_init(&p->locks[i]);
    return p;
}

static void per_file_free(struct cw_file_source *s)
{
    struct cw_per_file *p = s->per_file;
    if (!p)
        return;
    for (size_t i = 0; i < s->files->n; i++) {
        void *loaded = atomic_load(&p->loaded[i]);
        if (loaded)
            s->kind->unload(loaded);
    }
    for (size_t i = 0; i < LOCKS_N; i++)
        cw_mutex_fini(&p->locks[i]);
    cw_mem_free(p->loaded);
    cw_mem_free(p);
}

void cw_file_source_free(void *state)
{
    struct cw_file_source *s = state;
    if (!s)
        return;
    per_file_free(s);
    if (s->kind->end)
        s->kind->end(s);
    cw_file_set_free(s->files);
    cw_mem_free(s);
}

int cw_file_source_new(const struct cw_file_source_kind *kind, const struct cw_str_list *patterns,
                       const struct cw_op_open *how, void **ret_state, struct cw_err *err)
{
    void *state = cw_mem_new(kind->state_bytes);
    if (kind->begin)
        kind->begin(state, how);
    return cw_file_source_start(kind, state, patterns, how, ret_state, err);
}

int cw_file_source_start(const struct cw_file_source_kind *kind, void *state,
                         const struct cw_str_list *patterns, const struct cw_op_open *how,
                         void **ret_state, struct cw_err *err)
{
    struct cw_file_source *s = state;
    s->kind = kind;
    int rc = cw_file_set_new(patterns, how, &s->files, err);
    if (rc == 0 && how->manifest && how->identity == CW_IDENTITY_CONTENT && !kind->names_only)
        rc = cw_file_set_compare(s->files, err);
    if (rc == 0 && kind->load)
        s->per_file = per_file_new(s->files->n);
    for (size_t i = 0; rc == 0 && i < s->files->n; i++) {
        rc = cw_stop_check_at(how->stop, s->files->v[i].path, err);
        if (rc == 0)
            rc = kind->prepare(s, i, how, err);
    }
    if (rc == 0)
        rc = cw_file_set_sum(s->files, err);
    if (rc < 0)
        cw_file_source_free(s);
    else
        *ret_state = s;
    return rc;
}

int cw_file_source_get(struct cw_file_source *s, size_t i, const void **ret_loaded,
                       struct cw_err *err)
{
    struct cw_per_file *p = s->per_file;
    void *loaded = atomic_load_explicit(&p->loaded[i], memory_order_acquire);
    int rc = 0;
    if (!loaded) {
        struct cw_mutex *lock = &p->locks[i % LOCKS_N];
        cw_mutex_lock(lock);
        loaded = atomic_load(&p->loaded[i]);
        if (!loaded)
            rc = s->kind->load(s, i, &loaded, err);
        if (rc == 0)
            atomic_store_explicit(&p->loaded[i], loaded, memory_order_release);
        cw_mutex_unlock(lock);
    }
    *ret_loaded = loaded;
    return rc;
}

int cw_file_source_compare(const struct cw_file_source *s, size_t i, uint64_t records,
                           const char *what, struct cw_err *err)
{
    const struct cw_file *file = &s->files->v[i];
    if ((int64_t)records == file->records)
        return 0;
    return cw_err_set(err, CW_E_OTHER_FILE,
                      "%s: not the file that the job was prepared with: it had %lld %s then, here "
                      "and now it has %llu",
                      file->path, (long long)file->records, what, (unsigned long long)records);
}

int cw_file_source_count(const void *opts, void *state, const int64_t *in_n, size_t inputs_n,
                         int64_t *ret_n, struct cw_err *err)
{
    const struct cw_file_source *s = state;
    (void)opts;
    (void)in_n;
    (void)inputs_n;
    (void)err;
    *ret_n = s->files->records;
    return 0;
}

void cw_file_source_manifest(const void *opts, void *state, struct cw_value *ret_value)
{
    const struct cw_file_source *s = state;
    (void)opts;
    cw_file_set_manifest(s->files, ret_value);
}

void cw_file_source_describe(const void *opts, void *state, int64_t pos, struct cw_str *out)
{
    const struct cw_file_source *s = state;
    (void)opts;
    cw_file_set_describe(s->files, pos, out);
}

const char *cw_file_source_locate(const void *opts, void *state, int64_t pos, int64_t *ret_record)
{
    const struct cw_file_source *s = state;
    const struct cw_file *file = &s->files->v[cw_file_set_locate(s->files, pos)];
    (void)opts;
    *ret_record = pos - file->first;
    return file->path;
}
