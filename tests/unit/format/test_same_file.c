/* SPDX-License-Identifier: Apache-2.0 */
/* The one answer to "is this the file that the job means?": each identity against each way in
 * which a file can be another one. */
#include "support/cm.h"

#include <string.h>

#include "base/mem.h"
#include "format/same_file.h"

#define BYTES ((size_t)1 << 20)
/* What lies between the ends is cut into this for the samples; the first of them ends 4 KiB
 * behind the head. */
#define SAMPLED (CW_SAMPLE_END_BYTES + 17)
#define BETWEEN (CW_SAMPLE_END_BYTES + CW_SAMPLE_BLOCK_BYTES + 17)

static uint64_t read_bytes; /* by all readers */

static int read_mem(void *arg, uint64_t offset, void *dst, size_t n, struct cw_err *err)
{
    (void)err;
    assert_true(offset + n <= BYTES + 1);
    memcpy(dst, (const char *)arg + offset, n);
    read_bytes += n;
    return 0;
}

static int read_fails(void *arg, uint64_t offset, void *dst, size_t n, struct cw_err *err)
{
    (void)arg, (void)offset, (void)dst, (void)n;
    return cw_err_set(err, CW_E_IO, "the disk is gone");
}

struct kind {
    const char *name;
    bool missing;
    size_t bytes;
    int64_t mtime_ns;
    size_t flip;              /* this byte is another one; SIZE_MAX = none */
    bool same[CW_IDENTITY_N]; /* mtime, size, sample, content */
    const char *says;
};

static const struct kind kinds[] = {
    {"same", false, BYTES, 5, SIZE_MAX, {true, true, true, true}, NULL},
    {"touched",
     false,
     BYTES,
     1000000005,
     SIZE_MAX,
     {false, true, true, true},
     "its time of change is another one (by +1 s)"},
    {"head", false, BYTES, 5, 0, {true, true, false, false}, "its bytes are others"},
    {"tail", false, BYTES, 5, BYTES - 1, {true, true, false, false}, "its bytes are others"},
    {"sampled", false, BYTES, 5, SAMPLED, {true, true, false, false}, "its bytes are others"},
    {"between", false, BYTES, 5, BETWEEN, {true, true, true, false}, "its bytes are others"},
    {"last sample",
     false,
     BYTES,
     5,
     BYTES - CW_SAMPLE_END_BYTES - 17,
     {true, true, false, false},
     "its bytes are others"},
    {"grown",
     false,
     BYTES + 1,
     5,
     SIZE_MAX,
     {false, false, false, false},
     "it had 1048576 bytes then, here and now it has 1048577"},
    {"shrunk",
     false,
     BYTES - 1,
     5,
     SIZE_MAX,
     {false, false, false, false},
     "it had 1048576 bytes then, here and now it has 1048575"},
    {"missing", true, 0, 0, SIZE_MAX, {false, false, false, false}, "it does not exist here"},
};

static struct cw_found_file found_of(char *bytes, size_t n, int64_t mtime_ns)
{
    return (struct cw_found_file){
        .bytes = {.name = "/data/a", .size = n, .read_at = read_mem, .arg = bytes},
        .mtime_ns = mtime_ns};
}

static char *make_bytes(void)
{
    char *bytes = cw_mem_new(BYTES + 1);
    for (size_t i = 0; i <= BYTES; i++)
        bytes[i] = (char)(i * 31 % 251);
    return bytes;
}

static void check(const struct kind *kind, enum cw_identity identity, char *bytes)
{
    struct cw_file_stamp means;
    struct cw_err err = {0};
    struct cw_found_file was = found_of(bytes, BYTES, 5),
                         found = found_of(bytes, kind->bytes, kind->mtime_ns);
    assert_int_equal(cw_same_file_stamp(identity, &was, &means, &err), 0);
    if (kind->flip != SIZE_MAX)
        bytes[kind->flip] ^= 1;
    int rc = cw_same_file(&means, "/data/a", kind->missing ? NULL : &found, &err);
    if (kind->flip != SIZE_MAX)
        bytes[kind->flip] ^= 1;
    if (rc != (kind->same[identity] ? 0 : CW_E_OTHER_FILE))
        fail_msg("%s by %s: %d, %s", kind->name, cw_identity_name(identity), rc, err.msg);
    if (rc != 0 && (!strstr(err.msg, kind->says) || strncmp(err.msg, "/data/a: ", 9) != 0))
        fail_msg("%s by %s: %s", kind->name, cw_identity_name(identity), err.msg);
}

static void each_kind(void **state)
{
    char *bytes = make_bytes();
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(kinds); i++)
        for (int id = 0; id < CW_IDENTITY_N; id++)
            check(&kinds[i], (enum cw_identity)id, bytes);
    cw_mem_free(bytes);
}

/* mtime and size read nothing, a sample reads 192 KiB, and a known sum or another size spares
 * all. */
