/* SPDX-License-Identifier: Apache-2.0 */
/* What the extended headers of a tar member say. The functions return NULL, or why a header is
 * refused. */
#ifndef CW_FORMAT_TAR_PAX_H
#define CW_FORMAT_TAR_PAX_H

#include <stdbool.h>
#include "format/tar.h"

struct cw_tar_pax {
    char name[CW_TAR_NAME_BYTES_MAX];
    size_t name_n; /* 0: none was given */
    bool has_size;
    uint64_t size;
};
void cw_tar_pax_reset(struct cw_tar_pax *pax);
/* Takes a name of n bytes. */
const char *cw_tar_pax_name(struct cw_tar_pax *pax, const char *name, size_t n);
/* Reads the records of a header of type x or, with `global`, g. */
const char *cw_tar_pax_read(struct cw_tar_pax *pax, const char *p, size_t n, bool global);

#endif
