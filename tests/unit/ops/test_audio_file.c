/* SPDX-License-Identifier: Apache-2.0 */
/* Sound files that are cut at every byte, and damaged: the decoder gives frames or an error, prints
 * nothing, and decodes the next file as if nothing had been. What it gives of a file that is whole is
 * compared in tests/ops/decode_audio.json. */
#include "support/cm.h"

#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/rng.h"
#include "ops/kernels/audio_file.h"

#define FRAMES_MAX 20000
static float frames[FRAMES_MAX * 64];

struct bytes {
    uint8_t *at;
    size_t n;
};

static struct bytes read_all(const char *path)
{
    struct bytes bytes = {.at = malloc(1 << 20)};
    FILE *f = fopen(path, "rb");
    assert_true(bytes.at && f);
    bytes.n = fread(bytes.at, 1, 1 << 20, f);
    fclose(f);
    return bytes;
}

/* Returns the number of frames, or an error. */
static int64_t decode(struct cw_audio_file *file, const uint8_t *bytes, size_t n,
                      struct cw_err *err)
{
    struct cw_audio_info info;
    int64_t got = 0;
    int rc = cw_audio_file_begin(file, bytes, n, &info, err);
    if (rc == 0 && info.channels <= 64)
        rc = cw_audio_file_read(file, frames, FRAMES_MAX, &got, err);
    cw_audio_file_end(file);
    assert_true(rc == 0 || rc == CW_E_CORRUPT);
    assert_true(rc == 0 || *err->msg);
    return rc < 0 ? rc : got;
}

/* A copy whose end is the end of its memory, so that a sanitizer sees what is read behind it. */
static void decode_copy(struct cw_audio_file *file, const uint8_t *bytes, size_t n)
{
    struct cw_err err = {0};
    uint8_t *copy = malloc(n ? n : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, n);
    (void)decode(file, copy, n, &err);
    free(copy);
}

static void check_file(const char *path)
{
    struct cw_audio_file *file = cw_audio_file_new();
    struct cw_err err = {0};
    struct cw_rng rng;
    const struct bytes bytes = read_all(path);
    const int64_t whole = decode(file, bytes.at, bytes.n, &err);
    for (size_t n = 0; n<bytes.n; n += bytes.n> 2000 ? 7 : 1)
        decode_copy(file, bytes.at, n);
    cw_rng_init(&rng, 1, 0, 0, 0, bytes.n);
    for (uint32_t i = 0; i < 200; i++) {
        const size_t at = (size_t)cw_rng_below(&rng, 2 * i, i % 2 ? bytes.n : CW_MIN(bytes.n, 60));
        const uint8_t was = bytes.at[at];
        bytes.at[at] = (uint8_t)cw_rng_u64(&rng, 2 * i + 1);
        decode_copy(file, bytes.at, bytes.n);
        bytes.at[at] = was;
    }
    assert_int_equal(decode(file, bytes.at, bytes.n, &err), whole);
    free(bytes.at);
    cw_audio_file_free(file);
}

static void test_damage(void **state)
{
    (void)state;
    glob_t found;
    char text[16];
    FILE *printed = tmpfile();
    const int old = dup(STDERR_FILENO);
    assert_true(printed && old >= 0 && dup2(fileno(printed), STDERR_FILENO) >= 0);
    assert_int_equal(glob(CW_TEST_SOURCE_DIR "/tests/ops/data/audio_*.file", 0, NULL, &found), 0);
    assert_true(found.gl_pathc > 20);
    for (size_t i = 0; i < found.gl_pathc; i++)
        check_file(found.gl_pathv[i]);
    globfree(&found);
    assert_true(dup2(old, STDERR_FILENO) >= 0);
    close(old);
    rewind(printed);
    assert_null(fgets(text, sizeof(text), printed));
    fclose(printed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_damage)};
    return cmocka_run_group_tests_name("audio_file", tests, NULL, NULL);
}
