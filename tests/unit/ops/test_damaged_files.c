/* SPDX-License-Identifier: Apache-2.0 */
/* Damaged files one after another through the decoders of images and of sound, as a thread of a worker
 * decodes them: each gives samples or an error, nothing is printed, what is allocated does not grow, and
 * whole files give the same samples afterwards. CACHEW_DAMAGED_FILES says how many; a thousand without it. */
#include "support/cm.h"

#include <glob.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"
#include "ops/kernels/audio_file.h"
#include "ops/op.h"

#define FILES_MAX 128
#define FILE_MAX (1 << 20)
#define ARENA_BYTES ((size_t)64 << 20)
#define FRAMES_MAX 20000
#define CHANNELS_MAX 16
#define WAYS 4 /* sets of options of decode_image */
/* What may be kept: blocks that the C library holds back. */
#define KEPT_MAX ((size_t)1 << 20)

struct whole {
    uint8_t *bytes;
    size_t n;
    bool is_sound;
    uint64_t sum[WAYS]; /* of the samples, for each set of options */
};

static const char *const options[WAYS] = {
    "{}", "{\"palette\":\"index\"}", "{\"approximate\":true,\"least\":5,\"channels\":1}",
    "{\"orientation\":\"apply\",\"channels\":0,\"max_pixels\":4000000}"};

struct image_way {
    void *opts, *scratch;
};

static struct {
    struct whole files[FILES_MAX];
    size_t n;
    const struct cw_op *op;
    struct image_way ways[WAYS];
    struct cw_arena *arena;
    struct cw_audio_file *audio;
    float *frames;
    size_t sound, failed;
} all;

static void open_ways(void)
{
    all.op = cw_op_find("decode_image");
    for (size_t i = 0; i < WAYS; i++) {
        struct cw_value value = {0};
        all.ways[i].opts = cw_mem_new(all.op->options_bytes);
        assert_int_equal(cw_value_parse(options[i], strlen(options[i]), "options", &value, NULL),
                         0);
        assert_int_equal(cw_opt_parse(all.op->options, &value, all.ways[i].opts, NULL), 0);
        all.ways[i].scratch = all.op->scratch_new(all.ways[i].opts, NULL);
        cw_value_fini(&value);
    }
    all.arena = cw_arena_new(ARENA_BYTES);
    all.audio = cw_audio_file_new();
    all.frames = cw_mem_new_array(FRAMES_MAX * CHANNELS_MAX, sizeof(float));
}

static void close_ways(void)
{
    for (size_t i = 0; i < WAYS; i++) {
        all.op->scratch_free(all.ways[i].scratch);
        cw_opt_fini(all.op->options, all.ways[i].opts);
        cw_mem_free(all.ways[i].opts);
    }
    for (size_t i = 0; i < all.n; i++)
        cw_mem_free(all.files[i].bytes);
    cw_arena_free(all.arena);
    cw_audio_file_free(all.audio);
    cw_mem_free(all.frames);
}

/* Returns a code, and a sum over the samples. */
static int decode_image(size_t way, const uint8_t *bytes, size_t n, uint64_t *ret_sum)
{
    struct cw_err err = {0};
    const struct cw_view in = {
        .data = (uint8_t *)(uintptr_t)bytes, .bytes = n, .dtype = CW_DTYPE_STR};
    struct cw_view out = in;
    const struct cw_op_ctx ctx = {.arena = all.arena};
    const int rc =
        all.op->apply_field(&ctx, all.ways[way].opts, NULL, all.ways[way].scratch, &in, &out, &err);
    *ret_sum = rc == 0 ? cw_hash_u64(out.data, out.bytes) : 0;
    assert_true(rc == 0 || err.msg[0]);
    cw_arena_reset(all.arena);
    return rc;
}

static int decode_sound(const uint8_t *bytes, size_t n, uint64_t *ret_sum)
{
    struct cw_err err = {0};
    struct cw_audio_info info = {0};
    int64_t got = 0;
    int rc = cw_audio_file_begin(all.audio, bytes, n, &info, &err);
    if (rc == 0 && info.channels <= CHANNELS_MAX)
        rc = cw_audio_file_read(all.audio, all.frames, FRAMES_MAX, &got, &err);
    cw_audio_file_end(all.audio);
    *ret_sum =
        cw_hash_u64(all.frames, (size_t)got * (size_t)info.channels * sizeof(float)) * (rc == 0);
    assert_true(rc == 0 || err.msg[0]);
    return rc;
}

static int decode(const struct whole *file, const uint8_t *bytes, size_t n, size_t way,
                  uint64_t *ret_sum)
{
    return file->is_sound ? decode_sound(bytes, n, ret_sum) : decode_image(way, bytes, n, ret_sum);
}

