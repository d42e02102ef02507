/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes cells by the types of a schema. */
#include "format/csv.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "format/decimal.h"
#include "format/json_decode.h"

#define COLUMNS_MAX ((size_t)1 << 20)

struct cw_csv_reader {
    struct cw_text_schema schema;
    struct cw_csv_options options;
    bool skips;
    uint64_t *values; /* for each number, what is read of a cell that is missing */
};

/* ---- cells ---- */

static void trim(struct cw_csv_cell *cell)
{
    while (cell->n > 0 && (*cell->p == ' ' || *cell->p == '\t')) {
        cell->p++;
        cell->n--;
    }
    while (cell->n > 0 && (cell->p[cell->n - 1] == ' ' || cell->p[cell->n - 1] == '\t'))
        cell->n--;
}

static bool is_word(const struct cw_csv_cell *cell, const char *word)
{
    return cell->n == strlen(word) && strncasecmp(cell->p, word, cell->n) == 0;
}

static bool is_empty(const struct cw_csv_reader *reader, const struct cw_csv_cell *cell)
{
    for (size_t i = 0; i < reader->options.empty_n; i++) {
        const char *word = reader->options.empty[i];
        if (cell->n == strlen(word) && memcmp(cell->p, word, cell->n) == 0)
            return true;
    }
    return cell->n == 0;
}

static bool put_bool(const struct cw_csv_cell *cell, void *dst)
{
    const bool is_true = is_word(cell, "true") || is_word(cell, "1");
    memcpy(dst, &is_true, 1);
    return is_true || is_word(cell, "false") || is_word(cell, "0");
}

static bool put_special(const struct cw_csv_cell *cell, enum cw_dtype dtype, void *dst)
{
    struct cw_csv_cell rest = *cell;
    const bool is_negative = rest.n > 0 && *rest.p == '-';
    if (!cw_dtype_is_float(dtype))
        return false;
    rest.p += is_negative;
    rest.n -= is_negative;
    double v = is_word(&rest, "nan") ? (double)NAN : HUGE_VAL;
    if (!isnan(v) && !is_word(&rest, "inf") && !is_word(&rest, "infinity"))
        return false;
    v = is_negative && !isnan(v) ? -v : v;
    const float f = (float)v;
    if (dtype == CW_DTYPE_F32)
        memcpy(dst, &f, sizeof(f));
    else
        memcpy(dst, &v, sizeof(v));
    return true;
}

static bool put_number(const struct cw_csv_cell *cell, enum cw_dtype dtype, void *dst)
{
    struct cw_decimal d;
    const char *end = cell->p + cell->n;
    if (dtype == CW_DTYPE_BOOL)
        return put_bool(cell, dst);
    if (cw_decimal_scan(cell->p, end, CW_DECIMAL_CSV, &d) != end)
        return put_special(cell, dtype, dst);
    return cw_decimal_put(&d, dtype, dst);
}

static int decode_text(const struct cw_csv_reader *reader, const struct cw_csv_cell *cell,
                       struct cw_arena *arena, struct cw_view *view, struct cw_err *err)
{
    view->data = (void *)(uintptr_t)cell->p;
    view->bytes = cell->n;
    if (!cell->is_escaped)
        return 0;
    view->data = cw_arena_alloc(arena, cell->n);
    if (!view->data)
        return cw_err_set(err, CW_E_NOMEM, "no memory for %zu bytes", cell->n);
    view->bytes = cw_csv_unescape(cell, reader->options.rules.quote, view->data);
    return 0;
}

static int decode_number(const struct cw_csv_cell *cell, struct cw_arena *arena,
                         struct cw_view *view, struct cw_err *err)
{
    view->bytes = cw_dtype_bytes(view->dtype);
    view->data = cw_arena_alloc(arena, view->bytes);
    if (!view->data)
        return cw_err_set(err, CW_E_NOMEM, "no memory for %zu bytes", view->bytes);
    if (!put_number(cell, view->dtype, view->data))
        return cw_err_set(err, CW_E_CORRUPT, "\"%.*s\" is no %s", (int)CW_MIN(cell->n, 40), cell->p,
                          cw_dtype_name(view->dtype));
    return 0;
}

