/* SPDX-License-Identifier: Apache-2.0 */
/* The first elements of a batch, for people to look at: what is large is thinned out, and the rest is as it is. */
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "data/ragged.h"
#include "data/strings.h"
#include "support/cm.h"
#include "wire/reply_json.h"
#include "wire/wire.h"

static void add(struct cw_batch *batch, size_t i, const char *name, enum cw_dtype dtype, int rank,
                const int64_t *dims, size_t bytes)
{
    struct cw_tensor *t = &batch->tensors[i];
    t->field = (struct cw_field){.dtype = dtype, .rank = rank};
    snprintf(t->field.name, sizeof(t->field.name), "%s", name);
    memcpy(t->field.dims, dims, (size_t)rank * sizeof(*dims));
    t->bytes = bytes;
}

static void lay_out(struct cw_batch *batch)
{
    size_t bytes = 0;
    assert_int_equal(cw_batch_layout(batch, &bytes, NULL), 0);
    batch->buf = cw_buf_new(bytes);
}

static char *data_of(const struct cw_batch *batch, size_t i)
{
    return (char *)batch->buf->data + batch->tensors[i].offset;
}

static const Cachew__V1__ShownField *field(const Cachew__V1__ElementsShown *shown, size_t e,
                                           size_t f)
{
    return shown->elements[e]->fields[f];
}

static void large_images_are_thinned_out(void **state)
{
    (void)state;
    static const int64_t dims[] = {20, 300, 130, 3}, labels[] = {20};
    struct cw_batch *batch = cw_batch_new(2);
    add(batch, 0, "image", CW_DTYPE_U8, 4, dims, 0);
    add(batch, 1, "label", CW_DTYPE_I64, 1, labels, 0);
    lay_out(batch);
    batch->elements = 20;
    batch->item = 9;
    memset(batch->buf->data, 0, batch->buf->len);
    char *pixels = data_of(batch, 0);
    pixels[(1 * 300 + 3) * 130 * 3 + 2 * 3 + 1] = 77; /* of row 1: y 3, x 2, channel 1 */
    ((int64_t *)(void *)data_of(batch, 1))[1] = -5;
    Cachew__V1__ElementsShown *shown = cw_wire_shown_new(batch, 100);
    assert_int_equal(shown->n_elements, CW_SHOWN_ELEMENTS_MAX);
    assert_true(shown->rows == 20 && shown->item == 9);
    const Cachew__V1__ShownField *f = field(shown, 1, 0);
    assert_string_equal(f->name, "image");
    assert_string_equal(f->dtype, "u8");
    assert_true(f->n_dims == 3 && f->dims[0] == 300 && f->dims[1] == 130 && f->dims[2] == 3);
    assert_true(f->shown[0] == 100 && f->shown[1] == 65 && f->shown[2] == 3);
    assert_int_equal(f->bytes, 300 * 130 * 3);
    assert_int_equal(f->data.len, 100 * 65 * 3);
    assert_int_equal(f->data.data[(1 * 65 + 1) * 3 + 1], 77);
    assert_int_equal(field(shown, 0, 0)->data.data[(1 * 65 + 1) * 3 + 1], 0);
    f = field(shown, 1, 1);
    assert_true(f->n_dims == 0 && f->data.len == 8 && f->data.data[0] == 0xfb);
    cw_wire_shown_free(shown);
    cw_batch_unref(batch);
}

static void a_look_has_a_limit(void **state)
{
    (void)state;
    static const int64_t dims[] = {8, 16, 128, 128}, row[] = {8, 100000};
    struct cw_batch *batch = cw_batch_new(2);
    add(batch, 0, "video", CW_DTYPE_F32, 4, dims, 0);
    add(batch, 1, "row", CW_DTYPE_F64, 2, row, 0);
    lay_out(batch);
    batch->elements = 8;
    memset(batch->buf->data, 0, batch->buf->len);
    Cachew__V1__ElementsShown *shown = cw_wire_shown_new(batch, 8);
    size_t bytes = 0;
    for (size_t e = 0; e < shown->n_elements; e++)
        for (size_t f = 0; f < 2; f++)
            bytes += field(shown, e, f)->data.len;
    assert_true(shown->n_elements < 8 && bytes <= 2 * CW_SHOWN_BYTES);
    assert_int_equal(field(shown, 0, 0)->shown[0], 3); /* frames */
    assert_int_equal(field(shown, 0, 1)->shown[0], 4096);
    cw_wire_shown_free(shown);
    cw_batch_unref(batch);
}

