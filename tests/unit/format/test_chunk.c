/* SPDX-License-Identifier: Apache-2.0 */
#include "support/cm.h"
#include "support/chunks.h"

#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "format/chunk_int.h"

static const struct cw_hash key = {0x0123456789abcdefu, 0xfedcba9876543210u};

static struct cw_chunk_head head_of(void)
{
    static struct cw_field fields[] = {{"x", CW_DTYPE_F32, 2, {-1, 3}},
                                       {"name", CW_DTYPE_STR, 0, {0}}};
    return (struct cw_chunk_head){.key = key, .spec = {.n = 2, .fields = fields}};
}

/* Element k: rows of x, a name; each seventh is left out. Memory that stays. */
#define ELEMENTS_N 50
static float numbers[ELEMENTS_N + 60];
static const char words[] = "the quick brown fox jumps over the lazy dog";
static struct cw_element element_of(size_t k)
{
    struct cw_element element = {.id = 1000003 * ((k * 29) % ELEMENTS_N), .n = 2};
    int64_t rows = (int64_t)(k % 30);
    if (k % 7 == 6)
        element.n = SIZE_MAX;
    numbers[k] = (float)k / 3;
    element.fields[0] = (struct cw_view){.dtype = CW_DTYPE_F32,
                                         .rank = 2,
                                         .dims = {rows, 3},
                                         .data = numbers,
                                         .bytes = (size_t)rows * 12};
    element.fields[1] = (struct cw_view){.dtype = CW_DTYPE_STR,
                                         .data = (char *)(uintptr_t)words + k % 5,
                                         .bytes = k % sizeof(words) / 2};
    return element;
}
static struct cw_element *elements_of(size_t n)
{
    struct cw_element *elements = CW_NEW_ARRAY(struct cw_element, n);
    for (size_t k = 0; k < n; k++)
        elements[k] = element_of(k);
    return elements;
}

static int check(const void *p, size_t n, struct cw_chunk_index **ret_index, struct cw_err *err)
{
    /* As long as it is, so that tools see reads outside. */
    cw_autofree void *copy = cw_mem_dup(p, n);
    const struct cw_readable_bytes bytes = {copy, n};
    const struct cw_readable file = cw_readable_mem("it", &bytes);
    return cw_chunk_check(&file, ret_index, err);
}

static void assert_record(const struct cw_test_chunk *chunk, const struct cw_chunk_index *index,
                          const struct cw_element *element)
{
    const struct cw_readable_bytes bytes = {chunk->bytes.s, chunk->bytes.len};
    const struct cw_readable file = cw_readable_mem("it", &bytes);
    const struct cw_chunk_record *record = cw_chunk_find(index, element->id);
    struct cw_element back;
    struct cw_buf *frame = NULL;
    assert_non_null(record);
    assert_null(cw_chunk_find(index, element->id + 1));
    if (element->n == SIZE_MAX) {
        assert_true(record->bytes == CW_CHUNK_LEFT_OUT);
        return;
    }
    assert_int_equal(cw_chunk_frame_load(&file, index, record->frame, &frame, NULL), 0);
    assert_int_equal(cw_record_decode(&index->head.spec, (char *)frame->data + record->offset,
                                      record->bytes, &back, NULL),
                     0);
    for (size_t f = 0; f < 2; f++) {
        assert_int_equal(back.fields[f].bytes, element->fields[f].bytes);
        if (back.fields[f].bytes)
            assert_memory_equal(back.fields[f].data, element->fields[f].data, back.fields[f].bytes);
    }
    assert_int_equal(back.fields[0].dims[0], element->fields[0].dims[0]);
    cw_buf_unref(frame);
}