static int decode_value(const struct cw_text_field *field, struct cw_arena *arena,
                        struct cw_view *view, struct cw_err *err)
{
    const char *value = field->missing.value;
    struct cw_json_slice slice;
    int rc = cw_json_whole(value, strlen(value), &slice, err);
    return rc < 0 ? rc : cw_json_decode(&slice, field, arena, view, err);
}

/* Says what becomes of a cell; an empty str is one unless `missing` says something else. */
static enum cw_text_what fate(const struct cw_text_field *field, bool is_missing, bool *ret_reads)
{
    const bool is_text = field->field.dtype == CW_DTYPE_STR;
    *ret_reads = !is_missing || (is_text && field->missing.what == CW_TEXT_FAIL);
    return field->missing.what;
}

static int read_cell(const struct cw_csv_reader *reader, const struct cw_text_field *field,
                     struct cw_csv_cell cell, struct cw_arena *arena, struct cw_view *view,
                     struct cw_err *err)
{
    bool reads;
    if (field->field.dtype != CW_DTYPE_STR)
        trim(&cell);
    const enum cw_text_what what = fate(field, is_empty(reader, &cell), &reads);
    *view = (struct cw_view){.dtype = field->field.dtype};
    if (reads)
        return field->field.dtype == CW_DTYPE_STR ? decode_text(reader, &cell, arena, view, err)
                                                  : decode_number(&cell, arena, view, err);
    if (what == CW_TEXT_SKIP)
        return 1;
    return what == CW_TEXT_VALUE ? decode_value(field, arena, view, err)
                                 : cw_err_set(err, CW_E_CORRUPT, "is empty (see option missing)");
}

/* ---- records ---- */

static int split(const struct cw_csv_reader *reader, const struct cw_csv_head *head, const char *p,
                 size_t n, struct cw_csv_cell *cells, struct cw_err *err)
{
    size_t cells_n = 0;
    int rc = cw_csv_split(&reader->options.rules, p, n, head->slots, head->columns, cells, &cells_n,
                          err);
    if (rc == 0 && cells_n != head->columns)
        rc = cw_err_set(err, CW_E_CORRUPT, "has %zu cells, the first record of the file has %zu",
                        cells_n, head->columns);
    return rc;
}

static int put_masks(const struct cw_csv_reader *reader, struct cw_csv_cell *cells,
                     struct cw_arena *arena, struct cw_view *ret_views, struct cw_err *err)
{
    const struct cw_text_schema *schema = &reader->schema;
    bool own[CW_FIELDS_MAX];
    for (size_t i = 0; i < schema->n; i++) {
        if (schema->fields[i].field.dtype != CW_DTYPE_STR)
            trim(&cells[i]);
        (void)fate(&schema->fields[i], is_empty(reader, &cells[i]), &own[i]);
    }
    return cw_text_schema_put_masks(schema, own, arena, ret_views, err);
}

int cw_csv_read(const struct cw_csv_reader *reader, const struct cw_csv_head *head, const char *p,
                size_t n, struct cw_arena *arena, struct cw_view *ret_views, struct cw_err *err)
{
    struct cw_csv_cell cells[CW_FIELDS_MAX];
    int rc = split(reader, head, p, n, cells, err);
    for (size_t i = 0; i < reader->schema.n && rc == 0; i++) {
        const struct cw_text_field *field = &reader->schema.fields[i];
        rc = read_cell(reader, field, cells[i], arena, &ret_views[i], err);
        if (rc < 0)
            return cw_err_wrap(err, "column \"%s\"", field->key);
    }
    if (rc == 0 && reader->schema.masks)
        rc = put_masks(reader, cells, arena, ret_views + reader->schema.n, err);
    return rc;
}

/* Most whole numbers: digits alone, of which no number is out of range. */
static bool put_digits(const struct cw_csv_cell *cell, void *dst)
{
    int64_t v = 0;
    if (cell->n == 0 || cell->n > 18)
        return false;
    for (size_t i = 0; i < cell->n; i++) {
        const unsigned digit = (unsigned char)cell->p[i] - '0';
        if (digit > 9)
            return false;
        v = v * 10 + digit;
    }
    memcpy(dst, &v, sizeof(v));
    return true;
}

