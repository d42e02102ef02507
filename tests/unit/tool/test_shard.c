/* SPDX-License-Identifier: Apache-2.0 */
/* What `cachew materialize` writes: which elements fit into which format, what of --ext is refused,
 * names and progress of outputs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "client/tool/shard/output.h"
#include "support/cm.h"

static struct cw_field field_of(const char *name, enum cw_dtype dtype, int rank)
{
    struct cw_field field = {.dtype = dtype, .rank = rank};
    snprintf(field.name, sizeof(field.name), "%s", name);
    for (int d = 0; d < rank; d++)
        field.dims[d] = 2;
    return field;
}

static struct tool_shard_options options_of(const char *ext)
{
    static struct cw_field fields[3];
    struct tool_shard_options options = {.spec = {.n = 3, .fields = fields}};
    options.spec.fields[0] = field_of("image", CW_DTYPE_STR, 0);
    options.spec.fields[1] = field_of("label", CW_DTYPE_I32, 0);
    options.spec.fields[2] = field_of("box", CW_DTYPE_F32, 1);
    if (ext)
        options.ext.v[options.ext.n++] = ext;
    return options;
}

static void extensions(void **state)
{
    (void)state;
    static const struct {
        const char *ext, *says; /* NULL: it is accepted */
    } cases[] = {
        {"image=jpg", NULL},
        {"label=cls", NULL},
        {"box=npy", NULL},
        {"image", "is not FIELD=EXT"},
        {"image=", "is not FIELD=EXT"},
        {"image=a/b", "is not FIELD=EXT"},
        {"image=a.b", "is not FIELD=EXT"},
        {"image=abcdefghijklmnopq", "is not FIELD=EXT"},
        {"nothing=jpg", "there is no field \"nothing\""},
        {"box=cls", "numbers are npy, or cls for an integer"},
        {"label=jpg", "numbers are npy, or cls for an integer"},
    };
    for (size_t i = 0; i < CW_ARRAY_LEN(cases); i++) {
        const struct tool_shard_options options = options_of(cases[i].ext);
        struct cw_err err = {0};
        int rc = tool_shard_tar.check(&options, &err);
        assert_int_equal(rc, cases[i].says ? CW_E_INVALID : 0);
        if (cases[i].says && !strstr(err.msg, cases[i].says))
            fail_msg("\"%s\" does not say \"%s\"", err.msg, cases[i].says);
    }
}

static void lists_of_strings(void **state)
{
    (void)state;
    static struct cw_field fields[1];
    struct tool_shard_options options = {.spec = {.n = 1, .fields = fields}};
    options.spec.fields[0] = field_of("words", CW_DTYPE_STR, 1);
    struct cw_err err = {0};
    assert_int_equal(tool_shard_tar.check(&options, &err), CW_E_UNSUPPORTED);
    assert_int_equal(tool_shard_chunks.check(&options, &err), 0);
    assert_int_equal(tool_shard_tfrecord.check(&options, &err), 0);
}

static int32_t label = 7;
static float box[] = {1, 2};
static char image[] = "JPEG";

static void fill(struct cw_element *element)
{
    *element = (struct cw_element){.n = 3};
    element->fields[0] = (struct cw_view){.dtype = CW_DTYPE_STR, .data = image, .bytes = 4};
    element->fields[1] = (struct cw_view){.dtype = CW_DTYPE_I32, .data = &label, .bytes = 4};
    element->fields[2] = (struct cw_view){
        .dtype = CW_DTYPE_F32, .rank = 1, .dims = {2}, .data = box, .bytes = sizeof(box)};
}

static void members_of_a_tar_file(void **state)
{
    (void)state;
    const struct tool_shard_options options = options_of("label=cls");
    struct tool_shard *shard = tool_shard_tar.begin(&options);
    struct cw_element element;
    struct cw_err err = {0};
    const struct iovec *parts;
    size_t n;
    fill(&element);
    assert_int_equal(tool_shard_tar.add(shard, 12, &element, &err), 0);
    assert_int_equal(tool_shard_tar.bytes(shard), 6 * 512); /* three members */
    assert_int_equal(tool_shard_tar.finish(shard, &parts, &n, &err), 0);
    assert_int_equal(n, 1);
    assert_int_equal(parts[0].iov_len, 8 * 512);
    const char *tar = parts[0].iov_base;
    assert_string_equal(tar, "000000012.image.bin");
    assert_memory_equal(tar + 512, "JPEG", 5);
    assert_string_equal(tar + 1024, "000000012.label.cls");
    assert_memory_equal(tar + 1536, "7", 2);
    assert_string_equal(tar + 2048, "000000012.box.npy");
    assert_memory_equal(tar + 2560, "\x93NUMPY", 6);
    tool_shard_tar.discard(shard);
    tool_shard_tar.discard(NULL);
}