static void channels_of_a_waveform_are_rows(void **state)
{
    (void)state;
    static const int64_t dims[] = {1, 5000, 2};
    struct cw_batch *batch = cw_batch_new(1);
    add(batch, 0, "audio", CW_DTYPE_F32, 3, dims, 0);
    lay_out(batch);
    batch->elements = 1;
    float *values = (float *)(void *)data_of(batch, 0);
    for (size_t i = 0; i < 10000; i++)
        values[i] = (float)i;
    Cachew__V1__ElementsShown *shown = cw_wire_shown_new(batch, 1);
    const Cachew__V1__ShownField *f = field(shown, 0, 0);
    assert_true(f->shown[0] == 4096 && f->shown[1] == 2);
    assert_memory_equal(f->data.data, values, f->data.len);
    cw_wire_shown_free(shown);
    cw_batch_unref(batch);
}

static void put_strings(void *dst, const char *const *texts, size_t n)
{
    struct cw_strings strings = {0};
    for (size_t i = 0; i < n; i++) {
        cw_str_add(&strings.text, texts[i]);
        assert_int_equal(cw_strings_end(&strings, NULL), 0);
    }
    cw_strings_put(&strings, dst);
    cw_strings_fini(&strings);
}

static void strings_and_rows_of_other_lengths(void **state)
{
    (void)state;
    static const char *const texts[] = {"a", "two words", "", "d"};
    static const int64_t names[] = {2}, lists[] = {2, 2}, ragged[] = {2, CW_DIM_RAGGED};
    static const int64_t lengths[][1] = {{3}, {0}};
    struct cw_batch *batch = cw_batch_new(3);
    struct cw_ragged_writer writer;
    add(batch, 0, "name", CW_DTYPE_STR, 1, names, cw_strings_table_bytes(2) + 10);
    add(batch, 1, "words", CW_DTYPE_STR, 2, lists, cw_strings_table_bytes(4) + 11);
    add(batch, 2, "sound", CW_DTYPE_I16, 2, ragged, 64 + 6);
    lay_out(batch);
    batch->elements = 2;
    put_strings(data_of(batch, 0), texts, 2);
    put_strings(data_of(batch, 1), texts, 4);
    assert_int_equal(
        cw_ragged_write_begin(&writer, &batch->tensors[2].field, data_of(batch, 2), NULL), 0);
    memcpy(cw_ragged_write_row(&writer, lengths[0]), "\1\0\2\0\3", 6);
    (void)cw_ragged_write_row(&writer, lengths[1]);
    Cachew__V1__ElementsShown *shown = cw_wire_shown_new(batch, 8);
    assert_int_equal(shown->n_elements, 2);
    const Cachew__V1__ShownField *f = field(shown, 1, 0);
    assert_true(f->n_strings == 1 && f->strings[0].len == 9 && f->bytes == 9);
    assert_memory_equal(f->strings[0].data, "two words", 9);
    f = field(shown, 1, 1);
    assert_true(f->n_strings == 2 && f->strings[0].len == 0 && f->strings[1].data[0] == 'd');
    f = field(shown, 0, 2);
    assert_true(f->n_dims == 1 && f->dims[0] == 3 && f->data.len == 6 && f->data.data[4] == 3);
    assert_true(field(shown, 1, 2)->data.len == 0 && field(shown, 1, 2)->dims[0] == 0);
    cw_wire_shown_free(shown);
    cw_batch_unref(batch);
}

static void without_rows_it_is_one_element(void **state)
{
    (void)state;
    static const int64_t dims[] = {5};
    struct cw_batch *batch = cw_batch_new(2);
    add(batch, 0, "x", CW_DTYPE_U8, 1, dims, 0);
    add(batch, 1, "s", CW_DTYPE_STR, 0, dims, cw_strings_table_bytes(1) + 3);
    lay_out(batch);
    batch->elements = 1;
    static const char *const text[] = {"one"};
    memcpy(data_of(batch, 0), "\1\2\3\4\5", 5);
    put_strings(data_of(batch, 1), text, 1);
    Cachew__V1__ShowElementsReply reply = CACHEW__V1__SHOW_ELEMENTS_REPLY__INIT;
    CW_STR_AUTO json = {0};
    reply.allowed = true;
    reply.shown = cw_wire_shown_new(batch, 8);
    cw_wire_elements_json(&reply, &json);
    assert_string_equal(
        cw_str_text(&json),
        "{\"allowed\":true,\"shown\":true,\"age_ms\":0,\"epoch\":0,\"item\":0,\"rows\":1,"
        "\"elements\":[[{\"name\":\"x\",\"dtype\":\"u8\",\"bytes\":5,\"dims\":[5],\"shown\":[5],"
        "\"data\":\"AQIDBAU=\",\"strings\":[]},{\"name\":\"s\",\"dtype\":\"str\",\"bytes\":3,"
        "\"dims\":[],\"shown\":[],\"data\":\"\",\"strings\":[\"b25l\"]}]]}");
    cw_wire_shown_free(reply.shown);
    cw_batch_unref(batch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_images_are_thinned_out),
        cmocka_unit_test(a_look_has_a_limit),
        cmocka_unit_test(channels_of_a_waveform_are_rows),
        cmocka_unit_test(strings_and_rows_of_other_lengths),
        cmocka_unit_test(without_rows_it_is_one_element),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
