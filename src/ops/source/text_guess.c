/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/source/text_guess.h"

#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "format/decimal.h"
#include "format/inflate.h"
#include "format/read_at.h"

#define HEAD_BYTES ((uint64_t)4 << 20)
#define INFLATED_BYTES ((size_t)64 << 20) /* of a compressed file */
/* One more than there may be, which is then found out. */
#define COLUMNS_MAX (CW_FIELDS_MAX + 1)

/* What all values of a field were so far. */
enum kind { NONE, BOOL, WHOLE, REAL, TEXT, LIST_EMPTY, LIST_WHOLE, LIST_REAL, JSON };
static const char *const types[] = {
    [NONE] = "str",          [BOOL] = "bool",        [WHOLE] = "i64",
    [REAL] = "f64",          [TEXT] = "str",         [LIST_EMPTY] = "json",
    [LIST_WHOLE] = "i64[?]", [LIST_REAL] = "f64[?]", [JSON] = "json"};

struct guess {
    const char *path;
    struct {
        char *key;
        enum kind kind;
    } fields[CW_FIELDS_MAX];
    size_t n;
};

static void guess_fini(struct guess *guess)
{
    for (size_t i = 0; i < guess->n; i++)
        cw_mem_free(guess->fields[i].key);
}

static bool are(enum kind a, enum kind b, enum kind x, enum kind y)
{
    return (a == x && b == y) || (a == y && b == x);
}

static enum kind merge(enum kind a, enum kind b, enum kind otherwise)
{
    if (a == NONE || a == b)
        return b;
    if (b == NONE)
        return a;
    if (are(a, b, WHOLE, REAL))
        return REAL;
    if (are(a, b, LIST_WHOLE, LIST_REAL))
        return LIST_REAL;
    if (are(a, b, LIST_EMPTY, LIST_WHOLE))
        return LIST_WHOLE;
    return are(a, b, LIST_EMPTY, LIST_REAL) ? LIST_REAL : otherwise;
}

/* ---- the beginning of the file ---- */

static int read_head(const struct cw_readable *file, char **ret_bytes, size_t *ret_n,
                     bool *ret_is_all, struct cw_err *err)
{
    if (cw_inflate_is_name(file->name))
        return cw_inflate_head(file, INFLATED_BYTES, ret_bytes, ret_n, ret_is_all, err);
    *ret_n = (size_t)CW_MIN(file->size, HEAD_BYTES);
    *ret_is_all = *ret_n == file->size;
    *ret_bytes = cw_mem_new(*ret_n + 1);
    return cw_readable_get(file, 0, *ret_bytes, *ret_n, err);
}

/* What ends after the first 4 MiB (64 MiB of a compressed file) is not looked at: of the last record only a
 * part may be there. */
static int load(const char *path, char **ret_bytes, size_t *ret_n, struct cw_err *err)
{
    struct cw_readable file;
    struct cw_io_file opened;
    int rc = cw_readable_open(path, &opened, &file, err);
    if (rc < 0)
        return rc;
    bool is_all = true;
    rc = read_head(&file, ret_bytes, ret_n, &is_all, err);
    if (rc == 0 && !is_all)
        while (*ret_n > 0 && (*ret_bytes)[*ret_n - 1] != '\n')
            --*ret_n;
    cw_io_close(&opened);
    return rc;
}

static const char *skip_mark(const char *p, size_t *n)
{
    if (*n < 3 || memcmp(p, "\xef\xbb\xbf", 3) != 0)
        return p;
    *n -= 3;
    return p + 3;
}

/* ---- the schema ---- */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* A field's name: the key, with what may not be in a name as "_". */
static void add_name(const char *key, struct cw_str *out)
{
    size_t begin = out->len;
    if (!is_letter(key[0]))
        cw_str_add_char(out, '_');
    for (const char *c = key; *c && out->len - begin + 1 < CW_FIELD_NAME_BYTES; c++)
        cw_str_add_char(out, is_letter(*c) || (*c >= '0' && *c <= '9') ? *c : '_');
}

static void write_schema(const struct guess *guess, struct cw_value *said)
{
    struct cw_value *rows = cw_value_set_list(cw_value_member(said, "schema"), guess->n);
    for (size_t i = 0; i < guess->n; i++) {
        CW_STR_AUTO row = {0};
        add_name(guess->fields[i].key, &row);
        if (strcmp(cw_str_text(&row), guess->fields[i].key) != 0)
            cw_str_addf(&row, " = %s", guess->fields[i].key);
        cw_str_addf(&row, ": %s", types[guess->fields[i].kind]);
        cw_value_set_str(&rows[i], cw_str_text(&row));
    }
}

