/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_store.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/thread.h"
#include "cache/store/store.h"

#define FILES_MAX 4096

struct content {
    int refs; /* lock */
    uint64_t n;
    unsigned char *data;
};
struct entry {
    char name[CW_STORE_NAME_MAX + 1];
    struct content *content;
};
static struct {
    struct cw_mutex lock;
    struct cw_cond puts;
    struct entry files[FILES_MAX];
    size_t n;
    bool away, hold_reads, hold_puts;
    size_t puts_held;
    uint64_t capacity, begun;
    size_t failing; /* number of the next waiting reads that fail */
    struct cw_store_read *held;
} fake = {.lock = CW_MUTEX_INIT, .puts = {PTHREAD_COND_INITIALIZER}};

struct cw_store {
    char url[64];
    bool maps;
    atomic_int files;
};
struct cw_store_file {
    struct cw_store *store;
    struct content *content;
};

static void content_unref(struct content *content)
{
    if (--content->refs)
        return;
    cw_mem_free(content->data);
    cw_mem_free(content);
}

static size_t find(const char *name)
{
    size_t i = 0;

    while (i < fake.n && strcmp(fake.files[i].name, name) != 0)
        i++;
    return i;
}

/* ---- switches ---- */

void fake_reset(void)
{
    cw_mutex_lock(&fake.lock);
    while (fake.n)
        content_unref(fake.files[--fake.n].content);
    fake.away = fake.hold_reads = fake.hold_puts = false;
    fake.capacity = fake.begun = 0;
    fake.failing = 0;
    cw_cond_broadcast(&fake.puts);
    cw_mutex_unlock(&fake.lock);
}

void fake_away(bool away)
{
    cw_mutex_lock(&fake.lock);
    fake.away = away;
    cw_mutex_unlock(&fake.lock);
}

void fake_hold_reads(bool hold)
{
    cw_mutex_lock(&fake.lock);
    fake.hold_reads = hold;
    cw_mutex_unlock(&fake.lock);
}

void fake_fail_reads(size_t n)
{
    cw_mutex_lock(&fake.lock);
    fake.failing = n;
    cw_mutex_unlock(&fake.lock);
}

static bool is_failing(void)
{
    cw_mutex_lock(&fake.lock);
    bool is = fake.failing > 0;
    fake.failing -= is;
    cw_mutex_unlock(&fake.lock);
    return is;
}

static void do_read(struct cw_store_read *read, int rc)
{
    const struct content *content = read->file->content;

    if (rc == 0 && (read->offset > content->n || read->n > content->n - read->offset))
        rc = cw_err_set(&read->err, CW_E_CORRUPT, "the file is shorter");
    else if (rc == 0)
        memcpy(read->dst, content->data + read->offset, read->n);
    else
        cw_err_set(&read->err, rc, "as the test wants it");
    void (*left)(struct cw_store_read *) = read->left;
    read->done(read, rc);
    if (left)
        left(read);
}

size_t fake_release_reads(int rc)
{
    size_t n = 0;

    cw_mutex_lock(&fake.lock);
    struct cw_store_read *list = fake.held;
    fake.held = NULL;
    cw_mutex_unlock(&fake.lock);
    for (; list; n++) {
        struct cw_store_read *next = list->arg;

        do_read(list, rc);
        list = next;
    }
    return n;
}

size_t fake_reads_held(void)
{
    size_t n = 0;

    cw_mutex_lock(&fake.lock);
    for (struct cw_store_read *read = fake.held; read; read = read->arg)
        n++;
    cw_mutex_unlock(&fake.lock);
    return n;
}

uint64_t fake_reads_begun(void)
{
    cw_mutex_lock(&fake.lock);
    uint64_t n = fake.begun;
    cw_mutex_unlock(&fake.lock);
    return n;
}

void fake_hold_puts(bool hold)
{
    cw_mutex_lock(&fake.lock);
    fake.hold_puts = hold;
    cw_cond_broadcast(&fake.puts);
    cw_mutex_unlock(&fake.lock);
}

size_t fake_puts_held(void)
{
    cw_mutex_lock(&fake.lock);
    size_t n = fake.puts_held;
    cw_mutex_unlock(&fake.lock);
    return n;
}

void fake_capacity(uint64_t bytes)
{
    cw_mutex_lock(&fake.lock);
    fake.capacity = bytes;
    cw_mutex_unlock(&fake.lock);
}