static void chunks_read_back(void **state)
{
    const int levels[] = {CW_CHUNK_PLAIN, CW_CHUNK_AUTO, 1, 9};
    struct cw_element *elements = elements_of(ELEMENTS_N);
    const struct cw_chunk_head head = head_of();
    (void)state;
    for (size_t l = 0; l < CW_ARRAY_LEN(levels); l++)
        for (size_t per_frame = 1; per_frame <= ELEMENTS_N; per_frame += 9) {
            struct cw_test_chunk chunk =
                cw_test_chunk_new(&head, elements, ELEMENTS_N, per_frame, levels[l]);
            struct cw_test_chunk again =
                cw_test_chunk_new(&head, elements, ELEMENTS_N, per_frame, levels[l]);
            struct cw_chunk_index *index = NULL;
            struct cw_err err = {0};
            assert_int_equal(chunk.rc, 0);
            assert_int_equal(chunk.bytes.len, again.bytes.len);
            assert_memory_equal(chunk.bytes.s, again.bytes.s, chunk.bytes.len);
            assert_string_equal(chunk.name.s, again.name.s);
            if (check(chunk.bytes.s, chunk.bytes.len, &index, &err) < 0)
                fail_msg("%s", err.msg);
            assert_true(cw_spec_eq(&index->head.spec, &head.spec) &&
                        cw_hash_eq(index->head.key, key));
            assert_int_equal(index->records_n, ELEMENTS_N);
            for (size_t k = 0; k < ELEMENTS_N; k++)
                assert_record(&chunk, index, &elements[k]);
            for (uint32_t f = 0; f < index->frames_n; f++)
                assert_int_equal(index->frames[f].offset % 64, 0);
            cw_chunk_index_free(index);
            cw_test_chunk_fini(&chunk);
            cw_test_chunk_fini(&again);
        }
    cw_mem_free(elements);
}

/* The longest head that there can be. */
static void heads_have_room_for_all_fields(void **state)
{
    CW_STR_AUTO bytes = {0};
    struct cw_chunk_head head = {.key = key}, back = {.key = {0, 0}};
    const int64_t dims[CW_RANK_MAX] = {1, 2, 3, 4, 5, 6, 7, -1};
    struct cw_err err = {0};
    size_t n = 0;
    (void)state;
    for (int i = 0; i < CW_FIELDS_MAX; i++) {
        char name[CW_FIELD_NAME_BYTES + 8];
        snprintf(name, sizeof(name), "a_name_as_long_as_any_field_may_have_it_%07d", i);
        assert_int_equal(strlen(name), CW_FIELD_NAME_BYTES - 1);
        assert_int_equal(cw_spec_add(&head.spec, name, CW_DTYPE_F64, CW_RANK_MAX, dims, NULL), 0);
    }
    cw_chunk_head_put(&head, &bytes);
    if (cw_chunk_head_get(bytes.s, bytes.len, &back, &n, &err) < 0)
        fail_msg("%s", err.msg);
    assert_true(n == bytes.len && cw_spec_eq(&head.spec, &back.spec));
    cw_spec_fini(&head.spec);
    cw_spec_fini(&back.spec);
}

static void names_say_what_is_in_it(void **state)
{
    struct cw_element *elements = elements_of(ELEMENTS_N);
    const struct cw_chunk_head head = head_of();
    struct cw_test_chunk chunk = cw_test_chunk_new(&head, elements, ELEMENTS_N, 8, CW_CHUNK_PLAIN);
    cw_autofree char *name = cw_mem_printf("team-7/%s", chunk.name.s);
    struct cw_chunk_name says;
    struct cw_chunk_index *index = NULL;
    (void)state;
    assert_true(cw_str_starts(chunk.name.s, "0123456789abcdeffedcba9876543210/0-50-"));
    assert_true(cw_chunk_name_parse(name, &says));
    assert_string_equal(says.tenant, "team-7");
    assert_true(cw_hash_eq(says.key, key) && says.first == 0 && says.count == ELEMENTS_N);
    assert_int_equal(check(chunk.bytes.s, chunk.bytes.len, &index, NULL), 0);
    assert_true(cw_chunk_name_fits(&says, index));
    says.ids_sum++;
    assert_false(cw_chunk_name_fits(&says, index));
    const char *good =
        "t/0123456789abcdeffedcba9876543210/18446744073709551615-1-0123456789abcdef.chunk";
    assert_true(cw_chunk_name_parse(good, &says) && says.first == UINT64_MAX);
    const char *const bad[] = {
        "",
        "t",
        "t/",
        chunk.name.s,
        "t/0123456789abcdeffedcba987654321/0-1-0123456789abcdef.chunk",
        "t/0123456789abcdeffedcba9876543210/0-1-0123456789abcdef.chunk.tmp",
        "t/0123456789abcdeffedcba9876543210/00-1-0123456789abcdef.chunk",
        "t/0123456789abcdeffedcba9876543210/0-0-0123456789abcdef.chunk",
        "t/0123456789abcdeffedcba9876543210/0-1-0123456789abcdeF.chunk",
        "t/0123456789abcdeffedcba9876543210/0-16777217-0123456789abcdef.chunk",
        "t/0123456789abcdeffedcba9876543210/-1-1-0123456789abcdef.chunk",
        ".t/0123456789abcdeffedcba9876543210/0-1-0123456789abcdef.chunk",
        "/0123456789abcdeffedcba9876543210/0-1-0123456789abcdef.chunk",
        "t/0123456789abcdeffedcba9876543210/18446744073709551616-1-0123456789abcdef.chunk",
        "t/t/0123456789abcdeffedcba9876543210/0-1-0123456789abcdef.chunk"};
    for (size_t i = 0; i < CW_ARRAY_LEN(bad); i++)
        assert_false(cw_chunk_name_parse(bad[i], &says));
    cw_chunk_index_free(index);
    cw_test_chunk_fini(&chunk);
    cw_mem_free(elements);
}