static int add_field(struct guess *guess, const char *key, size_t key_n, struct cw_err *err)
{
    if (guess->n == CW_FIELDS_MAX)
        return cw_err_set(
            err, CW_E_LIMIT,
            "%s: its records have more than %d keys: say with `schema` which are read", guess->path,
            CW_FIELDS_MAX);
    guess->fields[guess->n++].key = cw_mem_strndup(key, key_n);
    return 0;
}

static int finish(const struct guess *guess, int rc, struct cw_value *said, struct cw_err *err)
{
    if (rc == 0 && guess->n == 0)
        return cw_err_set(err, CW_E_INVALID,
                          "%s: it has no record that would say which fields there are: give schema",
                          guess->path);
    if (rc == 0)
        write_schema(guess, said);
    return rc;
}

/* ---- JSON ---- */

static enum kind kind_of_list(const struct cw_value *list)
{
    enum kind kind = LIST_EMPTY;
    for (size_t i = 0; i < list->n; i++) {
        if (list->items[i].type == CW_VALUE_F64)
            kind = LIST_REAL;
        else if (list->items[i].type != CW_VALUE_I64)
            return JSON;
        else if (kind == LIST_EMPTY)
            kind = LIST_WHOLE;
    }
    return kind;
}

static enum kind kind_of(const struct cw_value *value)
{
    switch (value->type) {
    case CW_VALUE_NULL:
        return NONE;
    case CW_VALUE_BOOL:
        return BOOL;
    case CW_VALUE_I64:
        return WHOLE;
    case CW_VALUE_F64:
        return REAL;
    case CW_VALUE_STR:
        return TEXT;
    case CW_VALUE_LIST:
        return kind_of_list(value);
    case CW_VALUE_OBJECT:
    default:
        return JSON;
    }
}

static int add_member(struct guess *guess, const char *key, const struct cw_value *value,
                      struct cw_err *err)
{
    size_t i = 0;
    while (i < guess->n && strcmp(guess->fields[i].key, key) != 0)
        i++;
    if (i == guess->n && strchr(key, '.'))
        return cw_err_set(err, CW_E_INVALID,
                          "%s: its key \"%s\" reads like a member of an object: give schema",
                          guess->path, key);
    int rc = i == guess->n ? add_field(guess, key, strlen(key), err) : 0;
    if (rc == 0)
        guess->fields[i].kind = merge(guess->fields[i].kind, kind_of(value), JSON);
    return rc;
}

static int add_object(struct guess *guess, const char *p, size_t n, struct cw_err *err)
{
    struct cw_value object = {0};
    if (n == 0 || strspn(p, " \t\r") >= n)
        return 0;
    int rc = cw_value_parse(p, n, guess->path, &object, err);
    if (rc == 0 && object.type != CW_VALUE_OBJECT)
        rc = cw_err_set(err, CW_E_INVALID, "%s: a line is no object", guess->path);
    for (size_t i = 0; rc == 0 && i < object.n; i++)
        rc = add_member(guess, object.keys[i], &object.items[i], err);
    cw_value_fini(&object);
    return rc;
}

int cw_text_guess_json(const char *path, struct cw_value *said, struct cw_err *err)
{
    struct guess guess = {.path = path};
    cw_autofree char *bytes = NULL;
    size_t n = 0;
    int rc = load(path, &bytes, &n, err);
    const char *p = bytes ? skip_mark(bytes, &n) : NULL;
    for (size_t k = 0; rc == 0 && n > 0 && k < CW_TEXT_GUESS_RECORDS; k++) {
        const char *end = memchr(p, '\n', n);
        size_t line = end ? (size_t)(end - p) : n;
        rc = add_object(&guess, p, line, err);
        n -= CW_MIN(line + 1, n);
        p += line + 1;
    }
    rc = finish(&guess, rc, said, err);
    guess_fini(&guess);
    return rc;
}

/* ---- CSV ---- */

/* Bytes of the first record, with its newline. */
static size_t record_bytes(const struct cw_csv_rules *rules, const char *p, size_t n)
{
    bool quoted = false;
    for (size_t i = 0; i < n; i++) {
        if (rules->quote && p[i] == rules->quote)
            quoted = !quoted;
        if (p[i] == '\n' && !quoted)
            return i + 1;
    }
    return n;
}

static bool counts_as_empty(const struct cw_csv_guess *how, const struct cw_csv_cell *cell)
{
    for (size_t i = 0; i < how->empty->n; i++)
        if (strlen(how->empty->v[i]) == cell->n && memcmp(how->empty->v[i], cell->p, cell->n) == 0)
            return true;
    return cell->n == 0;
}

