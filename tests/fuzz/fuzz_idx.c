/* SPDX-License-Identifier: Apache-2.0 */
/* idx headers with their values, and gzip files of any kind. */
#include <string.h>

#include "base/mem.h"
#include "format/gz.h"
#include "format/idx.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void parse(const uint8_t *p, size_t n)
{
    struct cw_idx_header h;
    struct cw_err err = {0};
    int rc = cw_idx_parse(p, n, "f", &h, &err);
    CW_ASSERT(rc == 0 || (rc == CW_E_CORRUPT && err.msg[0]));
    if (rc < 0 || h.file_bytes > n)
        return;
    size_t value_bytes = cw_dtype_bytes(h.dtype), bytes = (size_t)h.file_bytes - h.header_bytes;
    CW_ASSERT(bytes == (size_t)h.records * h.record_bytes);
    cw_autofree uint8_t *values = cw_mem_new(bytes + 1);
    cw_idx_convert(values, p + h.header_bytes, bytes / value_bytes, value_bytes);
    cw_idx_convert(values, values, bytes / value_bytes, value_bytes);
    CW_ASSERT(memcmp(values, p + h.header_bytes, bytes) == 0);
}

/* At most 1 MiB comes out, in pieces of odd sizes. */
static void inflate_all(const uint8_t *p, size_t n)
{
    static uint8_t out[4099];
    struct cw_readable_bytes bytes = {p, n};
    struct cw_readable file = cw_readable_mem("f.gz", &bytes);
    struct cw_gz *gz = cw_gz_new(&file);
    struct cw_err err = {0};
    size_t got = sizeof(out);
    int rc = 0;
    for (int i = 0; i < 256 && rc == 0 && got == sizeof(out); i++) {
        rc = cw_gz_read(gz, out, sizeof(out), &got, &err);
        CW_ASSERT(rc == 0 || (rc == CW_E_CORRUPT && err.msg[0]));
        if (rc == 0 && i == 0)
            parse(out, got);
    }
    cw_gz_free(gz);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    parse(data, n);
    inflate_all(data, n);
    return 0;
}
