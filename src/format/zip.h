/* SPDX-License-Identifier: Apache-2.0 */
/* Zip archives, read by the directory at their end: members that are stored or deflated, and archives
 * and members of any size (zip64). Refused by name: encrypted members, other ways of compression, and
 * archives of several disks. A zip that is read has no threads of its own; it is not changed once it
 * is read. */
#ifndef CW_FORMAT_ZIP_H
#define CW_FORMAT_ZIP_H

#include "format/read_at.h"

#define CW_ZIP_DIRECTORY_BYTES_MAX ((uint64_t)64 << 20)

enum cw_zip_method { CW_ZIP_STORED = 0, CW_ZIP_DEFLATED = 8 }; /* the numbers of the format */

struct cw_zip_member {
    char *name;
    uint64_t head; /* where its local header begins */
    uint64_t packed_bytes, bytes;
    uint32_t crc; /* CRC-32 of its bytes */
    uint16_t flags, method;
};
struct cw_zip {
    struct cw_zip_member *v; /* in the order of the directory */
    size_t n, cap;
    uint64_t directory; /* where it begins: members lie before it */
};

/* Reads the directory. Errors name the file, and the byte or the member. */
int cw_zip_read(const struct cw_readable *file, struct cw_zip *ret_zip, struct cw_err *err);
void cw_zip_fini(struct cw_zip *zip);
/* Finds where the packed bytes of a member begin, which then lie before the directory. A member that
 * cannot be read is refused here, with the reason. */
int cw_zip_locate(const struct cw_readable *file, const struct cw_zip *zip,
                  const struct cw_zip_member *member, uint64_t *ret_begin, struct cw_err *err);
/* Reads the first n bytes of a member whose packed bytes begin there. With all of them the checksum is
 * compared. Of a deflated one, so many bytes are inflated each time. */
int cw_zip_get(const struct cw_readable *file, const struct cw_zip_member *member, uint64_t begin,
               void *dst, size_t n, struct cw_err *err);

#endif
