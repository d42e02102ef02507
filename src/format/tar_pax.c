/* SPDX-License-Identifier: Apache-2.0 */
/* Reads records "LENGTH KEY=VALUE\n", of which path and size are used. */
#include "format/tar_pax.h"

#include <string.h>

struct record {
    const char *key;
    size_t key_n;
    const char *value;
    size_t value_n;
};

void cw_tar_pax_reset(struct cw_tar_pax *pax)
{
    pax->name_n = 0;
    pax->has_size = false;
}

const char *cw_tar_pax_name(struct cw_tar_pax *pax, const char *name, size_t n)
{
    if (n == 0)
        return "its name is empty";
    if (n > sizeof(pax->name))
        return "its name is too long";
    memcpy(pax->name, name, n);
    pax->name_n = n;
    return NULL;
}

/* Reads decimal digits. Returns how many there are; 0 if the number is too large as well. */
static size_t read_digits(const char *p, size_t n, uint64_t *ret_number)
{
    uint64_t v = 0;
    size_t i = 0;
    for (; i < n && p[i] >= '0' && p[i] <= '9'; i++) {
        if (v > (UINT64_MAX >> 1) / 10 - 1)
            return 0;
        v = v * 10 + (uint64_t)(p[i] - '0');
    }
    *ret_number = v;
    return i;
}

/* Splits the record at p. Returns its length, or 0 if it is none. */
static size_t split(const char *p, size_t n, struct record *ret_record)
{
    uint64_t length = 0;
    size_t digits = read_digits(p, n, &length);
    if (digits == 0 || length > n || length < digits + 3 || p[digits] != ' ' ||
        p[length - 1] != '\n')
        return 0;
    const char *key = p + digits + 1;
    size_t left = (size_t)length - digits - 2;
    const char *equals = memchr(key, '=', left);
    if (!equals)
        return 0;
    *ret_record = (struct record){.key = key,
                                  .key_n = (size_t)(equals - key),
                                  .value = equals + 1,
                                  .value_n = left - (size_t)(equals - key) - 1};
    return (size_t)length;
}

static bool is_key(const struct record *r, const char *key)
{
    return r->key_n == strlen(key) && memcmp(r->key, key, r->key_n) == 0;
}

static const char *take_size(struct cw_tar_pax *pax, const struct record *r)
{
    if (r->value_n == 0 || read_digits(r->value, r->value_n, &pax->size) != r->value_n)
        return "its size in the extended header is not a number";
    pax->has_size = true;
    return NULL;
}

static const char *take(struct cw_tar_pax *pax, const struct record *r, bool global)
{
    static const char sparse[] = "GNU.sparse.";
    bool path = is_key(r, "path"), size = is_key(r, "size");
    if (r->key_n >= strlen(sparse) && memcmp(r->key, sparse, strlen(sparse)) == 0)
        return "a sparse file (write the file without --sparse)";
    if (global && (path || size))
        return "a global header that sets the path or the size of all members";
    if (path)
        return cw_tar_pax_name(pax, r->value, r->value_n);
    return size ? take_size(pax, r) : NULL;
}

const char *cw_tar_pax_read(struct cw_tar_pax *pax, const char *p, size_t n, bool global)
{
    const char *why = NULL;
    for (size_t at = 0; at < n && !why;) {
        struct record r;
        size_t length = split(p + at, n - at, &r);
        if (length == 0)
            return "its extended header is damaged";
        why = take(pax, &r, global);
        at += length;
    }
    return why;
}
