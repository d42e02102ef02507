/* SPDX-License-Identifier: Apache-2.0 */
/* Image files that are cut off at each byte, or of which a byte is changed: an error, or the samples of
 * a file that is read to its end. What was allocated for a damaged file is freed (checked where leaks
 * are). */
#include "base/mem.h"
#include "base/str.h"
#include "ops/kernels/exif.h"
#include "ops/kernels/still.h"
#include "support/cm.h"
#include <glob.h>
#include <stdio.h>
#include <string.h>

#define FILE_MAX (64 << 10)
#define PIXELS_MAX (1 << 16)

/* Decodes a file that lies at the end of its memory. Returns the samples, or NULL. */
static uint8_t *decode(const uint8_t *bytes, size_t n, bool is_index, size_t *ret_n)
{
    cw_autofree uint8_t *copy = cw_mem_new(n + 1);
    struct cw_still still = {
        .bytes = copy, .n = n, .is_index = is_index, .asked = is_index ? 1 : 3};
    struct cw_err err = {0};
    uint8_t *samples = NULL;
    memcpy(copy, bytes, n);
    int rc = cw_still_open(&still, &err);
    if (rc == 0 && still.h * still.w <= PIXELS_MAX) {
        *ret_n = (size_t)(still.h * still.w * still.channels);
        samples = cw_mem_new(*ret_n);
        rc = still.format->read(&still, samples, &err);
    }
    if (rc != 0) {
        assert_true(rc == 1 || err.msg[0]);
        cw_mem_free(samples);
        samples = NULL;
    }
    cw_still_close(&still);
    return samples;
}

static void cut_off(const char *path, uint8_t *bytes, size_t n)
{
    size_t whole_n = 0;
    cw_autofree uint8_t *whole = decode(bytes, n, false, &whole_n);
    for (size_t k = 0; k < n; k++) {
        size_t got_n = 0;
        cw_autofree uint8_t *got = decode(bytes, k, false, &got_n);
        assert_in_range(cw_exif_orientation(bytes, k), 1, 8);
        if (!got)
            continue;
        if (!whole || got_n != whole_n || memcmp(got, whole, got_n) != 0)
            fail_msg("%s, cut off at byte %zu, gives other samples", path, k);
    }
}

static void changed(const char *path, uint8_t *bytes, size_t n)
{
    (void)path;
    for (size_t k = 0; k < n; k += 1 + n / 400) {
        const uint8_t was = bytes[k];
        size_t got_n;
        bytes[k] ^= (uint8_t)(1u << k % 8);
        cw_mem_free(decode(bytes, n, k % 2, &got_n));
        assert_in_range(cw_exif_orientation(bytes, n), 1, 8);
        bytes[k] = was;
    }
}

static void for_each(void (*check)(const char *path, uint8_t *bytes, size_t n))
{
    static const char *const patterns[] = {"file_*.bmp",  "file_*.gif", "file_*.png",
                                           "file_*.webp", "file_*.tif", "file_turned*.jpg"};
    size_t files = 0;
    for (size_t i = 0; i < CW_ARRAY_LEN(patterns); i++) {
        CW_STR_AUTO pattern = {0};
        glob_t found;
        cw_str_addf(&pattern, "%s/%s", CW_TEST_IMAGES, patterns[i]);
        assert_int_equal(glob(cw_str_text(&pattern), 0, NULL, &found), 0);
        for (size_t k = 0; k < found.gl_pathc; k++, files++) {
            cw_autofree uint8_t *bytes = cw_mem_new(FILE_MAX);
            FILE *f = fopen(found.gl_pathv[k], "rb");
            assert_non_null(f);
            const size_t n = fread(bytes, 1, FILE_MAX, f);
            fclose(f);
            check(found.gl_pathv[k], bytes, n);
        }
        globfree(&found);
    }
    assert_true(files > 30);
}

static void files_that_are_cut_off(void **state)
{
    (void)state;
    for_each(cut_off);
}

static void files_with_a_changed_byte(void **state)
{
    (void)state;
    for_each(changed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(files_that_are_cut_off),
                                       cmocka_unit_test(files_with_a_changed_byte)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
