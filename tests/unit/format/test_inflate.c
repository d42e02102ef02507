/* SPDX-License-Identifier: Apache-2.0 */
/* The beginning of a compressed file is had without the rest of it. */
#include "support/cm.h"

#include <string.h>
#include <zlib.h>

#include "base/mem.h"
#include "format/inflate.h"

enum { MIB = 1 << 20, PLAIN_BYTES = 6 * MIB };

/* A .gz file that is stored, so that as much of it is inflated as was read. */
struct stored {
    uint8_t *bytes;
    size_t n;
    uint64_t read; /* up to which byte */
};

static void stored_init(struct stored *s)
{
    cw_autofree uint8_t *plain = cw_mem_new(PLAIN_BYTES);
    z_stream z = {0};
    for (size_t i = 0; i < PLAIN_BYTES; i++)
        plain[i] = (uint8_t)(i / 1000);
    *s = (struct stored){.bytes = cw_mem_new(PLAIN_BYTES + MIB)};
    assert_int_equal(deflateInit2(&z, 0, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = plain;
    z.avail_in = PLAIN_BYTES;
    z.next_out = s->bytes;
    z.avail_out = PLAIN_BYTES + MIB;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    s->n = z.total_out;
    deflateEnd(&z);
}

static int read_stored(void *arg, uint64_t offset, void *dst, size_t n, struct cw_err *err)
{
    struct stored *s = arg;
    (void)err;
    memcpy(dst, s->bytes + offset, n);
    s->read = offset + n;
    return 0;
}

static void the_head_alone_is_read(void **state)
{
    static const size_t heads[] = {1,           1000,           64 << 10, MIB + 1, PLAIN_BYTES - 1,
                                   PLAIN_BYTES, PLAIN_BYTES + 1};
    struct stored s;
    (void)state;
    stored_init(&s);
    const struct cw_readable file = {
        .name = "f.gz", .size = s.n, .read_at = read_stored, .arg = &s};
    for (size_t i = 0; i < CW_ARRAY_LEN(heads); i++) {
        cw_autofree char *bytes = NULL;
        size_t n = 0;
        bool is_all = false;
        struct cw_err err = {0};
        assert_int_equal(cw_inflate_head(&file, heads[i], &bytes, &n, &is_all, &err), 0);
        assert_int_equal(n, CW_MIN(heads[i], (size_t)PLAIN_BYTES));
        assert_int_equal(is_all, heads[i] >= PLAIN_BYTES);
        assert_true(s.read <= heads[i] + MIB);
        for (size_t k = 0; k < n; k++)
            if ((uint8_t)bytes[k] != (uint8_t)(k / 1000))
                fail_msg("byte %zu of %zu", k, n);
    }
    cw_mem_free(s.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_head_alone_is_read)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
