/* SPDX-License-Identifier: Apache-2.0 */
/* dtypes, fields and specs: parsing, comparison, sizes, and printing. */
#include "data/spec.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"

const char *const cw_dtype_names[] = {
#define CW_DTYPE(name, text, bytes, dl) text,
    CW_DTYPE_LIST
#undef CW_DTYPE
        NULL};

static const unsigned char dtype_bytes[CW_DTYPE_N] = {
#define CW_DTYPE(name, text, bytes, dl) bytes,
    CW_DTYPE_LIST
#undef CW_DTYPE
};

const char *cw_dtype_name(enum cw_dtype dtype)
{
    return (unsigned)dtype < CW_DTYPE_N ? cw_dtype_names[dtype] : "?";
}

size_t cw_dtype_bytes(enum cw_dtype dtype)
{
    return (unsigned)dtype < CW_DTYPE_N ? dtype_bytes[dtype] : 0;
}

bool cw_dtype_is_float(enum cw_dtype dtype)
{
    return dtype == CW_DTYPE_F16 || dtype == CW_DTYPE_F32 || dtype == CW_DTYPE_F64 ||
           dtype == CW_DTYPE_BF16;
}

int cw_dtype_parse(const char *text, enum cw_dtype *ret_dtype)
{
    for (int i = 0; text && i < CW_DTYPE_N; i++) {
        if (strcmp(text, cw_dtype_names[i]) == 0) {
            *ret_dtype = (enum cw_dtype)i;
            return CW_OK;
        }
    }
    return CW_E_INVALID;
}

bool cw_field_is_fixed(const struct cw_field *field)
{
    return field->dtype != CW_DTYPE_STR && cw_field_count(field) >= 0;
}

bool cw_field_is_ragged(const struct cw_field *field)
{
    for (int i = 1; i < field->rank; i++)
        if (field->dims[i] == CW_DIM_RAGGED)
            return true;
    return false;
}

/* Returns -1 also if the product does not fit into 64 bits: such a tensor cannot exist. */
int64_t cw_field_count(const struct cw_field *field)
{
    int64_t count = 1;

    for (int i = 0; i < field->rank; i++)
        if (field->dims[i] < 0 || __builtin_mul_overflow(count, field->dims[i], &count))
            return -1;
    return count;
}

int64_t cw_field_bytes(const struct cw_field *field)
{
    int64_t bytes = 0;

    if (!cw_field_is_fixed(field) ||
        __builtin_mul_overflow(cw_field_count(field), (int64_t)cw_dtype_bytes(field->dtype),
                               &bytes))
        return -1;
    return bytes;
}

void cw_spec_fini(struct cw_spec *spec)
{
    if (spec && spec->room)
        cw_mem_free(spec->fields);
    if (spec)
        *spec = (struct cw_spec){0};
}

struct cw_spec cw_spec_copy(const struct cw_spec *spec)
{
    struct cw_spec copy = {0};

    cw_spec_reset(&copy, spec->n);
    if (spec->n)
        memcpy(copy.fields, spec->fields, spec->n * sizeof(copy.fields[0]));
    return copy;
}

struct cw_spec cw_spec_take(struct cw_spec *spec)
{
    struct cw_spec taken = *spec;

    *spec = (struct cw_spec){0};
    return taken;
}

struct cw_spec cw_spec_borrow(const struct cw_spec *spec)
{
    return (struct cw_spec){.n = spec->n, .fields = spec->fields};
}

void cw_spec_push(struct cw_spec *spec, const struct cw_field *field)
{
    const struct cw_field copy = *field;

    CW_ASSERT(spec->n < CW_FIELDS_MAX && (spec->n == 0 || spec->room > 0));
    CW_GROW(spec->fields, spec->n, spec->room);
    spec->fields[spec->n++] = copy;
}

void cw_spec_reset(struct cw_spec *spec, size_t n)
{
    CW_ASSERT(n <= CW_FIELDS_MAX);
    cw_spec_fini(spec);
    if (n)
        *spec = (struct cw_spec){.n = n, .room = n, .fields = CW_NEW_ARRAY(struct cw_field, n)};
}

int cw_spec_find(const struct cw_spec *spec, const char *name)
{
    for (size_t i = 0; i < spec->n; i++)
        if (strcmp(spec->fields[i].name, name) == 0)
            return (int)i;
    return -1;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_name(const char *name)
{
    if (!is_letter(name[0]))
        return false;
    for (const char *c = name; *c; c++)
        if (!is_letter(*c) && !(*c >= '0' && *c <= '9') && *c != '.')
            return false;
    return true;
}

static int check_name(const struct cw_spec *spec, const char *name, struct cw_err *err)
{
    if (strlen(name) >= CW_FIELD_NAME_BYTES)
        return cw_err_set(err, CW_E_INVALID, "field name \"%.40s...\": longer than %d bytes", name,
                          CW_FIELD_NAME_BYTES - 1);
    if (!is_name(name))
        return cw_err_set(err, CW_E_INVALID,
                          "field name \"%s\": must begin with a letter or _ and have only letters, "
                          "digits, _ and .",
                          name);
    if (cw_spec_find(spec, name) >= 0)
        return cw_err_set(err, CW_E_EXISTS, "field \"%s\" is there twice", name);
    return CW_OK;
}

/* Whether a field may have this dim: which rows differ is said behind the dimension that counts them. Rows
 * of strings are lists. */
static bool is_dim(enum cw_dtype dtype, int rank, int i, int64_t dim)
{
    return dim >= -1 || (dim == CW_DIM_RAGGED && i > 0 && (dtype != CW_DTYPE_STR || rank == 2));
}

int cw_spec_add(struct cw_spec *spec, const char *name, enum cw_dtype dtype, int rank,
                const int64_t *dims, struct cw_err *err)
{
    if (spec->n == CW_FIELDS_MAX)
        return cw_err_set(err, CW_E_LIMIT, "field \"%.40s\": an element has at most %d fields",
                          name, CW_FIELDS_MAX);
    int rc = check_name(spec, name, err);
    if (rc != CW_OK)
        return rc;
    if ((unsigned)dtype >= CW_DTYPE_N)
        return cw_err_set(err, CW_E_INVALID, "field \"%s\": unknown dtype %d", name, (int)dtype);
    if (rank < 0 || rank > CW_RANK_MAX)
        return cw_err_set(err, CW_E_LIMIT, "field \"%s\": rank %d, must be 0 to %d", name, rank,
                          CW_RANK_MAX);
    struct cw_field field = {.dtype = dtype, .rank = rank};
    memcpy(field.name, name, strlen(name) + 1);
    for (int i = 0; i < rank; i++) {
        if (!is_dim(dtype, rank, i, dims[i]))
            return cw_err_set(err, CW_E_INVALID, "field \"%s\": dim %d is %" PRId64, name, i,
                              dims[i]);
        field.dims[i] = dims[i];
    }
    cw_spec_push(spec, &field);
    return CW_OK;
}

static bool field_eq(const struct cw_field *a, const struct cw_field *b)
{
    if (strcmp(a->name, b->name) != 0 || a->dtype != b->dtype || a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dims[i] != b->dims[i])
            return false;
    return true;
}

bool cw_spec_eq(const struct cw_spec *a, const struct cw_spec *b)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (!field_eq(&a->fields[i], &b->fields[i]))
            return false;
    return true;
}
