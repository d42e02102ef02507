/* SPDX-License-Identifier: Apache-2.0 */
/* Specs as texts. */
#include <inttypes.h>
#include <string.h>

#include "data/spec.h"

void cw_field_print(const struct cw_field *field, struct cw_str *out)
{
    cw_str_addf(out, "%s: %s", field->name, cw_dtype_name(field->dtype));
    if (field->rank == 0)
        return;
    for (int i = 0; i < field->rank; i++) {
        cw_str_add_char(out, i ? ',' : '[');
        if (field->dims[i] == CW_DIM_RAGGED)
            cw_str_add(out, "ragged");
        else if (field->dims[i] < 0)
            cw_str_add_char(out, '?');
        else
            cw_str_addf(out, "%" PRId64, field->dims[i]);
    }
    cw_str_add_char(out, ']');
}

void cw_spec_print(const struct cw_spec *spec, struct cw_str *out)
{
    for (size_t i = 0; i < spec->n; i++) {
        if (i)
            cw_str_add(out, ", ");
        cw_field_print(&spec->fields[i], out);
    }
}

/* ---- reading ---- */

static const char *skip_spaces(const char *p)
{
    while (*p == ' ')
        p++;
    return p;
}

/* Copies what ends before one of `ends` or a space; NULL if it is too long. */
static const char *take_word(const char *p, const char *ends, char *word, size_t size)
{
    size_t n = 0;
    for (p = skip_spaces(p); *p && *p != ' ' && !strchr(ends, *p); p++) {
        if (n + 1 == size)
            return NULL;
        word[n++] = *p;
    }
    word[n] = '\0';
    return skip_spaces(p);
}

/* Reads "[2,?]". Returns what stands behind it, NULL if it is none. */
static const char *take_dims(const char *p, int *ret_rank, int64_t *dims)
{
    char word[24];
    *ret_rank = 0;
    if (*p != '[')
        return p;
    do {
        if (*ret_rank == CW_RANK_MAX)
            return NULL;
        p = take_word(p + 1, ",]", word, sizeof(word));
        if (!p || !*p)
            return NULL;
        int64_t *dim = &dims[(*ret_rank)++];
        if (strcmp(word, "?") == 0)
            *dim = -1;
        else if (!cw_str_to_i64(word, dim) || *dim < 0)
            return NULL;
    } while (*p == ',');
    return skip_spaces(p + 1);
}

int cw_spec_add_text(struct cw_spec *spec, const char *text, struct cw_err *err)
{
    char name[CW_FIELD_NAME_BYTES + 1], word[16];
    int64_t dims[CW_RANK_MAX];
    enum cw_dtype dtype;
    int rank;
    const char *p = take_word(text, ":", name, sizeof(name));
    if (p && *p == ':')
        p = take_word(p + 1, "[", word, sizeof(word));
    else
        p = NULL;
    if (!p || cw_dtype_parse(word, &dtype) != CW_OK || !(p = take_dims(p, &rank, dims)) || *p)
        return cw_err_set(err, CW_E_INVALID,
                          "\"%.60s\" is no field: \"NAME: DTYPE\" or \"NAME: DTYPE[DIMS]\", as in "
                          "\"image: u8[28,28]\" or \"ids: i64[?]\"",
                          text);
    return cw_spec_add(spec, name, dtype, rank, dims, err);
}
