/* SPDX-License-Identifier: Apache-2.0 */
/* Tar files as GNU tar, pax and Python write them: ustar with its prefix, long names of GNU ('L')
 * and of pax ('x'), sizes in octal and in base 256. What would be missing unnoticed is refused:
 * sparse files, links, volumes, and files behind the end mark. One thread. */
#ifndef CW_FORMAT_TAR_H
#define CW_FORMAT_TAR_H

#include <stdbool.h>
#include "format/read_at.h"

#define CW_TAR_BLOCK_BYTES 512
#define CW_TAR_NAME_BYTES_MAX 4096
#define CW_TAR_PAX_BYTES_MAX ((uint64_t)1 << 20)

struct cw_tar_member {
    const char *name; /* valid until the next call; not terminated */
    size_t name_n;
    /* Offset of its first header, which may be one that gives its long name. All offsets are multiples
     * of CW_TAR_BLOCK_BYTES. */
    uint64_t head;
    uint64_t data, bytes; /* which lie in the file */
};
struct cw_tar;
/* Begins at an offset where a header is. The readable is borrowed until cw_tar_free. */
struct cw_tar *cw_tar_new(const struct cw_readable *file, uint64_t offset) CW_MUST_CHECK;
void cw_tar_free(struct cw_tar *tar);
/* Finds the next regular file; directories and special files are passed over. Returns 1 with a
 * member, 0 at the end of the file, or an error, which names file, member and byte. */
int cw_tar_next(struct cw_tar *tar, struct cw_tar_member *ret_member, struct cw_err *err);
/* The name of the member whose headers are the n bytes at p, as cw_tar_next gave it from `head` to
 * `data`. *ret_name lies in memory of the arena. */
struct cw_arena;
int cw_tar_name(const char *file, const void *p, size_t n, struct cw_arena *arena, char **ret_name,
                size_t *ret_name_n, struct cw_err *err);

#endif
