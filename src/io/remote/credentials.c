/* SPDX-License-Identifier: Apache-2.0 */
#include "io/remote/credentials.h"

#include "io/remote/object.h"

int cw_credentials_do(const struct cw_credentials *credentials, cw_credentials_work_fn *work,
                      void *arg, const struct cw_stop *stop, struct cw_err *err)
{
    int rc = credentials->ensure(stop, err);
    if (rc == 0)
        rc = work(arg, stop, err);
    if (rc == 0 || !credentials->drop(rc))
        return rc;
    rc = credentials->ensure(stop, err);
    return rc < 0 ? rc : work(arg, stop, err);
}

/* All that any of the pieces of work needs. */
struct work {
    const struct cw_dialect *dialect;
    const char *url, *query;
    struct cw_io_info *info;
    struct cw_io_file *file;
    const struct cw_io_file *opened;
    uint64_t offset;
    void *dst;
    size_t n;
    struct cw_str *body;
};

static int do_stat(void *arg, const struct cw_stop *stop, struct cw_err *err)
{
    const struct work *w = arg;
    return cw_object_stat(w->dialect, w->url, stop, w->info, err);
}

int cw_credentials_stat(const struct cw_credentials *credentials, const struct cw_dialect *dialect,
                        const char *url, const struct cw_stop *stop, struct cw_io_info *ret_info,
                        struct cw_err *err)
{
    struct work w = {.dialect = dialect, .url = url, .info = ret_info};
    return cw_credentials_do(credentials, do_stat, &w, stop, err);
}

static int do_open(void *arg, const struct cw_stop *stop, struct cw_err *err)
{
    const struct work *w = arg;
    return cw_object_open(w->dialect, w->url, stop, w->file, err);
}

int cw_credentials_open(const struct cw_credentials *credentials, const struct cw_dialect *dialect,
                        const char *url, const struct cw_stop *stop, struct cw_io_file *file,
                        struct cw_err *err)
{
    struct work w = {.dialect = dialect, .url = url, .file = file};
    return cw_credentials_do(credentials, do_open, &w, stop, err);
}

static int do_read(void *arg, const struct cw_stop *stop, struct cw_err *err)
{
    const struct work *w = arg;
    return cw_object_read(w->opened, w->offset, w->dst, w->n, stop, err);
}

int cw_credentials_read(const struct cw_credentials *credentials, const struct cw_io_file *file,
                        uint64_t offset, void *dst, size_t n, const struct cw_stop *stop,
                        struct cw_err *err)
{
    struct work w = {.opened = file, .offset = offset, .dst = dst, .n = n};
    return cw_credentials_do(credentials, do_read, &w, stop, err);
}

static int do_get(void *arg, const struct cw_stop *stop, struct cw_err *err)
{
    const struct work *w = arg;
    struct cw_fetch fetch = {.dialect = w->dialect,
                             .ask = {.method = "GET", .url = w->url, .query = w->query},
                             .fd = -1,
                             .body_max = w->n};
    int rc = cw_fetch_run(&fetch, stop, err);
    if (rc == 0)
        cw_str_add_bytes(w->body, cw_str_text(&fetch.body), fetch.body.len);
    cw_fetch_fini(&fetch);
    return rc;
}

int cw_credentials_get(const struct cw_credentials *credentials, const struct cw_dialect *dialect,
                       const char *url, const char *query, size_t body_max,
                       const struct cw_stop *stop, struct cw_str *ret_body, struct cw_err *err)
{
    struct work w = {
        .dialect = dialect, .url = url, .query = query, .n = body_max, .body = ret_body};
    return cw_credentials_do(credentials, do_get, &w, stop, err);
}
