/* SPDX-License-Identifier: Apache-2.0 */
/* The index of a WebDataset file, for the two files that write and read it (webdataset.c says what
 * it looks like). */
#ifndef CW_FORMAT_WEBDATASET_INT_H
#define CW_FORMAT_WEBDATASET_INT_H

#include "format/webdataset.h"

#define CW_WDS_SAMPLES_A_MARK 16

struct cw_wds_mark {
    uint64_t at;    /* offset of the first code behind it */
    uint64_t block; /* from which the first gap counts */
};

/* The block behind a member's data. */
static inline uint64_t cw_wds_end_block(uint64_t offset, uint64_t bytes)
{
    return offset / CW_TAR_BLOCK_BYTES + (bytes + CW_TAR_BLOCK_BYTES - 1) / CW_TAR_BLOCK_BYTES;
}

#endif
