/* SPDX-License-Identifier: Apache-2.0 */
/* A readable: anything that has a size and can read bytes at an offset. Record formats read from
 * it. */
#ifndef CW_FORMAT_READ_AT_H
#define CW_FORMAT_READ_AT_H

#include "base/err.h"
#include "base/stop.h"
#include "io/io.h"

/* Reads exactly n bytes at offset, or fails (the caller stays inside of `size`). */
typedef int cw_read_at_fn(void *arg, uint64_t offset, void *dst, size_t n, struct cw_err *err);

struct cw_readable {
    const char *name; /* for messages */
    uint64_t size;
    cw_read_at_fn *read_at;
    void *arg;
    /* May be NULL. Once it is set, cw_readable_get fails with CANCELLED, so that scans end. */
    const struct cw_stop *stop;
    bool is_named; /* what read_at says of an error begins with the name already */
};

/* Opens a file or an object of a source (io/io.h). The readable refers to *ret_file, which must not
 * be moved; the caller closes it. */
int cw_readable_open(const char *url, struct cw_io_file *ret_file, struct cw_readable *ret_readable,
                     struct cw_err *err);
/* Reads from memory. */
struct cw_readable_bytes {
    const void *p;
    size_t n;
};
struct cw_readable cw_readable_mem(const char *name, const struct cw_readable_bytes *bytes);
int cw_readable_get(const struct cw_readable *readable, uint64_t offset, void *dst, size_t n,
                    struct cw_err *err);

#endif
