/* SPDX-License-Identifier: Apache-2.0 */
/* Parses headers of NumPy's files, and brings values into C order. */
#include "format/npy.h"

#include <endian.h>
#include <string.h>

/* The header while it is read: keys may come in any order. */
struct text {
    const char *p, *end;
    bool has_descr, has_order, has_shape;
};

static int not_npy(const char *name, const char *why, struct cw_err *err)
{
    return cw_err_set(err, CW_E_CORRUPT, "%s: %s", name, why);
}

int cw_npy_header_bytes(const void *p, size_t n, const char *name, size_t *ret_bytes,
                        struct cw_err *err)
{
    const uint8_t *bytes = p;
    uint16_t short_n;
    uint32_t long_n;
    if (n < 10 || memcmp(bytes, "\x93NUMPY", 6) != 0)
        return not_npy(name, "not an .npy file", err);
    if (bytes[6] < 1 || bytes[6] > 3)
        return cw_err_set(err, CW_E_CORRUPT, "%s: .npy version %u.%u is not known", name, bytes[6],
                          bytes[7]);
    if (bytes[6] > 1 && n < CW_NPY_MAGIC_BYTES)
        return not_npy(name, "truncated inside the .npy header", err);
    memcpy(&short_n, bytes + 8, sizeof(short_n));
    memcpy(&long_n, bytes + 8, bytes[6] > 1 ? sizeof(long_n) : sizeof(short_n));
    size_t length = bytes[6] > 1 ? le32toh(long_n) : le16toh(short_n);
    if (length > CW_NPY_HEADER_BYTES_MAX)
        return cw_err_set(err, CW_E_LIMIT, "%s: the .npy header has %zu bytes; %zu are allowed",
                          name, length, CW_NPY_HEADER_BYTES_MAX);
    *ret_bytes = length + (bytes[6] > 1 ? 12 : 10);
    return 0;
}

static void skip_blanks(struct text *t)
{
    while (t->p < t->end && (*t->p == ' ' || *t->p == '\n' || *t->p == '\t'))
        t->p++;
}

static bool take(struct text *t, const char *word)
{
    size_t n = strlen(word);
    skip_blanks(t);
    if ((size_t)(t->end - t->p) < n || memcmp(t->p, word, n) != 0)
        return false;
    t->p += n;
    return true;
}

/* Takes a quoted string without escapes. */
static bool take_string(struct text *t, const char **ret, size_t *ret_n)
{
    skip_blanks(t);
    if (t->p == t->end || (*t->p != '\'' && *t->p != '"'))
        return false;
    const char *begin = t->p + 1;
    const char *quote = memchr(begin, *t->p, (size_t)(t->end - begin));
    if (!quote)
        return false;
    *ret = begin;
    *ret_n = (size_t)(quote - begin);
    t->p = quote + 1;
    return true;
}

static bool dtype_of(char kind, char bytes, enum cw_dtype *ret_dtype)
{
    static const struct {
        char kind, bytes;
        enum cw_dtype dtype;
    } known[] = {{'u', '1', CW_DTYPE_U8},  {'i', '1', CW_DTYPE_I8},  {'u', '2', CW_DTYPE_U16},
                 {'i', '2', CW_DTYPE_I16}, {'u', '4', CW_DTYPE_U32}, {'i', '4', CW_DTYPE_I32},
                 {'u', '8', CW_DTYPE_U64}, {'i', '8', CW_DTYPE_I64}, {'f', '2', CW_DTYPE_F16},
                 {'f', '4', CW_DTYPE_F32}, {'f', '8', CW_DTYPE_F64}, {'b', '1', CW_DTYPE_BOOL}};
    for (size_t i = 0; i < CW_ARRAY_LEN(known); i++)
        if (known[i].kind == kind && known[i].bytes == bytes) {
            *ret_dtype = known[i].dtype;
            return true;
        }
    return false;
}

static const char *take_descr(struct text *t, struct cw_npy_header *h)
{
    const bool big_host = __BYTE_ORDER == __BIG_ENDIAN;
    const char *s;
    size_t n;
    if (!take_string(t, &s, &n))
        return "an array of records cannot be read";
    if (n == 3 && dtype_of(s[1], s[2], &h->dtype) && strchr("<>|=", s[0])) {
        h->swapped = s[2] != '1' && ((s[0] == '>' && !big_host) || (s[0] == '<' && big_host));
        t->has_descr = true;
        return NULL;
    }
    return "an array of this dtype cannot be read (numbers of up to 8 bytes, and bool, can)";
}

static bool take_number(struct text *t, int64_t *ret_number)
{
    int64_t v = 0;
    skip_blanks(t);
    const char *begin = t->p;
    for (; t->p < t->end && *t->p >= '0' && *t->p <= '9'; t->p++)
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *t->p - '0', &v))
            return false;
    if (t->p == begin)
        return false;
    if (t->p < t->end && *t->p == 'L') /* Python 2 */
        t->p++;
    *ret_number = v;
    return true;
}

static const char *take_shape(struct text *t, struct cw_npy_header *h)
{
    bool more = true;
    h->rank = 0;
    if (!take(t, "("))
        return "the shape in its .npy header is damaged";
    while (!take(t, ")")) {
        if (h->rank == CW_NPY_DIMS_MAX)
            return "its array has too many dimensions";
        if (!more || !take_number(t, &h->dims[h->rank++]))
            return "the shape in its .npy header is damaged";
        more = take(t, ",");
    }
    t->has_shape = true;
    return NULL;
}

