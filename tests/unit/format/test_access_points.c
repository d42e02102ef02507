/* SPDX-License-Identifier: Apache-2.0 */
/* Any byte of a compressed file, without those long before it: from members, blocks and frames. What is
 * cut or damaged afterwards is noticed. */
#include "support/cm.h"

#include <string.h>
#include <zlib.h>

#include "base/mem.h"
#include "base/rng.h"
#include "codec/codec.h"
#include "format/access_points.h"

enum { PLAIN_BYTES = 1 << 20, EVERY = 48 << 10 };

/* A compressed file in memory, and what is in it. */
struct file {
    struct cw_str packed, plain;
    struct cw_readable_bytes bytes;
    struct cw_readable readable;
};

static void set_readable(struct file *f, const char *name)
{
    f->bytes = (struct cw_readable_bytes){cw_str_text(&f->packed), f->packed.len};
    f->readable = cw_readable_mem(name, &f->bytes);
}

static void file_fini(struct file *f)
{
    cw_str_fini(&f->packed);
    cw_str_fini(&f->plain);
}

/* Words from a small vocabulary, with distances up to that of the window, and bytes that do not repeat. */
static void add_words(struct cw_str *out, size_t n, uint64_t seed)
{
    struct cw_rng rng;
    const size_t end = out->len + n;
    cw_rng_init(&rng, seed, 0, 0, 0, 0);
    for (uint32_t k = 0; out->len < end; k++) {
        const uint64_t what = cw_rng_below(&rng, 2 * k, 1000);
        if (what < 4)
            cw_str_addf(out, "%016llx",
                        (unsigned long long)cw_rng_below(&rng, 2 * k + 1, 1ull << 62));
        else
            cw_str_addf(out, "w%llu ", (unsigned long long)(what * what / 100));
    }
    out->len = end;
}

static void add_member(struct file *f, const char *p, size_t n, int level, int strategy)
{
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, level, Z_DEFLATED, 31, 8, strategy), Z_OK);
    const size_t bound = deflateBound(&z, n);
    cw_autofree char *packed = cw_mem_new(bound);
    memcpy(&z.next_in, &p, sizeof(p));
    z.avail_in = (uInt)n;
    z.next_out = (Bytef *)packed;
    z.avail_out = (uInt)bound;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    cw_str_add_bytes(&f->packed, packed, z.total_out);
    deflateEnd(&z);
}

static void add_frame(struct file *f, const char *p, size_t n)
{
    struct cw_buf *buf = cw_codec_pack(p, n);
    assert_non_null(buf);
    cw_str_add_bytes(&f->packed, buf->data, buf->len);
    cw_buf_unref(buf);
}

/* Bytes that came out while the points were made. */
static int take(void *arg, char *p, size_t n, struct cw_err *err)
{
    (void)err;
    cw_str_add_bytes(arg, p, n);
    memset(p, 0xee, n + 64); /* it may be overwritten */
    return 0;
}

static struct cw_access_points *make(const struct file *f, uint64_t every)
{
    CW_STR_AUTO seen = {0};
    const struct cw_access_sink sink = {take, &seen};
    struct cw_access_points *p = NULL;
    struct cw_err err = {0};
    if (cw_access_points_make(&f->readable, every, &sink, &p, &err) < 0)
        fail_msg("%s", err.msg);
    assert_int_equal(seen.len, f->plain.len);
    assert_memory_equal(cw_str_text(&seen), cw_str_text(&f->plain), seen.len);
    assert_int_equal(p->size, f->plain.len);
    return p;
}