size_t fake_files(void)
{
    cw_mutex_lock(&fake.lock);
    size_t n = fake.n;
    cw_mutex_unlock(&fake.lock);
    return n;
}

const char *fake_name(size_t i)
{
    return fake.files[i].name;
}

uint64_t fake_bytes(size_t i)
{
    return fake.files[i].content->n;
}

const void *fake_data(size_t i)
{
    return fake.files[i].content->data;
}

void fake_damage(size_t i, uint64_t offset)
{
    cw_mutex_lock(&fake.lock);
    struct content *old = fake.files[i].content, *fresh = CW_NEW(struct content);
    fresh->refs = 1;
    fresh->n = old->n;
    fresh->data = cw_mem_dup(old->data, old->n);
    fresh->data[offset] ^= 1;
    fake.files[i].content = fresh;
    content_unref(old);
    cw_mutex_unlock(&fake.lock);
}

void fake_damage_in_place(size_t i, uint64_t offset)
{
    cw_mutex_lock(&fake.lock);
    fake.files[i].content->data[offset] ^= 1;
    cw_mutex_unlock(&fake.lock);
}

/* ---- the store ---- */

int cw_store_url_check(const char *url, struct cw_err *err)
{
    (void)url, (void)err;
    return 0;
}

int cw_store_open(const char *url, struct cw_store **ret_store, struct cw_err *err)
{
    struct cw_store *store = CW_NEW(struct cw_store);

    (void)err;
    snprintf(store->url, sizeof(store->url), "%s", url);
    store->maps = cw_str_starts(url, "fake:map");
    *ret_store = store;
    return 0;
}

int cw_store_open_lazily(const char *url, struct cw_store **ret_store, struct cw_err *err)
{
    return cw_store_open(url, ret_store, err);
}

void cw_store_close(struct cw_store *store)
{
    if (!store)
        return;
    CW_ASSERT(atomic_load(&store->files) == 0);
    cw_mem_free(store);
}

const char *cw_store_url(const struct cw_store *store)
{
    return store->url;
}

int64_t cw_store_timeout_ms(const struct cw_store *store)
{
    const char *at = strstr(store->url, "?timeout=");
    int64_t ms = 0;

    return at && cw_str_to_ms(at + strlen("?timeout="), &ms) ? ms : 0;
}

bool cw_store_verifies_always(const struct cw_store *store)
{
    return strstr(store->url, "verify=always") != NULL;
}

static int away(struct cw_err *err)
{
    return cw_err_set(err, CW_E_UNAVAILABLE, "the store is away");
}

bool cw_store_is_unavailable(const struct cw_store *store, struct cw_err *ret_why)
{
    (void)store;
    cw_mutex_lock(&fake.lock);
    bool is = fake.away;
    cw_mutex_unlock(&fake.lock);
    if (is)
        away(ret_why);
    return is;
}

/* lock */
static int put(const char *name, struct content *content, struct cw_err *err)
{
    uint64_t used = content->n;
    size_t i = find(name);

    if (fake.away)
        return away(err);
    for (size_t k = 0; k < fake.n; k++)
        used += k == i ? 0 : fake.files[k].content->n;
    if (fake.capacity && used > fake.capacity)
        return cw_err_set(err, CW_E_LIMIT, "the store is full");
    CW_ASSERT(i < FILES_MAX);
    if (i < fake.n)
        content_unref(fake.files[i].content);
    else
        fake.n++;
    snprintf(fake.files[i].name, sizeof(fake.files[i].name), "%s", name);
    fake.files[i].content = content;
    content->refs++;
    return 0;
}

int cw_store_put_held(struct cw_store *store, const char *name, const struct iovec *parts,
                      size_t parts_n, const struct cw_store_held *held, struct cw_err *err)
{
    (void)held; /* it never hangs */
    struct content *content = CW_NEW(struct content);
    uint64_t at = 0;

    (void)store;
    for (size_t i = 0; i < parts_n; i++)
        content->n += parts[i].iov_len;
    content->refs = 1;
    content->data = cw_mem_new(content->n + 1);
    for (size_t i = 0; i < parts_n; i++) {
        memcpy(content->data + at, parts[i].iov_base, parts[i].iov_len);
        at += parts[i].iov_len;
    }
    cw_mutex_lock(&fake.lock);
    fake.puts_held++;
    while (fake.hold_puts)
        cw_cond_wait(&fake.puts, &fake.lock);
    fake.puts_held--;
    int rc = put(name, content, err);
    content_unref(content);
    cw_mutex_unlock(&fake.lock);
    return rc;
}