/* Each byte in turn, each length: found. */
static void damage_is_found(void **state)
{
    const int levels[] = {CW_CHUNK_PLAIN, 3};
    struct cw_element *elements = elements_of(ELEMENTS_N);
    const struct cw_chunk_head head = head_of();
    (void)state;
    for (size_t l = 0; l < 2; l++) {
        struct cw_test_chunk chunk = cw_test_chunk_new(&head, elements, ELEMENTS_N, 20, levels[l]);
        for (size_t n = 0; n < chunk.bytes.len; n++) {
            struct cw_err err = {0};
            assert_int_equal(check(chunk.bytes.s, n, NULL, &err), CW_E_CORRUPT);
            assert_true(cw_str_starts(err.msg, "it: "));
        }
        for (size_t at = 0; at < chunk.bytes.len; at++) {
            char was = chunk.bytes.s[at];
            chunk.bytes.s[at] = (char)(was ^ (1 << at % 8));
            if (check(chunk.bytes.s, chunk.bytes.len, NULL, NULL) != CW_E_CORRUPT)
                fail_msg("byte %zu of %zu: not found", at, chunk.bytes.len);
            chunk.bytes.s[at] = was;
        }
        cw_str_add_char(&chunk.bytes, '\0');
        assert_int_equal(check(chunk.bytes.s, chunk.bytes.len, NULL, NULL), CW_E_CORRUPT);
        cw_test_chunk_fini(&chunk);
    }
    cw_mem_free(elements);
}

/* Head, first frame, the other frames, index, footer. */
#define PARTS_N 5
static void part_bounds(const struct cw_test_chunk *chunk, size_t ret_bounds[PARTS_N + 1])
{
    struct cw_chunk_index *index = NULL;
    uint64_t offset;
    size_t n;
    assert_int_equal(check(chunk->bytes.s, chunk->bytes.len, &index, NULL), 0);
    assert_int_equal(cw_chunk_footer_read(chunk->bytes.s + chunk->bytes.len - 64, chunk->bytes.len,
                                          &offset, &n, NULL),
                     0);
    const size_t bounds[] = {0,          index->frames[0].offset, index->frames[1].offset, offset,
                             offset + n, chunk->bytes.len};
    memcpy(ret_bounds, bounds, sizeof(bounds));
    cw_chunk_index_free(index);
}

