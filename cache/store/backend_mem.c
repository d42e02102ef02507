/* SPDX-License-Identifier: Apache-2.0 */
/* The backend mem:NAME[?bytes=N]: files in the memory of this process, for tests. Stores of one
 * name share their files, which exist until the process ends. A file that is removed can still be
 * read while it is open. */
#include <string.h>
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/thread.h"
#include "cache/store/backend.h"

struct content { /* the bytes of a file; they do not change once the file has a name */
    uint8_t *data;
    uint64_t bytes;
    int refs; /* guarded by lock */
};
struct file {
    struct file *next;
    char *name;
    struct content *content;
    int64_t mtime_ms;
};
struct space {
    struct space *next;
    char *name;
    struct file *files;   /* guarded by lock */
    uint64_t used, limit; /* guarded by lock; limit 0: none */
};
struct out {
    struct space *space;
    char *name;
    struct content *content;
    /* guarded by lock; counted: how many bytes of space->used are this file's */
    uint64_t cap, counted;
};

static struct cw_mutex lock = CW_MUTEX_INIT;
static struct space *spaces; /* guarded by lock; they are never freed */

static int check(const struct cw_store_url *url, struct cw_err *err)
{
    const char *bytes = cw_store_url_get(url, "bytes");
    uint64_t n;

    if (!*url->address)
        return cw_err_set(err, CW_E_INVALID, "store %s: it needs a name, mem:NAME", url->text);
    if (bytes && (!cw_str_to_bytes(bytes, &n) || n == 0))
        return cw_err_set(err, CW_E_INVALID,
                          "store %s: bytes=%s is no number of bytes, such as 64M", url->text,
                          bytes);
    return 0;
}
static void *init(const struct cw_store_url *url)
{
    const char *bytes = cw_store_url_get(url, "bytes");
    struct space *space;

    cw_mutex_lock(&lock);
    for (space = spaces; space && !cw_str_eq(space->name, url->address); space = space->next)
        ;
    if (!space) {
        space = CW_NEW(struct space);
        space->name = cw_mem_strdup(url->address);
        space->next = spaces;
        spaces = space;
    }
    if (bytes && !cw_str_to_bytes(bytes, &space->limit))
        space->limit = 0;
    cw_mutex_unlock(&lock);
    return space;
}
static void fini(void *self)
{
    (void)self;
}
static int try(void *self, struct cw_err *err)
{
    (void)self, (void)err;
    return 0;
}

static struct content *drop(struct content *content)
{
    if (content && --content->refs == 0) {
        cw_mem_free(content->data);
        cw_mem_free(content);
    }
    return NULL;
}
static struct file **find(struct space *space, const char *name)
{
    struct file **at = &space->files;

    while (*at && !cw_str_eq((*at)->name, name))
        at = &(*at)->next;
    return at;
}
static int not_found(const char *name, struct cw_err *err)
{
    return cw_err_set(err, CW_E_NOT_FOUND, "%s is not there", name);
}
/* Takes a file out of the list. Called with the lock held. */
static void take_out(struct space *space, struct file **at)
{
    struct file *file = *at;

    *at = file->next;
    space->used -= file->content->bytes;
    drop(file->content);
    cw_mem_free(file->name);
    cw_mem_free(file);
}

static int create(void *self, const char *name, void **ret_out, struct cw_err *err)
{
    struct out *out = CW_NEW(struct out);

    (void)err;
    out->space = self;
    out->name = cw_mem_strdup(name);
    out->content = CW_NEW(struct content);
    out->content->refs = 1;
    *ret_out = out;
    return 0;
}
/* Grows the file so that it reaches to `end`. Called with the lock held. */
static int grow(struct out *out, uint64_t end, struct cw_err *err)
{
    struct content *content = out->content;
    uint64_t cap = CW_MAX(end, 2 * out->cap);

    if (end > out->counted) {
        uint64_t more = end - out->counted;
        if (out->space->limit && out->space->used + more > out->space->limit)
            return cw_err_set(err, CW_E_LIMIT, "mem:%s is full: it has %llu bytes",
                              out->space->name, (unsigned long long)out->space->limit);
        out->space->used += more;
        out->counted = end;
    }
    if (end > out->cap) {
        uint8_t *data = cw_mem_try((size_t)cap);
        if (!data)
            return cw_err_set(err, CW_E_NOMEM, "mem:%s: no memory for %llu bytes", out->space->name,
                              (unsigned long long)cap);
        if (content->bytes)
            memcpy(data, content->data, content->bytes);
        cw_mem_free(content->data);
        content->data = data;
        out->cap = cap;
    }
    content->bytes = CW_MAX(content->bytes, end);
    return 0;
}
static int write(void *arg, uint64_t offset, const void *p, size_t n, struct cw_err *err)
{
    struct out *out = arg;

    cw_mutex_lock(&lock);
    int rc = grow(out, offset + n, err);
    if (rc == 0)
        memcpy(out->content->data + offset, p, n);
    cw_mutex_unlock(&lock);
    return rc;
}
static void free_out(struct out *out)
{
    cw_mem_free(out->name);
    cw_mem_free(out);
}
static int commit(void *arg, struct cw_err *err)
{
    struct out *out = arg;
    struct file *file = CW_NEW(struct file);

    (void)err;
    file->name = cw_steal(&out->name);
    file->content = out->content;
    file->mtime_ms = cw_clock_wall_ms();
    cw_mutex_lock(&lock);
    struct file **at = find(out->space, file->name);
    if (*at)
        take_out(out->space, at);
    file->next = out->space->files;
    out->space->files = file;
    cw_mutex_unlock(&lock);
    free_out(out);
    return 0;
}
static void abandon(void *arg)
{
    struct out *out = arg;

    cw_mutex_lock(&lock);
    out->space->used -= out->counted;
    drop(out->content);
    cw_mutex_unlock(&lock);
    free_out(out);
}