int cw_store_remove(struct cw_store *store, const char *name, struct cw_err *err)
{
    (void)store;
    cw_mutex_lock(&fake.lock);
    int rc = fake.away ? away(err) : 0;
    size_t i = find(name);
    if (rc == 0 && i < fake.n) {
        content_unref(fake.files[i].content);
        fake.files[i] = fake.files[--fake.n];
    }
    cw_mutex_unlock(&fake.lock);
    return rc;
}

int cw_store_stat(struct cw_store *store, const char *name, uint64_t *ret_bytes, struct cw_err *err)
{
    (void)store;
    cw_mutex_lock(&fake.lock);
    size_t i = find(name);
    int rc = fake.away     ? away(err)
             : i == fake.n ? cw_err_set(err, CW_E_NOT_FOUND, "%s: not there", name)
                           : 0;
    if (rc == 0)
        *ret_bytes = fake.files[i].content->n;
    cw_mutex_unlock(&fake.lock);
    return rc;
}

int cw_store_list(struct cw_store *store, const char *prefix, cw_store_list_fn *fn, void *arg,
                  struct cw_err *err)
{
    (void)store, (void)prefix, (void)fn, (void)arg;
    return cw_err_set(err, CW_E_UNSUPPORTED, "not in this store");
}

int cw_store_space(struct cw_store *store, uint64_t *ret_total, uint64_t *ret_free,
                   struct cw_err *err)
{
    (void)store, (void)ret_total, (void)ret_free;
    return cw_err_set(err, CW_E_UNSUPPORTED, "not in this store");
}

int cw_store_file_open(struct cw_store *store, const char *name, struct cw_store_file **ret_file,
                       uint64_t *ret_bytes, struct cw_err *err)
{
    cw_mutex_lock(&fake.lock);
    size_t i = find(name);
    int rc = fake.away     ? away(err)
             : i == fake.n ? cw_err_set(err, CW_E_NOT_FOUND, "%s: not there", name)
                           : 0;
    if (rc == 0) {
        struct cw_store_file *file = CW_NEW(struct cw_store_file);

        file->store = store;
        file->content = fake.files[i].content;
        file->content->refs++;
        atomic_fetch_add(&store->files, 1);
        *ret_bytes = file->content->n;
        *ret_file = file;
    }
    cw_mutex_unlock(&fake.lock);
    return rc;
}

void cw_store_file_close(struct cw_store_file *file)
{
    if (!file)
        return;
    cw_mutex_lock(&fake.lock);
    content_unref(file->content);
    cw_mutex_unlock(&fake.lock);
    atomic_fetch_sub(&file->store->files, 1);
    cw_mem_free(file);
}

bool cw_store_file_may_read_past(struct cw_store_file *file)
{
    (void)file; /* what it maps is memory */
    return false;
}

const void *cw_store_file_map(struct cw_store_file *file)
{
    return file->store->maps ? file->content->data : NULL;
}

bool cw_store_file_is_broken(struct cw_store_file *file, uint64_t *ret_offset)
{
    (void)file, (void)ret_offset; /* what it maps is memory */
    return false;
}

int cw_store_file_read(struct cw_store_file *file, uint64_t offset, void *dst, size_t n,
                       struct cw_err *err)
{
    if (cw_store_is_unavailable(file->store, err))
        return CW_E_UNAVAILABLE;
    if (is_failing())
        return cw_err_set(err, CW_E_IO, "cannot read a file: as the test wants it");
    if (offset > file->content->n || n > file->content->n - offset)
        return cw_err_set(err, CW_E_CORRUPT, "the file is shorter");
    memcpy(dst, file->content->data + offset, n);
    return 0;
}

void cw_store_file_read_start(struct cw_store_read *read)
{
    cw_mutex_lock(&fake.lock);
    bool is_away = fake.away, hold = !is_away && fake.hold_reads;
    fake.begun++;
    if (hold) {
        read->arg = fake.held; /* nobody else uses it */
        fake.held = read;
    }
    cw_mutex_unlock(&fake.lock);
    if (!hold)
        do_read(read, is_away ? CW_E_UNAVAILABLE : 0);
}

void cw_store_rates(const struct cw_store *store, struct cw_store_rates *ret_rates)
{
    (void)store;
    *ret_rates = (struct cw_store_rates){0};
}