/* Every mixture of the parts of two chunks that is neither of them. */
static void check_mixtures(const struct cw_test_chunk *a, const struct cw_test_chunk *b)
{
    size_t bounds_a[PARTS_N + 1], bounds_b[PARTS_N + 1];
    part_bounds(a, bounds_a);
    part_bounds(b, bounds_b);
    for (unsigned mask = 0; mask < 1u << PARTS_N; mask++) {
        CW_STR_AUTO mixed = {0};
        for (unsigned i = 0; i < PARTS_N; i++) {
            bool other = mask >> i & 1;
            const size_t *bounds = other ? bounds_b : bounds_a;
            cw_str_add_bytes(&mixed, (other ? b : a)->bytes.s + bounds[i],
                             bounds[i + 1] - bounds[i]);
        }
        bool is_a = mixed.len == a->bytes.len && memcmp(mixed.s, a->bytes.s, mixed.len) == 0;
        bool is_b = mixed.len == b->bytes.len && memcmp(mixed.s, b->bytes.s, mixed.len) == 0;
        assert_int_equal(check(mixed.s, mixed.len, NULL, NULL), is_a || is_b ? 0 : CW_E_CORRUPT);
    }
}

static void swapped_parts_are_found(void **state)
{
    struct cw_element *elements = elements_of(ELEMENTS_N);
    struct cw_chunk_head head = head_of();
    struct cw_test_chunk a = cw_test_chunk_new(&head, elements, ELEMENTS_N, 20, CW_CHUNK_PLAIN);
    numbers[0] += 1;
    struct cw_test_chunk other_data =
        cw_test_chunk_new(&head, elements, ELEMENTS_N, 20, CW_CHUNK_PLAIN);
    numbers[0] -= 1;
    head.key.lo++;
    struct cw_test_chunk other_key =
        cw_test_chunk_new(&head, elements, ELEMENTS_N, 20, CW_CHUNK_PLAIN);
    (void)state;
    check_mixtures(&a, &other_data);
    check_mixtures(&a, &other_key);
    cw_test_chunk_fini(&a);
    cw_test_chunk_fini(&other_data);
    cw_test_chunk_fini(&other_key);
    cw_mem_free(elements);
}

static void writers_refuse(void **state)
{
    const struct cw_chunk_head head = head_of();
    struct cw_element two[2] = {element_of(1), element_of(1)};
    struct cw_test_chunk twice = cw_test_chunk_new(&head, two, 2, 1, CW_CHUNK_PLAIN);
    struct cw_test_chunk none = cw_test_chunk_new(&head, two, 0, 1, CW_CHUNK_PLAIN);
    const struct cw_chunk_record outside[] = {{.id = 1, .offset = 8, .bytes = 8},
                                              {.id = 2, .offset = 16, .bytes = 1}};
    struct cw_chunk_writer *writer = cw_chunk_writer_new(&head, CW_CHUNK_PLAIN);
    (void)state;
    assert_int_equal(twice.rc, CW_E_INVALID);
    assert_non_null(strstr(twice.err.msg, "twice"));
    assert_int_equal(none.rc, CW_E_INVALID);
    assert_int_equal(cw_chunk_writer_add(writer, "0123456789abcdef", 16, NULL, outside, 2, NULL),
                     CW_E_INVALID);
    assert_int_equal(cw_chunk_writer_add(writer, "0123456789abcdef", 16, NULL, outside, 0, NULL),
                     CW_E_INVALID);
    cw_chunk_writer_free(writer);
    cw_chunk_writer_free(NULL);
    cw_chunk_index_free(NULL);
    cw_test_chunk_fini(&twice);
    cw_test_chunk_fini(&none);
}

