/* SPDX-License-Identifier: Apache-2.0 */
/* Finds files by pattern: `*`, `?` and `[...]` inside a component work as in the shell, and `**` as
 * a whole component stands for any number of directories. Names that begin with a dot are matched
 * only by a pattern that contains the dot; `**` does not follow symbolic links to directories, so
 * it cannot run in a loop. Braces are replaced first (io/brace.h); of what they stand for, each
 * text without wildcards must name a file. */
#ifndef CW_IO_GLOB_H
#define CW_IO_GLOB_H

#include "base/err.h"
#include "base/stop.h"

/* What the message of a pattern says that is the name of a directory, before it says what helps. */
#define CW_GLOB_DIRECTORY "is not a regular file but a directory"

struct cw_paths {
    char **v;
    size_t n, cap;
};
void cw_paths_fini(struct cw_paths *paths);
/* Sorts paths bytewise, and removes duplicates. */
void cw_paths_sort(struct cw_paths *paths);
/* Adds the regular files that match. A directory that cannot be read is an error, since data would
 * be missing unnoticed. A pattern without wildcards must name a file; a pattern with wildcards may
 * match nothing. LIMIT if more than entries_max directory entries would have to be looked at; 0:
 * any number. Each directory is read once, however many `**` the pattern has. CANCELLED if `stop`
 * is set. */
int cw_glob(const char *pattern, size_t entries_max, const struct cw_stop *stop /* may be NULL */,
            struct cw_paths *paths, struct cw_err *err);

#endif