static enum kind kind_of_cell(const struct cw_csv_guess *how, const struct cw_csv_cell *cell)
{
    struct cw_decimal decimal;
    int64_t whole;
    double real;
    if (counts_as_empty(how, cell))
        return NONE;
    if (cw_decimal_scan(cell->p, cell->p + cell->n, CW_DECIMAL_CSV, &decimal) != cell->p + cell->n)
        return TEXT;
    if (cw_decimal_put(&decimal, CW_DTYPE_I64, &whole))
        return WHOLE;
    return cw_decimal_put(&decimal, CW_DTYPE_F64, &real) ? REAL : TEXT;
}

static int add_columns(struct guess *guess, const struct cw_csv_guess *how,
                       const struct cw_csv_cell *cells, size_t n, struct cw_err *err)
{
    int rc = 0;
    for (size_t c = 0; rc == 0 && c < n; c++) {
        CW_STR_AUTO key = {0};
        cw_autofree char *plain = cw_mem_new(cells[c].n + 1);
        if (how->has_header)
            cw_str_add_bytes(&key, plain, cw_csv_unescape(&cells[c], how->rules.quote, plain));
        else
            cw_str_addf(&key, "%zu", c);
        rc = add_field(guess, cw_str_text(&key), key.len, err);
    }
    return rc;
}

static int add_record(struct guess *guess, const struct cw_csv_guess *how, const char *p, size_t n,
                      struct cw_err *err)
{
    cw_autofree struct cw_csv_cell *cells = CW_NEW_ARRAY(struct cw_csv_cell, COLUMNS_MAX);
    cw_autofree int32_t *slots = CW_NEW_ARRAY(int32_t, COLUMNS_MAX);
    size_t cells_n = 0;
    bool first = guess->n == 0;
    for (int32_t c = 0; c < COLUMNS_MAX; c++)
        slots[c] = c;
    int rc = cw_csv_split(&how->rules, p, n, slots, COLUMNS_MAX, cells, &cells_n, err);
    if (rc < 0)
        return cw_err_wrap(err, "%s", guess->path);
    cells_n = CW_MIN(cells_n, (size_t)COLUMNS_MAX);
    if (first)
        rc = add_columns(guess, how, cells, cells_n, err);
    for (size_t c = 0; rc == 0 && !(first && how->has_header) && c < CW_MIN(cells_n, guess->n); c++)
        guess->fields[c].kind = merge(guess->fields[c].kind, kind_of_cell(how, &cells[c]), TEXT);
    return rc;
}

int cw_text_guess_csv(const char *path, const struct cw_csv_guess *how, struct cw_value *said,
                      struct cw_err *err)
{
    struct guess guess = {.path = path};
    cw_autofree char *bytes = NULL;
    size_t n = 0;
    int rc = load(path, &bytes, &n, err);
    const char *p = bytes ? skip_mark(bytes, &n) : NULL;
    for (size_t k = 0; rc == 0 && n > 0 && k <= CW_TEXT_GUESS_RECORDS; k++) {
        size_t record = record_bytes(&how->rules, p, n);
        if (p[0] != '\n' && p[0] != '\r')
            rc = add_record(&guess, how, p, record, err);
        p += record;
        n -= record;
    }
    rc = finish(&guess, rc, said, err);
    guess_fini(&guess);
    return rc;
}

/* ---- fields that nobody reads ---- */

/* The name of a row's field ends before " =" or ":". */
static char *name_of(const char *row)
{
    return cw_mem_strndup(row, strcspn(row, " :="));
}

static bool is_needed(const struct cw_op_names *wanted, const struct cw_value *const *absent,
                      size_t absent_n, const char *row)
{
    cw_autofree char *name = name_of(row);
    bool is = cw_op_names_wants(wanted, name);
    for (size_t i = 0; i < absent_n && !is; i++)
        is = absent[i]->type == CW_VALUE_OBJECT && cw_value_get(absent[i], name) != NULL;
    return is;
}

void cw_text_guess_leave_out(const struct cw_op_names *wanted, const struct cw_value *const *absent,
                             size_t absent_n, struct cw_value *said)
{
    const struct cw_value *rows = cw_value_get(said, "schema");
    struct cw_value kept = {0};
    size_t n = 0;
    for (size_t i = 0; i < absent_n; i++)
        if (absent[i]->type == CW_VALUE_STR && strcmp(absent[i]->s, "skip") == 0)
            return;
    if (!wanted || !rows || rows->type != CW_VALUE_LIST || rows->n == 0)
        return;
    for (size_t i = 0; i < rows->n; i++)
        n += is_needed(wanted, absent, absent_n, rows->items[i].s);
    struct cw_value *to = cw_value_set_list(&kept, CW_MAX(n, 1));
    size_t at = 0;
    for (size_t i = 0; i < rows->n; i++)
        if (n == 0 ? i == 0 : is_needed(wanted, absent, absent_n, rows->items[i].s))
            cw_value_set_str(&to[at++], rows->items[i].s);
    *cw_value_member(said, "schema") = kept; /* frees what was there */
}