static void what_is_read(void **state)
{
    static const uint64_t want[] = {0, 0, 192 << 10, BYTES};
    char *bytes = make_bytes();
    (void)state;
    for (int id = 0; id < CW_IDENTITY_N; id++) {
        struct cw_file_stamp means;
        struct cw_found_file found = found_of(bytes, BYTES, 5),
                             longer = found_of(bytes, BYTES + 1, 5);
        read_bytes = 0;
        assert_int_equal(cw_same_file_stamp((enum cw_identity)id, &found, &means, NULL), 0);
        assert_int_equal(read_bytes, want[id]);
        found.sum = &means.sum;
        assert_int_equal(cw_same_file(&means, "a", &found, NULL), 0);
        assert_int_equal(cw_same_file(&means, "a", &longer, NULL), CW_E_OTHER_FILE);
        assert_int_equal(read_bytes, want[id]);
    }
    cw_mem_free(bytes);
}

/* Every size around that from which on not all is read. */
static void small_files(void **state)
{
    char *bytes = make_bytes();
    size_t whole = (size_t)(2 * CW_SAMPLE_END_BYTES + CW_SAMPLE_BLOCKS * CW_SAMPLE_BLOCK_BYTES);
    const size_t sizes[] = {0, 1, 4096, whole - 1, whole, whole + 1, whole + 4096};
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(sizes); i++) {
        struct cw_file_stamp means;
        struct cw_found_file found = found_of(bytes, sizes[i], 0);
        read_bytes = 0;
        assert_int_equal(cw_same_file_stamp(CW_IDENTITY_SAMPLE, &found, &means, NULL), 0);
        assert_int_equal(read_bytes, CW_MIN(sizes[i], whole));
        for (size_t at = 0; at < sizes[i]; at += 1021) {
            /* maybe */
            bool overlooked = sizes[i] > whole && at >= CW_SAMPLE_END_BYTES &&
                              at < sizes[i] - CW_SAMPLE_END_BYTES;
            bytes[at] ^= 1;
            int rc = cw_same_file(&means, "a", &found, NULL);
            bytes[at] ^= 1;
            assert_true(rc == CW_E_OTHER_FILE || (overlooked && rc == 0));
        }
    }
    cw_mem_free(bytes);
}

/* Objects of a store have an etag and no time. */
static void etags(void **state)
{
    char *bytes = make_bytes();
    struct cw_file_stamp means;
    struct cw_err err = {0};
    struct cw_found_file a = found_of(bytes, BYTES, 0), b = a;
    (void)state;
    a.etag = "\"5d41402a\"";
    b.etag = "\"7d793037\"";
    assert_int_equal(cw_same_file_stamp(CW_IDENTITY_MTIME, &a, &means, &err), 0);
    assert_int_equal(cw_same_file(&means, "s3://b/a", &a, &err), 0);
    assert_int_equal(cw_same_file(&means, "s3://b/a", &b, &err), CW_E_OTHER_FILE);
    assert_non_null(strstr(err.msg, "s3://b/a"));
    assert_non_null(strstr(err.msg, "its etag is another one"));
    assert_int_equal(cw_same_file_stamp(CW_IDENTITY_SIZE, &a, &means, &err), 0);
    assert_int_equal(cw_same_file(&means, "s3://b/a", &b, &err), 0);
    cw_mem_free(bytes);
}

static void reading_fails(void **state)
{
    char *bytes = make_bytes();
    struct cw_file_stamp means;
    struct cw_err err = {0};
    struct cw_found_file found = found_of(bytes, BYTES, 0);
    (void)state;
    assert_int_equal(cw_same_file_stamp(CW_IDENTITY_CONTENT, &found, &means, &err), 0);
    found.bytes.read_at = read_fails;
    assert_int_equal(cw_same_file(&means, "/data/a", &found, &err), CW_E_IO);
    assert_non_null(strstr(err.msg, "/data/a: the disk is gone"));
    cw_mem_free(bytes);
}

static void names(void **state)
{
    (void)state;
    for (int id = 0; id < CW_IDENTITY_N; id++) {
        enum cw_identity got = CW_IDENTITY_N;
        assert_int_equal(cw_identity_parse(cw_identity_name((enum cw_identity)id), "x", &got, NULL),
                         0);
        assert_int_equal(got, id);
        bool overlooks = id == CW_IDENTITY_SIZE || id == CW_IDENTITY_SAMPLE;
        assert_int_equal(cw_identity_blind((enum cw_identity)id) != NULL, overlooks);
    }
    struct cw_err err = {0};
    enum cw_identity got;
    assert_int_equal(cw_identity_parse("hash", "option --identity", &got, &err), CW_E_INVALID);
    assert_string_equal(err.msg,
                        "option --identity: \"hash\" is none of mtime, size, sample, content");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind), cmocka_unit_test(what_is_read),  cmocka_unit_test(small_files),
        cmocka_unit_test(etags),     cmocka_unit_test(reading_fails), cmocka_unit_test(names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
