/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts a stream of bytes, which may be split anywhere, into lines: a watch sends one JSON object a
 * line. Pure functions. */
#ifndef CW_KUBE_WATCH_LINES_H
#define CW_KUBE_WATCH_LINES_H

#include "base/err.h"
#include "base/str.h"

/* The longest line: an object of Kubernetes has at most 1.5 to 2 MiB in etcd. */
#define CW_KUBE_LINE_MAX ((size_t)8 << 20)

/* Zero-initialise it, and set max. */
struct cw_kube_lines {
    size_t max;
    struct cw_str begun; /* what came of the present line */
};
/* Takes a line without its end; what is not CW_OK ends the stream. */
typedef int cw_kube_line_fn(void *arg, const char *line, size_t n, struct cw_err *err);
/* Takes bytes, and calls fn for each whole line that is not empty. Returns what fn returned, or
 * LIMIT if a line has more than max bytes. */
int cw_kube_lines_add(struct cw_kube_lines *lines, const char *bytes, size_t n, cw_kube_line_fn *fn,
                      void *arg, struct cw_err *err);
/* Forgets what came of a line, for another stream. */
void cw_kube_lines_reset(struct cw_kube_lines *lines);
void cw_kube_lines_fini(struct cw_kube_lines *lines);

#endif