static int remove_file(void *self, const char *name, struct cw_err *err)
{
    cw_mutex_lock(&lock);
    struct file **at = find(self, name);
    int rc = *at ? 0 : not_found(name, err);
    if (rc == 0)
        take_out(self, at);
    cw_mutex_unlock(&lock);
    return rc;
}
static int stat(void *self, const char *name, uint64_t *ret_bytes, struct cw_err *err)
{
    cw_mutex_lock(&lock);
    struct file *file = *find(self, name);
    int rc = file ? 0 : not_found(name, err);
    if (rc == 0)
        *ret_bytes = file->content->bytes;
    cw_mutex_unlock(&lock);
    return rc;
}
static bool is_below(const char *name, const char *prefix)
{
    size_t n = strlen(prefix);

    return n == 0 || (strncmp(name, prefix, n) == 0 && (name[n] == '/' || name[n] == '\0'));
}
/* Copies the names first, since fn may call the store. */
static int list(void *self, const char *prefix, bool unwritten, cw_store_list_fn *fn, void *arg,
                struct cw_err *err)
{
    struct space *space = self;
    struct file *files = NULL;
    size_t n = 0, cap = 0;
    uint64_t *sizes = NULL;
    int rc = 0;

    (void)unwritten, (void)err;
    cw_mutex_lock(&lock);
    for (struct file *file = space->files; file; file = file->next) {
        if (!is_below(file->name, prefix))
            continue;
        struct file *copy = CW_NEW(struct file);
        *copy = (struct file){files, cw_mem_strdup(file->name), NULL, file->mtime_ms};
        files = copy;
        CW_GROW(sizes, n, cap);
        sizes[n++] = file->content->bytes;
    }
    cw_mutex_unlock(&lock);
    for (struct file *next; files; files = next) {
        next = files->next;
        n--;
        if (rc == 0)
            rc = fn(arg, files->name, sizes[n], files->mtime_ms);
        cw_mem_free(files->name);
        cw_mem_free(files);
    }
    cw_mem_free(sizes);
    return rc;
}
static int space(void *self, uint64_t *ret_total, uint64_t *ret_free, struct cw_err *err)
{
    struct space *it = self;

    cw_mutex_lock(&lock);
    uint64_t limit = it->limit, used = it->used;
    cw_mutex_unlock(&lock);
    if (limit == 0)
        return cw_err_set(err, CW_E_UNSUPPORTED, "mem:%s has no limit", it->name);
    *ret_total = limit;
    *ret_free = limit > used ? limit - used : 0;
    return 0;
}

static int open(void *self, const char *name, void **ret_file, uint64_t *ret_bytes,
                struct cw_err *err)
{
    cw_mutex_lock(&lock);
    struct file *file = *find(self, name);
    int rc = file ? 0 : not_found(name, err);
    if (rc == 0) {
        file->content->refs++;
        *ret_file = file->content;
        *ret_bytes = file->content->bytes;
    }
    cw_mutex_unlock(&lock);
    return rc;
}
static int read(void *arg, uint64_t offset, void *dst, size_t n, struct cw_err *err)
{
    const struct content *content = arg;

    if (offset > content->bytes || n > content->bytes - offset)
        return cw_err_set(err, CW_E_CORRUPT, "a file has only %llu bytes",
                          (unsigned long long)content->bytes);
    memcpy(dst, content->data + offset, n);
    return 0;
}
static const void *map(void *arg)
{
    const struct content *content = arg;

    return content->data;
}
static void close(void *arg)
{
    cw_mutex_lock(&lock);
    drop(arg);
    cw_mutex_unlock(&lock);
}

static const char *const keys[] = {"bytes", NULL};
const struct cw_backend cw_backend_mem = {.scheme = "mem",
                                          .form = "mem:NAME",
                                          .keys = keys,
                                          .writes = 1,
                                          .timeout_ms = 30000,
                                          .check = check,
                                          .init = init,
                                          .fini = fini,
                                          .try = try,
                                          .create = create,
                                          .write = write,
                                          .commit = commit,
                                          .abandon = abandon,
                                          .remove = remove_file,
                                          .stat = stat,
                                          .list = list,
                                          .space = space,
                                          .open = open,
                                          .read = read,
                                          .map = map,
                                          .close = close};