/* Each stretch is inflated, the last one first, and has its bytes. */
static void check_stretches(const struct file *f, const struct cw_access_points *p)
{
    uint64_t end = p->size;
    for (uint64_t k = p->n; k-- > 0;) {
        struct cw_err err = {0};
        const size_t n = (size_t)(cw_access_points_end(p, k) - p->v[k].at);
        cw_autofree char *dst = cw_mem_new(n);
        assert_int_equal(cw_access_points_end(p, k), end);
        assert_int_equal(cw_access_points_find(p, p->v[k].at), k);
        assert_int_equal(cw_access_points_find(p, end - 1), k);
        if (cw_access_points_inflate(p, k, &f->readable, dst, &err) < 0)
            fail_msg("stretch %llu: %s", (unsigned long long)k, err.msg);
        assert_memory_equal(dst, f->plain.s + p->v[k].at, n);
        end = p->v[k].at;
    }
    assert_int_equal(end, 0);
}

/* The same after they were kept as bytes. */
static void check_kept(const struct file *f, const struct cw_access_points *p)
{
    CW_STR_AUTO bytes = {0};
    cw_access_points_pack(p, &bytes);
    struct cw_access_points *again = cw_access_points_unpack(bytes.s, bytes.len, f->readable.size);
    assert_non_null(again);
    assert_int_equal(again->n, p->n);
    assert_int_equal(cw_access_points_bytes(again), cw_access_points_bytes(p));
    check_stretches(f, again);
    cw_access_points_free(again);
    assert_null(cw_access_points_unpack(bytes.s, bytes.len - 1, f->readable.size));
    if (p->n > 1)
        assert_null(cw_access_points_unpack(bytes.s, bytes.len, p->v[p->n - 1].from >> 4));
}

static void blocks_of_one_member(void **state)
{
    static const struct {
        int level, strategy;
    } ways[] = {{6, Z_DEFAULT_STRATEGY}, {1, Z_DEFAULT_STRATEGY}, {9, Z_FIXED}, {6, Z_RLE},
                {6, Z_HUFFMAN_ONLY},     {0, Z_DEFAULT_STRATEGY}};
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(ways); i++) {
        struct file f = {0};
        add_words(&f.plain, PLAIN_BYTES + i, i);
        add_member(&f, f.plain.s, f.plain.len, ways[i].level, ways[i].strategy);
        set_readable(&f, "f.gz");
        struct cw_access_points *p = make(&f, EVERY);
        assert_true(p->n > PLAIN_BYTES / EVERY / 4 && p->n <= PLAIN_BYTES / EVERY + 1);
        assert_true(p->windows_n > 0);
        for (uint64_t k = 0; k + 1 < p->n; k++)
            assert_true(p->v[k + 1].at - p->v[k].at >= EVERY);
        check_stretches(&f, p);
        check_kept(&f, p);
        cw_access_points_free(p);
        file_fini(&f);
    }
}

/* Members, as bgzip writes them, need no windows; an empty one at the end is no stretch. */
static void members_need_no_windows(void **state)
{
    struct file f = {0};
    (void)state;
    add_words(&f.plain, PLAIN_BYTES, 7);
    for (size_t at = 0; at < f.plain.len; at += 40000)
        add_member(&f, f.plain.s + at, CW_MIN(f.plain.len - at, (size_t)40000), 6, 0);
    add_member(&f, "", 0, 6, 0);
    set_readable(&f, "f.gz");
    struct cw_access_points *p = make(&f, (uint64_t)4 << 20);
    assert_int_equal(p->windows_n, 0);
    assert_int_equal(p->n, (PLAIN_BYTES + 79999) / 80000);
    check_stretches(&f, p);
    check_kept(&f, p);
    cw_access_points_free(p);
    file_fini(&f);
}

/* A stretch that begins inside of a member goes on in the next ones. */
static void blocks_and_members(void **state)
{
    struct file f = {0};
    (void)state;
    add_words(&f.plain, PLAIN_BYTES, 8);
    const size_t first = PLAIN_BYTES / 2 + 12345;
    add_member(&f, f.plain.s, first, 6, 0);
    add_member(&f, f.plain.s + first, 1000, 6, 0);
    add_member(&f, "", 0, 6, 0);
    add_member(&f, f.plain.s + first + 1000, f.plain.len - first - 1000, 6, 0);
    set_readable(&f, "f.gz");
    for (uint64_t every = 50000; every < 400000; every += 50000) {
        struct cw_access_points *p = make(&f, every);
        check_stretches(&f, p);
        cw_access_points_free(p);
    }
    file_fini(&f);
}

