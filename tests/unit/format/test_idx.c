/* SPDX-License-Identifier: Apache-2.0 */
/* Headers and names; whole files are in tests/ops/idx.json. */
#include "support/cm.h"

#include <string.h>

#include "base/mem.h"
#include "format/gz.h"
#include "format/idx.h"

#include <zlib.h>

static void headers(void **state)
{
    static const uint8_t images[] = {0, 0, 8, 3, 0, 0, 0xea, 0x60, 0, 0, 0, 28, 0, 0, 0, 28};
    struct cw_idx_header h;
    struct cw_err err = {0};
    (void)state;
    assert_int_equal(cw_idx_parse(images, sizeof(images), "f", &h, &err), 0);
    assert_int_equal(h.dtype, CW_DTYPE_U8);
    assert_int_equal(h.rank, 2);
    assert_int_equal(h.dims[0], 28);
    assert_int_equal(h.records, 60000);
    assert_int_equal(h.record_bytes, 784);
    assert_int_equal(h.file_bytes, 16 + 60000 * 784);
    for (size_t n = 0; n < sizeof(images); n++)
        assert_int_equal(cw_idx_parse(images, n, "f", &h, &err), CW_E_CORRUPT);
}

static void byte_order(void **state)
{
    static const uint8_t big[] = {1, 2, 3, 4, 5, 6, 7, 8};
    uint64_t wide;
    uint16_t small[4];
    (void)state;
    cw_idx_convert(&wide, big, 1, 8);
    assert_true(wide == 0x0102030405060708u);
    cw_idx_convert(small, big, 4, 2);
    assert_int_equal(small[3], 0x0708);
}

/* Two members one after another read as one; every cut of the file is an error, no cut hangs. */
static void gzip_members(void **state)
{
    static uint8_t file[400], out[64];
    size_t n = 0, got;
    (void)state;
    for (int member = 0; member < 2; member++) {
        static uint8_t text[] = "hello hello hello ";
        z_stream z = {0};
        assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
        z.next_in = text;
        z.avail_in = 18;
        z.next_out = file + n;
        z.avail_out = (uInt)(sizeof(file) - n);
        assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
        n = sizeof(file) - z.avail_out;
        deflateEnd(&z);
    }
    size_t first = 0;
    for (size_t cut = 1; cut <= n; cut++) {
        struct cw_readable_bytes bytes = {file, cut};
        struct cw_readable readable = cw_readable_mem("f.gz", &bytes);
        struct cw_gz *gz = cw_gz_new(&readable);
        struct cw_err err = {0};
        int rc = cw_gz_read(gz, out, sizeof(out), &got, &err);
        cw_gz_free(gz);
        if (rc == 0 && !first)
            first = cut; /* the first member alone is a whole file */
        assert_true(rc == (cut == first || cut == n ? 0 : CW_E_CORRUPT));
        if (rc == 0)
            assert_int_equal(got, cut == n ? 36 : 18);
    }
    assert_memory_equal(out, "hello hello hello hello hello hello ", 36);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(headers), cmocka_unit_test(byte_order),
                                       cmocka_unit_test(gzip_members)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