int cw_csv_read_numbers(const struct cw_csv_reader *reader, const struct cw_csv_head *head,
                        const char *p, size_t n, void *const *values)
{
    struct cw_csv_cell cells[CW_FIELDS_MAX];
    int rc = split(reader, head, p, n, cells, NULL);
    for (size_t i = 0; i < reader->schema.n && rc == 0; i++) {
        const enum cw_dtype dtype = reader->schema.fields[i].field.dtype;
        if (reader->options.empty_n == 0 && dtype == CW_DTYPE_I64 &&
            put_digits(&cells[i], values[i]))
            continue;
        trim(&cells[i]);
        if (!is_empty(reader, &cells[i]))
            rc = put_number(&cells[i], dtype, values[i]) ? 0 : CW_E_CORRUPT;
        else if (reader->schema.fields[i].missing.what == CW_TEXT_VALUE)
            memcpy(values[i], &reader->values[i], cw_dtype_bytes(dtype));
        else
            rc = CW_E_CORRUPT;
    }
    return rc;
}

bool cw_csv_is_skipped(const struct cw_csv_reader *reader, const struct cw_csv_head *head,
                       const char *p, size_t n)
{
    struct cw_csv_cell cells[CW_FIELDS_MAX];
    if (!reader->skips || split(reader, head, p, n, cells, NULL) < 0)
        return false;
    for (size_t i = 0; i < reader->schema.n; i++) {
        const struct cw_text_field *field = &reader->schema.fields[i];
        bool reads;
        if (field->field.dtype != CW_DTYPE_STR)
            trim(&cells[i]);
        if (fate(field, is_empty(reader, &cells[i]), &reads) == CW_TEXT_SKIP && !reads)
            return true;
    }
    return false;
}

/* ---- heads ---- */

/* Which column a key means; -1: none; -2: two. */
static int64_t find_column(const struct cw_csv_reader *reader, const char *key,
                           const struct cw_csv_cell *names, size_t n)
{
    const size_t key_n = strlen(key);
    int64_t found = -1;
    cw_autofree char *text = NULL;
    for (size_t c = 0; c < n; c++) {
        if (names[c].n < key_n || (names[c].n > key_n && !names[c].is_escaped))
            continue;
        cw_mem_free(text);
        text = cw_mem_new(names[c].n + 1);
        if (cw_csv_unescape(&names[c], reader->options.rules.quote, text) == key_n &&
            memcmp(text, key, key_n) == 0)
            found = found >= 0 ? -2 : (int64_t)c;
        if (found == -2)
            break;
    }
    return found;
}

static int64_t parse_column(const char *key, size_t n)
{
    int64_t column;
    return cw_str_to_i64(key, &column) && column >= 0 && (uint64_t)column < n ? column : -1;
}

/* So many columns are named to whoever asks for one that is not there. */
#define NAMED_MAX 64

static int refuse(const struct cw_csv_reader *reader, const char *key,
                  const struct cw_csv_cell *names, size_t n, struct cw_err *err)
{
    char *texts[NAMED_MAX + 1] = {NULL};
    CW_STR_AUTO has = {0};
    for (size_t c = 0; reader->options.has_header && c < CW_MIN(n, (size_t)NAMED_MAX); c++) {
        texts[c] = cw_mem_new(names[c].n + 1);
        texts[c][cw_csv_unescape(&names[c], reader->options.rules.quote, texts[c])] = '\0';
    }
    cw_str_suggest(key, (const char *const *)texts, &has);
    for (size_t c = 0; texts[c]; c++)
        cw_mem_free(texts[c]);
    return cw_err_set(err, CW_E_CORRUPT,
                      "column \"%s\": there is none among those of the first record%s", key,
                      cw_str_text(&has));
}