static void frames(void **state)
{
    struct file f = {0};
    (void)state;
    add_words(&f.plain, PLAIN_BYTES, 9);
    for (size_t at = 0, n = 100; at < f.plain.len; at += n, n = n * 3 / 2) {
        n = CW_MIN(n, f.plain.len - at);
        add_frame(&f, f.plain.s + at, n);
    }
    set_readable(&f, "f.zst");
    struct cw_access_points *p = make(&f, (uint64_t)4 << 20);
    assert_true(p->n > 5 && p->windows_n == 0);
    check_stretches(&f, p);
    check_kept(&f, p);
    cw_access_points_free(p);
    file_fini(&f);
}

static void nothing(void **state)
{
    (void)state;
    for (int zst = 0; zst < 2; zst++)
        for (int members = 0; members < 3; members++) {
            struct file f = {0};
            for (int i = 0; i < members; i++) {
                if (zst)
                    add_frame(&f, "", 0);
                else
                    add_member(&f, "", 0, 6, 0);
            }
            set_readable(&f, zst ? "f.zst" : "f.gz");
            struct cw_access_points *p = make(&f, EVERY);
            assert_int_equal(p->n, 0);
            check_kept(&f, p);
            cw_access_points_free(p);
            file_fini(&f);
        }
}

/* A long stretch has a hash for each of its blocks, also after it was kept; a short one beside it has none. */
static void blocks_of_a_long_stretch(void **state)
{
    const size_t first = 100000, longest = (size_t)CW_ACCESS_LONG_BYTES + 12345;
    struct file f = {0};
    CW_STR_AUTO bytes = {0};
    (void)state;
    add_words(&f.plain, first + longest, 10);
    add_frame(&f, f.plain.s, first);
    add_frame(&f, f.plain.s + first, longest);
    set_readable(&f, "f.zst");
    struct cw_access_points *p = make(&f, (uint64_t)4 << 20);
    assert_int_equal(p->n, 2);
    assert_int_equal(p->sums_n, 17);
    check_kept(&f, p);
    cw_access_points_pack(p, &bytes);
    struct cw_access_points *again = cw_access_points_unpack(bytes.s, bytes.len, f.readable.size);
    assert_non_null(again);
    for (uint64_t block = 0; block < p->sums_n; block++) {
        const size_t at = (size_t)(block * CW_ACCESS_BLOCK_BYTES);
        const size_t n = CW_MIN((size_t)CW_ACCESS_BLOCK_BYTES, longest - at);
        char *from = f.plain.s + first + at;
        struct cw_err err = {0};
        assert_int_equal(cw_access_points_check(again, 1, block, from, n, &f.readable, &err), 0);
        from[n / 2] ^= 1;
        assert_int_equal(cw_access_points_check(again, 1, block, from, n, &f.readable, &err),
                         CW_E_CORRUPT);
        assert_non_null(strstr(err.msg, "f.zst: damaged behind byte"));
    }
    cw_access_points_free(again);
    assert_null(cw_access_points_unpack(bytes.s, bytes.len - 8, f.readable.size));
    cw_access_points_free(p);
    file_fini(&f);
}

/* ---- bad files ---- */

static void small_file(struct file *f, bool zst)
{
    *f = (struct file){0};
    add_words(&f->plain, 3000, 3);
    for (int i = 0; i < 3; i++) {
        if (zst)
            add_frame(f, f->plain.s + i * 1000, 1000);
        else
            add_member(f, f->plain.s + i * 1000, 1000, i * 3, 0);
    }
    set_readable(f, zst ? "f.zst" : "f.gz");
}

