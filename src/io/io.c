/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the scheme of a URL and calls it. */
#include "io/io.h"

#include <stdatomic.h>
#include <string.h>

#include "io/source_root.h"
#include "io/source_url.h"

static const struct cw_io_scheme *const *schemes; /* set before threads read, or NULL */

void cw_io_set_schemes(const struct cw_io_scheme *const *all)
{
    schemes = all;
}

static int scheme_of(const char *url, const struct cw_io_scheme **ret_scheme, struct cw_err *err)
{
    const char *name = cw_url_remote_scheme(url);
    *ret_scheme = &cw_io_scheme_file;
    if (!name)
        return 0;
    int rc = cw_source_root_check_url(url, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; schemes && schemes[i]; i++) {
        if (strcmp(schemes[i]->name, name) != 0)
            continue;
        *ret_scheme = schemes[i];
        return 0;
    }
    return cw_err_set(err, CW_E_UNSUPPORTED, "%s: this program does not read %s://; workers do",
                      url, name);
}

const struct cw_io_scheme *cw_io_scheme_of(const char *url)
{
    const struct cw_io_scheme *scheme;
    return scheme_of(url, &scheme, NULL) == 0 ? scheme : NULL;
}

static _Thread_local bool computes;
static _Thread_local uint64_t thread_waited;
static _Atomic uint64_t waited;

void cw_io_thread_computes(void)
{
    computes = true;
}

void cw_io_waits(void)
{
    if (!computes)
        return;
    thread_waited++;
    atomic_fetch_add_explicit(&waited, 1, memory_order_relaxed);
}

uint64_t cw_io_thread_waited(void)
{
    return thread_waited;
}

uint64_t cw_io_waited(void)
{
    return atomic_load_explicit(&waited, memory_order_relaxed);
}

int cw_io_stat(const char *url, const struct cw_stop *stop, struct cw_io_info *ret_info,
               struct cw_err *err)
{
    const struct cw_io_scheme *scheme;
    int rc = scheme_of(url, &scheme, err);
    return rc < 0 ? rc : scheme->stat(url, stop, ret_info, err);
}

int cw_io_open(const char *url, const struct cw_stop *stop, struct cw_io_file *ret_file,
               struct cw_err *err)
{
    const struct cw_io_scheme *scheme;
    int rc = scheme_of(url, &scheme, err);
    if (rc < 0)
        return rc;
    ret_file->scheme = scheme;
    ret_file->fd = -1;
    ret_file->object = NULL;
    return scheme->open(url, stop, ret_file, err);
}

void cw_io_close(struct cw_io_file *file)
{
    file->scheme->close(file);
}

int cw_io_read(const struct cw_io_file *file, uint64_t offset, void *dst, size_t n,
               const struct cw_stop *stop, struct cw_err *err)
{
    return file->scheme->read(file, offset, dst, n, stop, err);
}

bool cw_io_is_unchanged(const struct cw_io_file *file)
{
    return file->scheme->is_unchanged(file);
}

int cw_io_glob(const char *pattern, size_t entries_max, const struct cw_stop *stop,
               struct cw_io_list *list, struct cw_err *err)
{
    const struct cw_io_scheme *scheme;
    int rc = scheme_of(pattern, &scheme, err);
    return rc < 0 ? rc : scheme->glob(pattern, entries_max, stop, list, err);
}

int64_t cw_io_mark(const struct cw_io_info *info)
{
    return info->version[0] ? (int64_t)cw_hash_u64(info->version, strlen(info->version))
                            : info->mtime_ns;
}