static void add_files(const char *pattern, bool is_sound)
{
    glob_t found;
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc && all.n < FILES_MAX; i++) {
        struct whole *file = &all.files[all.n++];
        FILE *f = fopen(found.gl_pathv[i], "rb");
        assert_non_null(f);
        file->bytes = cw_mem_new(FILE_MAX);
        file->n = fread(file->bytes, 1, FILE_MAX, f);
        file->is_sound = is_sound;
        fclose(f);
        for (size_t way = 0; way < WAYS; way++)
            (void)decode(file, file->bytes, file->n, way, &file->sum[way]);
    }
    globfree(&found);
}

/* Damages a copy; returns its length. */
static size_t damage(const struct whole *file, uint8_t *copy, const struct cw_rng *rng,
                     uint32_t draw)
{
    size_t n = file->n;
    memcpy(copy, file->bytes, n);
    /* half of the damage is in the first bytes, where heads are */
    const size_t reach = cw_rng_below(rng, draw, 2) ? n : CW_MIN(n, (size_t)64);
    const size_t at = cw_rng_below(rng, draw + 1, reach),
                 len = CW_MIN(1 + cw_rng_below(rng, draw + 2, 16), n - at);
    switch (cw_rng_below(rng, draw + 3, 6)) {
    case 0: /* cut off */
        n = at;
        break;
    case 1: /* a length or a size that is as large as can be */
        memset(copy + at, 0xff, CW_MIN(len, (size_t)4));
        break;
    case 2: /* a hole */
        memset(copy + at, 0, len);
        break;
    case 3: /* bytes are missing */
        memmove(copy + at, copy + at + len, n - at - len);
        n -= len;
        break;
    case 4: /* a bit */
        copy[at] ^= (uint8_t)(1u << cw_rng_below(rng, draw + 4, 8));
        break;
    default: /* noise */
        for (size_t i = 0; i < len; i++)
            copy[at + i] = (uint8_t)cw_rng_u64(rng, draw + 5 + (uint32_t)i);
    }
    return n;
}

static void decode_damaged(uint32_t number)
{
    struct cw_rng rng;
    cw_rng_init(&rng, 1, 2, 3, 4, number);
    const struct whole *file = &all.files[cw_rng_below(&rng, 0, all.n)];
    uint64_t sum;
    uint8_t *copy = malloc(file->n + 1);
    assert_non_null(copy);
    const size_t n = damage(file, copy, &rng, 8);
    /* at the end of its memory, so that a sanitizer sees what is read behind it */
    uint8_t *exact = malloc(n ? n : 1);
    assert_non_null(exact);
    memcpy(exact, copy, n);
    free(copy);
    all.failed += decode(file, exact, n, cw_rng_below(&rng, 1, WAYS), &sum) < 0;
    all.sound += file->is_sound;
    free(exact);
}

static void check_whole(void)
{
    for (size_t i = 0; i < all.n; i++)
        for (size_t way = 0; way < WAYS; way++) {
            uint64_t sum;
            (void)decode(&all.files[i], all.files[i].bytes, all.files[i].n, way, &sum);
            assert_int_equal(sum, all.files[i].sum[way]);
        }
}

/* Large blocks lie in mappings of their own. */
static size_t used_memory(void)
{
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

/* stdout is not looked at: cmocka may write to it. */
static void test_damaged_files(void **state)
{
    const char *asked = getenv("CACHEW_DAMAGED_FILES");
    const uint32_t n = asked ? (uint32_t)strtoul(asked, NULL, 10) : 1000;
    char text[16];
    FILE *printed = tmpfile();
    const int old = dup(STDERR_FILENO);
    (void)state;
    assert_true(n >= 100 && printed && old >= 0);
    open_ways();
    add_files(CW_TEST_IMAGES "/image_*.jpg", false);
    add_files(CW_TEST_IMAGES "/file_*.jpg", false);
    add_files(CW_TEST_IMAGES "/file_*.png", false);
    add_files(CW_TEST_IMAGES "/file_*.gif", false);
    add_files(CW_TEST_IMAGES "/file_*.bmp", false);
    add_files(CW_TEST_IMAGES "/file_*.webp", false);
    add_files(CW_TEST_IMAGES "/file_*.tif", false);
    add_files(CW_TEST_IMAGES "/audio_*.file", true);
    assert_in_range(all.n, 60, FILES_MAX - 1);
    assert_true(dup2(fileno(printed), STDERR_FILENO) >= 0);
    for (uint32_t i = 0; i < n; i++)
        decode_damaged(i);
    const size_t failed = all.failed, sound = all.sound, kept = used_memory();
    /* Some of them once more: decoders have grown to the largest by now, and what grows still is lost. */
    for (uint32_t i = 0; i < n / 2; i++)
        decode_damaged(i);
    const size_t now = used_memory();
    assert_true(dup2(old, STDERR_FILENO) >= 0);
    close(old);
    rewind(printed);
    assert_null(fgets(text, sizeof(text), printed));
    fclose(printed);
    assert_true(now < kept + KEPT_MAX);
    assert_true(failed > n / 4 && failed < n && sound > n / 8);
    check_whole();
    close_ways();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_damaged_files)};
    return cmocka_run_group_tests_name("damaged_files", tests, NULL, NULL);
}
