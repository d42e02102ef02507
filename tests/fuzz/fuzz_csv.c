/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a CSV file of one schema: its first line is the head, what follows its records. What the
 * scanner of lines finds is what the splitter takes. */
#include <string.h>

#include "base/mem.h"
#include "format/csv.h"
#include "format/line_scan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void read_records(const struct cw_csv_reader *reader, const struct cw_csv_head *head,
                         const char *p, size_t n, const struct cw_line_index *index)
{
    struct cw_view views[4];
    struct cw_arena *arena = cw_arena_new(1 << 16);
    struct cw_err err = {0};
    for (uint64_t k = 0; k < cw_line_index_n(index); k++) {
        const uint64_t at = cw_line_index_at(index, k), end = cw_line_index_at(index, k + 1);
        CW_ASSERT(end <= n);
        cw_autofree char *copy = cw_mem_dup(p + at, (size_t)(end - at));
        int rc = cw_csv_read(reader, head, copy, (size_t)(end - at), arena, views, &err);
        CW_ASSERT(rc >= 0 || (rc == CW_E_CORRUPT && err.msg[0]));
        CW_ASSERT(rc < 0 || cw_csv_is_skipped(reader, head, copy, (size_t)(end - at)) == (rc == 1));
        CW_ASSERT(rc != 0 || views[0].bytes <= end - at);
        cw_arena_reset(arena);
    }
    cw_arena_free(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static char rows[4][8] = {"s: str", "i: i16", "f: f32", "b: bool"};
    char *of[] = {rows[0], rows[1], rows[2], rows[3]};
    struct cw_text_schema schema = {0};
    struct cw_value missing = {0};
    const struct cw_value none = {0};
    const struct cw_csv_options how = {.rules = {.separator = ',', .quote = '"'},
                                       .has_header = true};
    struct cw_csv_reader *reader = NULL;
    struct cw_csv_head *head = NULL;
    struct cw_readable_bytes bytes = {data, n};
    struct cw_readable file = cw_readable_mem("f", &bytes);
    const struct cw_line_rules rules = {.quote = '"', .blank = CW_BLANK_EMPTY, .head = 1};
    struct cw_line_index *index = NULL;
    struct cw_err err = {0};
    static const char text[] = "{\"i\":-1,\"b\":\"skip\"}";
    CW_ASSERT(cw_value_parse(text, sizeof(text) - 1, "v", &missing, NULL) == 0);
    CW_ASSERT(cw_text_schema_parse(of, 4, &missing, &none, &schema, NULL) == 0);
    CW_ASSERT(cw_csv_reader_new(&schema, &how, &reader, NULL) == 0);
    const char *p = (const char *)data;
    if (n > 0 && cw_line_scan(&file, &rules, &index, &err) == 0) {
        int rc = cw_csv_head_new(reader, p, n, &head, &err);
        CW_ASSERT(rc == 0 || ((rc == CW_E_CORRUPT || rc == CW_E_LIMIT) && err.msg[0]));
        if (rc == 0)
            read_records(reader, head, p, n, index);
    }
    cw_mem_free(head);
    cw_line_index_free(index);
    cw_csv_reader_free(reader);
    cw_value_fini(&missing);
    return 0;
}
