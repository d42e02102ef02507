/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as records of one schema: nothing is read outside of them, and each error has a message.
 * A copy of exact size lets the sanitizer see a byte too many. */
#include <string.h>

#include "base/mem.h"
#include "format/json_decode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static char *const rows[] = {
    (char *)(uintptr_t) "s: str",         (char *)(uintptr_t) "i: i32",
    (char *)(uintptr_t) "f = a.f: f32",   (char *)(uintptr_t) "d: f64",
    (char *)(uintptr_t) "b: bool",        (char *)(uintptr_t) "l = a.b.l: f64[?]",
    (char *)(uintptr_t) "m = m: u8[2,?]", (char *)(uintptr_t) "j: json"};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct cw_text_schema schema = {0};
    struct cw_json_reader *reader = NULL;
    struct cw_view views[CW_ARRAY_LEN(rows)];
    const struct cw_value none = {0};
    struct cw_err err = {0};
    struct cw_value values = {0};
    static const char text[] = "{\"s\":\"\",\"i\":-1,\"f\":0.5,\"b\":true,\"l\":[],\"m\":\"skip\"}";
    CW_ASSERT(cw_value_parse(text, sizeof(text) - 1, "v", &values, NULL) == 0);
    CW_ASSERT(cw_text_schema_parse(rows, CW_ARRAY_LEN(rows), &values, &none, &schema, &err) == 0);
    CW_ASSERT(cw_json_reader_new(&schema, &reader, &err) == 0);
    struct cw_arena *arena = cw_arena_new(1 << 16);
    cw_autofree char *copy = n ? cw_mem_dup(data, n) : cw_mem_new(1);
    int rc = cw_json_read(reader, copy, n, arena, views, &err);
    CW_ASSERT(rc >= 0 || (rc == CW_E_CORRUPT && err.msg[0]));
    for (size_t i = 0; rc == 0 && i < CW_ARRAY_LEN(rows); i++)
        CW_ASSERT(views[i].bytes == 0 ||
                  ((const volatile char *)views[i].data)[views[i].bytes - 1] +
                          ((const volatile char *)views[i].data)[0] <
                      1000);
    (void)cw_json_is_skipped(reader, copy, n);
    cw_arena_free(arena);
    cw_json_reader_free(reader);
    cw_value_fini(&values);
    return 0;
}
