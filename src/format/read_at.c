/* SPDX-License-Identifier: Apache-2.0 */
/* Readables for open files and for memory. */
#include "format/read_at.h"

#include <string.h>

static int read_file(void *arg, uint64_t offset, void *dst, size_t n, struct cw_err *err)
{
    return cw_io_read(arg, offset, dst, n, NULL, err);
}

static int read_mem(void *arg, uint64_t offset, void *dst, size_t n, struct cw_err *err)
{
    const struct cw_readable_bytes *bytes = arg;
    if (offset > bytes->n || n > bytes->n - offset)
        return cw_err_set(err, CW_E_CORRUPT, "%zu bytes at byte %llu are past the end", n,
                          (unsigned long long)offset);
    if (n > 0)
        memcpy(dst, (const char *)bytes->p + offset, n);
    return 0;
}

/* arg has one pointer type for all kinds of readable; read_mem only reads through it. */
static void *without_const(const void *p)
{
    void *q;
    memcpy(&q, &p, sizeof(q));
    return q;
}

int cw_readable_open(const char *url, struct cw_io_file *ret_file, struct cw_readable *ret_readable,
                     struct cw_err *err)
{
    int rc = cw_io_open(url, NULL, ret_file, err);
    if (rc < 0)
        return rc;
    *ret_readable = (struct cw_readable){
        .name = url, .size = (uint64_t)ret_file->info.size, .read_at = read_file, .arg = ret_file};
    return 0;
}

struct cw_readable cw_readable_mem(const char *name, const struct cw_readable_bytes *bytes)
{
    return (struct cw_readable){
        .name = name, .size = bytes->n, .read_at = read_mem, .arg = without_const(bytes)};
}

int cw_readable_get(const struct cw_readable *readable, uint64_t offset, void *dst, size_t n,
                    struct cw_err *err)
{
    int rc = cw_stop_check(readable->stop, err);
    const bool is_named = rc == 0 && readable->is_named;
    if (rc == 0)
        rc = readable->read_at(readable->arg, offset, dst, n, err);
    if (rc < 0 && !is_named)
        cw_err_wrap(err, "%s", readable->name);
    return rc;
}