/* Only left-out records; elements without bytes. */
static void chunks_without_bytes(void **state)
{
    struct cw_chunk_head head = head_of();
    struct cw_element gone[3] = {
        {.id = 9, .n = SIZE_MAX}, {.id = 4, .n = SIZE_MAX}, {.id = UINT64_MAX, .n = SIZE_MAX}};
    struct cw_chunk_index *index = NULL;
    (void)state;
    struct cw_test_chunk chunk = cw_test_chunk_new(&head, gone, 3, 2, CW_CHUNK_AUTO);
    assert_int_equal(check(chunk.bytes.s, chunk.bytes.len, &index, NULL), 0);
    assert_true(index->frames_n == 0 && index->records_n == 3 &&
                index->records[2].id == UINT64_MAX);
    cw_chunk_index_free(index);
    cw_test_chunk_fini(&chunk);

    const int64_t none[1] = {0};
    head.spec = (struct cw_spec){0};
    assert_int_equal(cw_spec_add(&head.spec, "x", CW_DTYPE_F64, 1, none, NULL), 0);
    struct cw_element empty[2] = {{.id = 1, .n = 1}, {.id = 2, .n = 1}};
    for (size_t i = 0; i < 2; i++)
        empty[i].fields[0] = (struct cw_view){.dtype = CW_DTYPE_F64, .rank = 1};
    chunk = cw_test_chunk_new(&head, empty, 2, 1, 5);
    assert_int_equal(check(chunk.bytes.s, chunk.bytes.len, &index, NULL), 0);
    assert_true(index->frames_n == 2 && index->records_n == 2 && index->frames[1].plain == 0);
    cw_chunk_index_free(index);
    cw_test_chunk_fini(&chunk);
    cw_spec_fini(&head.spec);
}

/* Compression leaves off when it is not worth it, and goes on when it is; the index of many
 * small records stays small. */
static void compression_and_many_records(void **state)
{
    enum { N = 300000, PER_FRAME = 8000 };
    struct cw_chunk_head head = {.key = key};
    uint64_t *data[2] = {CW_NEW_ARRAY(uint64_t, N), CW_NEW_ARRAY(uint64_t, N)};
    struct cw_chunk_record *records = CW_NEW_ARRAY(struct cw_chunk_record, PER_FRAME);
    (void)state;
    assert_int_equal(cw_spec_add(&head.spec, "x", CW_DTYPE_U64, 0, NULL, NULL), 0);
    for (uint64_t i = 0; i < N; i++)
        data[0][i] = cw_mix64(i + 1);
    for (int kind = 0; kind < 2; kind++) {
        struct cw_chunk_writer *writer = cw_chunk_writer_new(&head, CW_CHUNK_AUTO);
        const struct iovec *parts = NULL;
        size_t parts_n = 0, at = 0;
        uint64_t bytes = 0;
        CW_STR_AUTO name = {0};
        for (size_t i = 0; i < N; i += PER_FRAME) {
            size_t n = CW_MIN((size_t)PER_FRAME, N - i);
            for (size_t k = 0; k < n; k++)
                /* shuffled: 7919 is prime */
                records[k] = (struct cw_chunk_record){
                    .id = (i + k) * 7919 % N, .offset = (uint32_t)k * 8, .bytes = 8};
            assert_int_equal(
                cw_chunk_writer_add(writer, data[kind] + i, n * 8, NULL, records, n, NULL), 0);
        }
        assert_int_equal(cw_chunk_writer_finish(writer, &parts, &parts_n, &bytes, &name, NULL), 0);
        char *file = cw_mem_new(bytes);
        for (size_t i = 0; i < parts_n; at += parts[i++].iov_len)
            memcpy(file + at, parts[i].iov_base, parts[i].iov_len);
        assert_int_equal(at, bytes);
        struct cw_chunk_index *index = NULL;
        assert_int_equal(check(file, bytes, &index, NULL), 0);
        assert_int_equal(index->records_n, N);
        const struct cw_chunk_frame *last = &index->frames[index->frames_n - 1];
        if (kind == 0)
            assert_int_equal(last->stored, last->plain);
        else
            assert_true(last->stored < last->plain / 10);
        assert_true(bytes - last->offset - last->stored < (uint64_t)N * 12); /* index */
        cw_chunk_index_free(index);
        cw_mem_free(file);
        cw_chunk_writer_free(writer);
    }
    cw_mem_free(records);
    cw_mem_free(data[0]);
    cw_mem_free(data[1]);
    cw_spec_fini(&head.spec);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(chunks_read_back),        cmocka_unit_test(heads_have_room_for_all_fields),
    cmocka_unit_test(names_say_what_is_in_it), cmocka_unit_test(damage_is_found),
    cmocka_unit_test(swapped_parts_are_found), cmocka_unit_test(writers_refuse),
    cmocka_unit_test(chunks_without_bytes),    cmocka_unit_test(compression_and_many_records)};
CW_TESTS_MAIN(tests)
