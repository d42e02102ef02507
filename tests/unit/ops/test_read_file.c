/* SPDX-License-Identifier: Apache-2.0 */
/* read_file compares what it reads with what the job was prepared with, by each identity, also
 * where a cache of source blocks holds other bytes. */
#include "support/cm.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/source_file.h"
#include "ops/source_stamp.h"
#include "ops/op.h"

static char path[] = "/tmp/cw_test_read_XXXXXX";

static void put(const char *text, time_t at)
{
    const struct timespec times[2] = {{.tv_sec = at}, {.tv_sec = at}};
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static struct cw_file_stamp stamp_by(enum cw_identity identity)
{
    struct cw_file_stamp stamp;
    struct cw_io_info info;
    assert_int_equal(cw_io_stat(path, NULL, &info, NULL), 0);
    assert_int_equal(cw_source_stamp_make(identity, path, &info, NULL, &stamp, NULL), 0);
    return stamp;
}

static int read_it(const struct cw_file_stamp *stamp, char ret_text[64], struct cw_err *err)
{
    const struct cw_op *op = cw_op_find("read_file");
    struct cw_arena *arena = cw_arena_new(1 << 16);
    const struct cw_op_ctx ctx = {.arena = arena};
    struct cw_view in = {.data = path,
                         .bytes = strlen(path),
                         .dtype = CW_DTYPE_STR,
                         .stamp = stamp},
                   out = in;
    int rc = op->apply_field(&ctx, NULL, NULL, NULL, &in, &out, err);
    if (rc == 0) {
        assert_null(out.stamp);
        assert_true(out.bytes < 64);
        memcpy(ret_text, out.data, out.bytes);
        ret_text[out.bytes] = 0;
    }
    cw_arena_free(arena);
    return rc;
}

static void each_identity(void **state)
{
    /* touched, other bytes of the same size and time, longer, gone; in the order of the
     * identities */
    static const bool same[4][CW_IDENTITY_N] = {
        {false, true, true, true}, {true, true, false, false}, {false}, {false}};
    (void)state;
    for (int id = 0; id < CW_IDENTITY_N; id++) {
        for (int how = 0; how < 4; how++) {
            char text[64];
            struct cw_err err = {0};
            put("as it was", 1000);
            const struct cw_file_stamp stamp = stamp_by((enum cw_identity)id);
            assert_int_equal(read_it(&stamp, text, &err), 0);
            assert_string_equal(text, "as it was");
            put(how == 1   ? "as it isn"
                : how == 2 ? "as it was once"
                           : "as it was",
                how == 0 ? 2000 : 1000);
            if (how == 3)
                assert_int_equal(unlink(path), 0);
            int rc = read_it(&stamp, text, &err);
            if (rc != (same[how][id] ? 0 : CW_E_OTHER_FILE))
                fail_msg("%s, %d: %d %s", cw_identity_name((enum cw_identity)id), how, rc, err.msg);
            assert_true(rc == 0 || strstr(err.msg, path));
        }
    }
}

static int stale(void *arg, const struct cw_source_file *file, uint64_t offset, void *dst, size_t n,
                 struct cw_err *err)
{
    (void)file, (void)err;
    memcpy(dst, (const char *)arg + offset, n);
    return 0;
}

/* A block that was cached of other bytes under the same path, size and time. */
static void stale_cache(void **state)
{
    static char other[] = "as it isn";
    const struct cw_source_hook hook = {.read = stale, .arg = other};
    char text[64];
    struct cw_err err = {0};
    (void)state;
    put("as it was", 1000);
    const struct cw_file_stamp stamp = stamp_by(CW_IDENTITY_CONTENT);
    cw_source_hook_set(&hook);
    int rc = read_it(&stamp, text, &err);
    assert_int_equal(rc, 0);
    assert_string_equal(text, "as it was");
    put("as it isn", 1000);
    rc = read_it(&stamp, text, &err);
    cw_source_hook_set(NULL);
    assert_int_equal(rc, CW_E_OTHER_FILE);
}

static int begin(void **state)
{
    (void)state;
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int end(void **state)
{
    (void)state;
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_identity),
                                       cmocka_unit_test(stale_cache)};
    return cmocka_run_group_tests(tests, begin, end);
}