static void records_of_a_tfrecord_file(void **state)
{
    (void)state;
    const struct tool_shard_options options = options_of(NULL);
    struct tool_shard *shard = tool_shard_tfrecord.begin(&options);
    struct cw_element element;
    struct cw_err err = {0};
    const struct iovec *parts;
    size_t n;
    fill(&element);
    assert_int_equal(tool_shard_tfrecord.add(shard, 0, &element, &err), 0);
    uint64_t one = tool_shard_tfrecord.bytes(shard);
    assert_int_equal(tool_shard_tfrecord.add(shard, 1, &element, &err), 0);
    assert_int_equal(tool_shard_tfrecord.bytes(shard), 2 * one);
    assert_int_equal(tool_shard_tfrecord.finish(shard, &parts, &n, &err), 0);
    const char *data = parts[0].iov_base;
    assert_memory_equal(data, data + one, (size_t)one); /* a record does not know its number */
    tool_shard_tfrecord.discard(shard);
    tool_shard_tfrecord.discard(NULL);
}

/* ---- outputs ---- */
static char dir[] = "/tmp/cachew-shard-XXXXXX";

static void names_of_outputs(void **state)
{
    (void)state;
    static const struct {
        const char *out, *format, *base; /* format NULL: it is refused */
    } cases[] = {
        {"mem:shards", "chunk", "part"},
        {"chunks:mem:shards", "chunk", "part"},
        {"%s/a/b", "chunk", "part"},
        {"%s/train.tar", "tar", "train"},
        {"%s/a/x.tfrecord", "tfrecord", "x"},
        {"%s/.tar", NULL, NULL},
        {"%s/.x.tar", NULL, NULL},
        {"%s/a b.tar", NULL, NULL},
    };
    for (size_t i = 0; i < CW_ARRAY_LEN(cases); i++) {
        const char *rest = strncmp(cases[i].out, "%s", 2) == 0 ? cases[i].out + 2 : cases[i].out;
        cw_autofree char *out = cw_mem_printf("%s%s", rest != cases[i].out ? dir : "", rest);
        struct tool_output output;
        struct cw_err err = {0};
        int rc = tool_output_open(&output, out, &err);
        assert_int_equal(rc, cases[i].format ? 0 : CW_E_INVALID);
        if (rc == 0) {
            assert_string_equal(output.format->ext, cases[i].format);
            assert_string_equal(output.base, cases[i].base);
        } else {
            assert_non_null(strstr(err.msg, "the name must have only letters"));
        }
        tool_output_close(&output);
    }
}

static void put_text(struct tool_output *output, const char *name, const char *text)
{
    struct cw_err err = {0};
    const struct iovec part = {(void *)(uintptr_t)text, strlen(text)};
    assert_int_equal(cw_store_put(output->store, name, &part, 1, &err), 0);
}