static const char *take_member(struct text *t, struct cw_npy_header *h)
{
    const char *key;
    size_t n;
    if (!take_string(t, &key, &n) || !take(t, ":"))
        return "its .npy header is damaged";
    if (n == 5 && memcmp(key, "descr", n) == 0)
        return take_descr(t, h);
    if (n == 5 && memcmp(key, "shape", n) == 0)
        return take_shape(t, h);
    if (n != 13 || memcmp(key, "fortran_order", n) != 0)
        return "its .npy header has a key that is not known";
    h->fortran = take(t, "True");
    t->has_order = h->fortran || take(t, "False");
    return t->has_order ? NULL : "the order in its .npy header is damaged";
}

static const char *take_header(struct text *t, struct cw_npy_header *h)
{
    const char *why = NULL;
    bool more = true;
    if (!take(t, "{"))
        return "its .npy header is damaged";
    while (!why && !take(t, "}")) {
        why = more ? take_member(t, h) : "its .npy header is damaged";
        more = take(t, ",");
    }
    skip_blanks(t);
    if (!why && (t->p != t->end || !t->has_descr || !t->has_order || !t->has_shape))
        why = "its .npy header is damaged";
    return why;
}

int cw_npy_parse(const void *p, size_t n, const char *name, struct cw_npy_header *ret_header,
                 struct cw_err *err)
{
    struct cw_npy_header h = {0};
    int rc = cw_npy_header_bytes(p, n, name, &h.header_bytes, err);
    if (rc < 0)
        return rc;
    if (h.header_bytes > n)
        return not_npy(name, "truncated inside the .npy header", err);
    size_t begin = ((const uint8_t *)p)[6] > 1 ? 12 : 10;
    struct text t = {.p = (const char *)p + begin, .end = (const char *)p + h.header_bytes};
    const char *why = take_header(&t, &h);
    if (why)
        return not_npy(name, why, err);
    h.data_bytes = cw_dtype_bytes(h.dtype);
    for (int i = 0; i < h.rank; i++)
        if (__builtin_mul_overflow(h.data_bytes, (uint64_t)h.dims[i], &h.data_bytes) ||
            h.data_bytes > INT64_MAX)
            return not_npy(name, "the shape in its .npy header is too large", err);
    *ret_header = h;
    return 0;
}

void cw_npy_strides(const struct cw_npy_header *h, int64_t strides[CW_NPY_DIMS_MAX])
{
    /* Dims of an array without values may be of any size. */
    int64_t stride = h->data_bytes > 0 ? 1 : 0;
    for (int i = 0; i < h->rank; i++) {
        int d = h->fortran ? i : h->rank - 1 - i;
        strides[d] = stride;
        if (stride == 0)
            continue;
        stride *= h->dims[d];
    }
}

/* Copies n values of v bytes, `step` values apart, each reversed or not. v is a constant where this
 * is called, so the compiler makes a loop for each. */
static inline void copy_values(uint8_t *dst, const uint8_t *src, int64_t n, int64_t step, size_t v,
                               bool swapped)
{
    for (int64_t i = 0; i < n; i++, dst += v, src += (size_t)step * v) {
        uint8_t value[8];
        memcpy(value, src, v);
        for (size_t b = 0; swapped && b < v / 2; b++) {
            uint8_t other = value[b];
            value[b] = value[v - 1 - b];
            value[v - 1 - b] = other;
        }
        memcpy(dst, value, v);
    }
}

static void copy_run(uint8_t *dst, const uint8_t *src, int64_t n, int64_t step, size_t v,
                     bool swapped)
{
    if (step == 1 && !swapped)
        memcpy(dst, src, (size_t)n * v);
    else if (v == 1)
        copy_values(dst, src, n, step, 1, false);
    else if (v == 2)
        copy_values(dst, src, n, step, 2, swapped);
    else if (v == 4)
        copy_values(dst, src, n, step, 4, swapped);
    else
        copy_values(dst, src, n, step, 8, swapped);
}

void cw_npy_copy(void *dst, const void *src, const struct cw_npy_header *h, int rank,
                 const int64_t *dims, const int64_t *strides)
{
    size_t v = cw_dtype_bytes(h->dtype);
    int64_t at[CW_NPY_DIMS_MAX] = {0}, runs = 1;
    int64_t n = rank > 0 ? dims[rank - 1] : 1, step = rank > 0 ? strides[rank - 1] : 1;
    uint8_t *out = dst;
    if (h->data_bytes == 0)
        return;
    for (int i = 0; i + 1 < rank; i++)
        runs *= dims[i];
    for (int64_t run = 0; run < runs && n > 0; run++, out += (size_t)n * v) {
        int64_t offset = 0;
        for (int i = 0; i + 1 < rank; i++)
            offset += at[i] * strides[i];
        copy_run(out, (const uint8_t *)src + (size_t)offset * v, n, step, v, h->swapped);
        for (int i = rank - 2; i >= 0 && ++at[i] == dims[i]; i--)
            at[i] = 0;
    }
}
