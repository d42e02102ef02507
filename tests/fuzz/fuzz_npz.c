/* SPDX-License-Identifier: Apache-2.0 */
/* Archives of arrays: the directory of a zip file, its members, and the heads and bytes of arrays. */
#include <stdint.h>

#include "base/mem.h"
#include "format/npz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { BYTES_MAX = 1 << 20, ARRAYS_MAX = 16 };

static void read_array(const struct cw_readable *file, const struct cw_npz *npz, size_t i)
{
    struct cw_npz_array array;
    struct cw_err err = {0};
    if (cw_npz_array(file, npz, i, &array, &err) < 0) {
        CW_ASSERT(err.msg[0]);
        return;
    }
    CW_ASSERT(array.header.rank > 0 && array.begin <= file->size);
    CW_ASSERT(array.header.header_bytes + array.header.data_bytes == array.member.bytes);
    if (array.member.bytes > BYTES_MAX)
        return;
    cw_autofree uint8_t *bytes = cw_mem_new((size_t)array.member.bytes);
    int rc = cw_npz_get(file, &array, "a", bytes, &err);
    CW_ASSERT(rc == 0 || err.msg[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct cw_readable_bytes bytes = {data, n};
    struct cw_readable file = cw_readable_mem("f", &bytes);
    struct cw_npz npz;
    struct cw_err err = {0};
    if (cw_npz_read(&file, &npz, &err) < 0) {
        CW_ASSERT(err.msg[0]);
        return 0;
    }
    for (size_t i = 0; i < CW_MIN(npz.zip.n, (size_t)ARRAYS_MAX); i++)
        read_array(&file, &npz, i);
    cw_npz_fini(&npz);
    return 0;
}