static void progress_is_read_back(void **state)
{
    (void)state;
    static struct tool_output_state saved, loaded;
    struct tool_output output;
    struct cw_err err = {0};
    cw_autofree char *out = cw_mem_printf("%s/progress.tar", dir);
    assert_int_equal(tool_output_open(&output, out, &err), 0);
    assert_int_equal(tool_output_load(&output, &loaded, &err), 0); /* nothing is there */
    assert_true(loaded.id.hi == 0 && loaded.shards == 0);
    saved = (struct tool_output_state){
        .id = {1, 2}, .shards = 3, .elements = 40, .bytes = 500, .done = true, .token_n = 3};
    memcpy(saved.token, "\x01\xab\xff", 3);
    assert_int_equal(tool_output_save(&output, &saved, &err), 0);
    assert_int_equal(tool_output_load(&output, &loaded, &err), 0);
    assert_true(cw_hash_eq(loaded.id, saved.id) && loaded.shards == 3 && loaded.elements == 40 &&
                loaded.bytes == 500 && loaded.done && loaded.token_n == 3);
    assert_memory_equal(loaded.token, "\x01\xab\xff", 3);
    const struct iovec part = {image, 4};
    assert_int_equal(tool_output_put(&output, 0, &part, 1, &err), 0);
    assert_int_equal(tool_output_clear(&output, &err), 0);
    assert_int_equal(tool_output_load(&output, &loaded, &err), 0);
    /* shards of another origin */
    assert_int_equal(tool_output_put(&output, 0, &part, 1, &err), 0);
    assert_int_equal(tool_output_load(&output, &loaded, &err), CW_E_EXISTS);
    assert_non_null(strstr(err.msg, "progress-00000.tar is there already"));
    assert_int_equal(tool_output_clear(&output, &err), 0);
    tool_output_close(&output);
}

#define ID "\"id\": \"0000000000000001000000000000000a\""
static void progress_of_another_kind_is_refused(void **state)
{
    (void)state;
    static struct tool_output_state loaded;
    static const char *const texts[] = {
        "",
        "{}",
        "{\"version\": 2, " ID
        ", \"done\": true, \"shards\": 1, \"elements\": 1, \"bytes\": 1, \"token\": \"\"}",
        "{\"version\": 1, \"id\": \"1\", \"done\": true, \"shards\": 1, \"elements\": 1, "
        "\"bytes\": 1, \"token\": \"\"}",
        "{\"version\": 1, " ID
        ", \"done\": 1, \"shards\": 1, \"elements\": 1, \"bytes\": 1, \"token\": \"\"}",
        "{\"version\": 1, " ID
        ", \"done\": true, \"shards\": -1, \"elements\": 1, \"bytes\": 1, \"token\": \"\"}",
        "{\"version\": 1, " ID ", \"done\": true, \"shards\": 1, \"elements\": 1, \"bytes\": 1}",
        "{\"version\": 1, " ID
        ", \"done\": true, \"shards\": 1, \"elements\": 1, \"bytes\": 1, \"token\": \"abc\"}",
        "{\"version\": 1, " ID
        ", \"done\": true, \"shards\": 1, \"elements\": 1, \"bytes\": 1, \"token\": \"zz\"}",
    };
    struct tool_output output;
    struct cw_err err = {0};
    assert_int_equal(tool_output_open(&output, "mem:states", &err), 0);
    for (size_t i = 0; i < CW_ARRAY_LEN(texts); i++) {
        put_text(&output, "part.chunk.materialize", texts[i]);
        assert_true(tool_output_load(&output, &loaded, &err) < 0);
    }
    put_text(&output, "part.chunk.materialize",
             "{\"version\": 1, " ID
             ", \"done\": false, \"shards\": 1, \"elements\": 1, \"bytes\": 1, \"token\": \"0f\"}");
    assert_int_equal(tool_output_load(&output, &loaded, &err), 0);
    assert_true(loaded.token_n == 1 && loaded.token[0] == 15 && !loaded.done);
    cw_autofree char *long_text = cw_mem_new((65u << 10) + 1);
    memset(long_text, ' ', 65u << 10);
    put_text(&output, "part.chunk.materialize", long_text);
    assert_int_equal(tool_output_load(&output, &loaded, &err), CW_E_CORRUPT);
    assert_non_null(strstr(err.msg, "too long"));
    tool_output_close(&output);
}

static int begin(void **state)
{
    (void)state;
    return mkdtemp(dir) ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    static const char *const made[] = {"/a/b", "/a", ""};
    for (size_t i = 0; i < CW_ARRAY_LEN(made); i++) {
        cw_autofree char *path = cw_mem_printf("%s%s", dir, made[i]);
        (void)rmdir(path);
    }
    return access(dir, F_OK) == 0 ? -1 : 0; /* nothing else is left in it */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(extensions),
        cmocka_unit_test(lists_of_strings),
        cmocka_unit_test(members_of_a_tar_file),
        cmocka_unit_test(records_of_a_tfrecord_file),
        cmocka_unit_test(names_of_outputs),
        cmocka_unit_test(progress_is_read_back),
        cmocka_unit_test(progress_of_another_kind_is_refused),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
