/* SPDX-License-Identifier: Apache-2.0 */
/* Files by pattern: `*`, `?`, `[...]` inside a component as in the shell, and `**` as a whole
 * component for any number of directories. Names that begin with a dot are matched only by a
 * pattern that writes the dot; `**` does not follow symbolic links to directories, so loops end
 * nowhere. */
#ifndef CW_FORMAT_GLOB_H
#define CW_FORMAT_GLOB_H

#include "base/err.h"
#include "base/stop.h"

struct cw_paths {
    char **v;
    size_t n, cap;
};
void cw_paths_fini(struct cw_paths *paths);
/* Bytewise order, no duplicates. */
void cw_paths_sort(struct cw_paths *paths);
/* Adds the regular files that match; a directory that cannot be read is an error (data would be
 * missing unseen). A pattern without wildcards must name a file. No match of one with wildcards
 * adds nothing. LIMIT when more than entries_max directory entries would have to be looked at; 0
 * = any number. Each directory is read once, however many `**` the pattern has. CANCELLED when
 * `stop` is set. */
int cw_glob(const char *pattern, size_t entries_max, const struct cw_stop *stop /* may be NULL */,
            struct cw_paths *paths, struct cw_err *err);

#endif
