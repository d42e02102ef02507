/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns of objects in buckets: a server lists, page by page, what begins as the pattern does, and
 * what matches is kept. */
#ifndef CW_IO_REMOTE_BUCKET_GLOB_H
#define CW_IO_REMOTE_BUCKET_GLOB_H

#include "io/io.h"

struct cw_find {
    const char *bucket; /* its URL: "s3://bucket" */
    const char *keys;   /* the pattern of keys */
    size_t left;        /* how many keys may still be looked at */
    struct cw_io_list *list;
};
/* Reads the page behind the token (NULL: the first one), and calls cw_find_add for each object.
 * *ret_next: the token of the next page; NULL: there is none. */
typedef int cw_find_page_fn(struct cw_find *find, const char *token, const struct cw_stop *stop,
                            char **ret_next, struct cw_err *err);
/* Keeps an object if it matches. version: as answers of the server name it; "": the list does not
 * tell. LIMIT if there were too many. */
int cw_find_add(struct cw_find *find, const char *key, int64_t size, const char *version,
                struct cw_err *err);
/* INVALID: it is no name of a bucket, n bytes long. Such names become names of hosts. */
int cw_bucket_check(const char *name, size_t n, struct cw_err *err);
/* The function `glob` of a scheme. */
int cw_bucket_glob(const char *pattern, size_t entries_max, cw_find_page_fn *page,
                   const struct cw_stop *stop, struct cw_io_list *list, struct cw_err *err);

#endif