static int fill_slots(const struct cw_csv_reader *reader, const struct cw_csv_cell *names,
                      struct cw_csv_head *head, struct cw_err *err)
{
    for (size_t c = 0; c < head->columns; c++)
        head->slots[c] = -1;
    for (size_t i = 0; i < reader->schema.n; i++) {
        const char *key = reader->schema.fields[i].key;
        const int64_t c = reader->options.has_header
                              ? find_column(reader, key, names, head->columns)
                              : parse_column(key, head->columns);
        if (c == -2)
            return cw_err_set(err, CW_E_CORRUPT, "column \"%s\": there are two of that name", key);
        if (c < 0)
            return refuse(reader, key, names, head->columns, err);
        if (head->slots[c] >= 0)
            return cw_err_set(err, CW_E_INVALID, "column \"%s\": is asked for twice", key);
        head->slots[c] = (int32_t)i;
    }
    return 0;
}

int cw_csv_head_new(const struct cw_csv_reader *reader, const char *p, size_t n,
                    struct cw_csv_head **ret_head, struct cw_err *err)
{
    size_t columns = 0;
    int rc = cw_csv_split(&reader->options.rules, p, n, NULL, 0, NULL, &columns, err);
    if (rc == 0 && columns > COLUMNS_MAX)
        rc = cw_err_set(err, CW_E_LIMIT, "more than %zu columns", COLUMNS_MAX);
    if (rc < 0)
        return rc;
    struct cw_csv_head *head = cw_mem_new(sizeof(*head) + columns * sizeof(*head->slots));
    struct cw_csv_cell *names = CW_NEW_ARRAY(struct cw_csv_cell, columns);
    head->columns = columns;
    for (size_t c = 0; c < columns; c++)
        head->slots[c] = (int32_t)c;
    rc = cw_csv_split(&reader->options.rules, p, n, head->slots, columns, names, &columns, err);
    if (rc == 0)
        rc = fill_slots(reader, names, head, err);
    cw_mem_free(names);
    if (rc < 0)
        cw_mem_free(head);
    else
        *ret_head = head;
    return rc;
}

/* ---- readers ---- */

static int check_field(const struct cw_text_field *field, uint64_t *ret_value, struct cw_err *err)
{
    struct cw_arena *arena = cw_arena_new(4096);
    struct cw_view view;
    int rc = 0;
    if (field->is_json || field->field.rank > 0)
        rc = cw_err_set(err, CW_E_INVALID,
                        "option schema: column \"%s\": a cell is a number, a bool or a str",
                        field->key);
    else if (field->missing.what == CW_TEXT_VALUE && decode_value(field, arena, &view, NULL) < 0)
        rc = cw_err_set(err, CW_E_INVALID, "option missing: %s is no value of field \"%s\"",
                        field->missing.value, field->field.name);
    else if (field->missing.what == CW_TEXT_VALUE && field->field.dtype != CW_DTYPE_STR)
        memcpy(ret_value, view.data, view.bytes);
    cw_arena_free(arena);
    return rc;
}

int cw_csv_reader_new(struct cw_text_schema *schema, const struct cw_csv_options *options,
                      struct cw_csv_reader **ret_reader, struct cw_err *err)
{
    struct cw_csv_reader *reader = CW_NEW(struct cw_csv_reader);
    int rc = 0;
    reader->schema = *schema;
    *schema = (struct cw_text_schema){0};
    reader->options = *options;
    reader->skips = cw_text_schema_skips(&reader->schema);
    reader->values = CW_NEW_ARRAY(uint64_t, reader->schema.n + 1);
    for (size_t i = 0; i < reader->schema.n && rc == 0; i++)
        rc = check_field(&reader->schema.fields[i], &reader->values[i], err);
    if (rc < 0)
        cw_csv_reader_free(reader);
    else
        *ret_reader = reader;
    return rc;
}

void cw_csv_reader_free(struct cw_csv_reader *reader)
{
    if (!reader)
        return;
    cw_text_schema_fini(&reader->schema);
    cw_mem_free(reader->values);
    cw_mem_free(reader);
}

size_t cw_csv_first_record(const struct cw_csv_reader *reader, const char *p, size_t n)
{
    const char quote = reader->options.rules.quote;
    bool quoted = false;
    for (size_t i = 0; i < n; i++) {
        if (quote && p[i] == quote)
            quoted = !quoted;
        if (p[i] == '\n' && !quoted)
            return i + 1;
    }
    return 0;
}

const struct cw_text_schema *cw_csv_reader_schema(const struct cw_csv_reader *reader)
{
    return &reader->schema;
}
