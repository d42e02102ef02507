/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of a stream. A line that came as a whole is not copied. */
#include "kube/watch_lines.h"

#include <string.h>

static int tell(const char *line, size_t n, cw_kube_line_fn *fn, void *arg, struct cw_err *err)
{
    if (n > 0 && line[n - 1] == '\r')
        n--;
    return n > 0 ? fn(arg, line, n, err) : CW_OK;
}

/* Tells a line whose last bytes are given. */
static int end_line(struct cw_kube_lines *lines, const char *bytes, size_t n, cw_kube_line_fn *fn,
                    void *arg, struct cw_err *err)
{
    if (lines->begun.len == 0)
        return tell(bytes, n, fn, arg, err);
    cw_str_add_bytes(&lines->begun, bytes, n);
    int rc = tell(lines->begun.s, lines->begun.len, fn, arg, err);
    cw_str_clear(&lines->begun);
    return rc;
}

int cw_kube_lines_add(struct cw_kube_lines *lines, const char *bytes, size_t n, cw_kube_line_fn *fn,
                      void *arg, struct cw_err *err)
{
    while (n > 0) {
        const char *end = memchr(bytes, '\n', n);
        size_t part = end ? (size_t)(end - bytes) : n;

        if (part > lines->max - CW_MIN(lines->begun.len, lines->max))
            return cw_err_set(err, CW_E_LIMIT, "a line is longer than %zu bytes", lines->max);
        if (!end) {
            cw_str_add_bytes(&lines->begun, bytes, n);
            return CW_OK;
        }
        int rc = end_line(lines, bytes, part, fn, arg, err);
        if (rc != CW_OK)
            return rc;
        bytes += part + 1;
        n -= part + 1;
    }
    return CW_OK;
}

void cw_kube_lines_reset(struct cw_kube_lines *lines)
{
    cw_str_clear(&lines->begun);
}

void cw_kube_lines_fini(struct cw_kube_lines *lines)
{
    cw_str_fini(&lines->begun);
}