/* Inflates stretch k of what the file has become: it is refused, or the bytes are the right ones. */
static bool is_refused(const struct file *f, const struct cw_access_points *p, uint64_t k)
{
    char dst[3000];
    struct cw_err err = {0};
    const size_t n = (size_t)(cw_access_points_end(p, k) - p->v[k].at);
    int rc = cw_access_points_inflate(p, k, &f->readable, dst, &err);
    if (rc == 0)
        assert_memory_equal(dst, f->plain.s + p->v[k].at, n);
    else
        assert_true((rc == CW_E_CORRUPT || rc == CW_E_LIMIT) && strstr(err.msg, f->readable.name));
    return rc < 0;
}

/* At each byte: what is there so far is either a file of its own, or the error names file and byte. */
static void cut_anywhere(void **state)
{
    (void)state;
    for (int zst = 0; zst < 2; zst++) {
        struct file f;
        small_file(&f, zst);
        unsigned good = 0;
        for (size_t n = 0; n < f.packed.len; n++) {
            struct cw_access_points *p = NULL;
            struct cw_err err = {0};
            f.bytes.n = f.readable.size = n;
            int rc = cw_access_points_make(&f.readable, 1, NULL, &p, &err);
            assert_true(rc == 0 || (rc == CW_E_CORRUPT && strstr(err.msg, f.readable.name) &&
                                    strstr(err.msg, "byte ")));
            if (rc == 0)
                assert_true(p->size % 1000 == 0);
            good += rc == 0;
            cw_access_points_free(p);
        }
        assert_int_equal(good, 3); /* nothing, one member, two */
        file_fini(&f);
    }
}

static void damaged_anywhere(void **state)
{
    (void)state;
    for (int zst = 0; zst < 2; zst++) {
        struct file f;
        unsigned refused = 0;
        small_file(&f, zst);
        struct cw_access_points *p = make(&f, 1);
        assert_true(p->n >= 3);
        for (size_t i = 0; i < f.packed.len; i++) {
            f.packed.s[i] ^= 0x55;
            for (uint64_t k = 0; k < p->n; k++)
                refused += is_refused(&f, p, k);
            f.packed.s[i] ^= 0x55;
        }
        assert_true(refused > f.packed.len / 2);
        cw_access_points_free(p);
        file_fini(&f);
    }
}

/* Points that somebody else has written are refused, or what is inflated with them is. */
static void damaged_points(void **state)
{
    struct file f;
    CW_STR_AUTO bytes = {0};
    unsigned refused = 0;
    (void)state;
    small_file(&f, false);
    struct cw_access_points *p = make(&f, 1);
    cw_access_points_pack(p, &bytes);
    for (size_t i = 0; i < bytes.len; i++) {
        bytes.s[i] ^= 0x21;
        struct cw_access_points *other =
            cw_access_points_unpack(bytes.s, bytes.len, f.readable.size);
        for (uint64_t k = 0; other && k < other->n; k++) {
            const uint64_t n = cw_access_points_end(other, k) - other->v[k].at;
            cw_autofree char *dst = cw_mem_try((size_t)CW_MIN(n, (uint64_t)1 << 20));
            if (n <= 1 << 20)
                refused += cw_access_points_inflate(other, k, &f.readable, dst, NULL) < 0;
        }
        refused += other == NULL;
        bytes.s[i] ^= 0x21;
        cw_access_points_free(other);
    }
    assert_true(refused > bytes.len / 2);
    cw_access_points_free(p);
    file_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(blocks_of_one_member),
                                       cmocka_unit_test(members_need_no_windows),
                                       cmocka_unit_test(blocks_and_members),
                                       cmocka_unit_test(frames),
                                       cmocka_unit_test(blocks_of_a_long_stretch),
                                       cmocka_unit_test(nothing),
                                       cmocka_unit_test(cut_anywhere),
                                       cmocka_unit_test(damaged_anywhere),
                                       cmocka_unit_test(damaged_points)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
