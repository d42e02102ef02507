/* SPDX-License-Identifier: Apache-2.0 */
/* The text is gone through twice: to count and check the items, and to write them. */
#include "format/json_strings.h"

#include "data/strings.h"
#include "format/json_text.h"

struct text {
    const char *p, *end;
};

static char next(struct text *t)
{
    while (t->p < t->end && (*t->p == ' ' || *t->p == '\t' || *t->p == '\n' || *t->p == '\r'))
        t->p++;
    return t->p < t->end ? *t->p : '\0';
}

/* Passes the string that begins here: what is between its quotes. */
static int pass_string(struct text *t, struct text *ret_string, bool *ret_escaped,
                       struct cw_err *err)
{
    const char *p = t->p + 1;
    *ret_escaped = false;
    while (p < t->end && *p != '"') {
        *ret_escaped = *ret_escaped || *p == '\\';
        p += *p == '\\' ? 2 : 1;
    }
    if (p >= t->end)
        return cw_err_set(err, CW_E_CORRUPT, "a string of a list does not end");
    *ret_string = (struct text){t->p + 1, p};
    t->p = p + 1;
    return 0;
}

/* Goes on to the next item. Returns 1 if there is one, 0 behind the last. */
static int next_item(struct text *t, bool is_first, struct cw_err *err)
{
    char c = next(t);
    if (c == ']')
        return 0;
    if (!is_first) {
        if (c != ',')
            return cw_err_set(err, CW_E_CORRUPT,
                              "a list of strings has no comma where one is "
                              "expected, or does not end");
        t->p++;
        c = next(t);
    }
    if (c == '"')
        return 1;
    return cw_err_set(err, CW_E_CORRUPT,
                      c == ']' ? "a list ends with a comma" : "an item of a list is no string");
}

static int count_items(struct text t, int64_t *ret_n, size_t *ret_bytes, struct cw_err *err)
{
    int64_t n = 0;
    size_t bytes = 0;
    int rc;
    while ((rc = next_item(&t, n == 0, err)) > 0) {
        struct text string = {0};
        bool escaped;
        rc = pass_string(&t, &string, &escaped, err);
        if (rc < 0)
            return rc;
        bytes += (size_t)(string.end - string.p);
        n++;
    }
    *ret_n = n;
    *ret_bytes = bytes;
    return rc;
}

static int put_items(struct text t, int64_t n, char *list, size_t *ret_bytes, struct cw_err *err)
{
    char *bytes = list + cw_strings_table_bytes(n);
    int64_t at = 0;
    memcpy(list, &at, sizeof(at));
    for (int64_t i = 0; i < n; i++) {
        struct text string = {NULL, NULL};
        bool escaped = false;
        int rc = next_item(&t, i == 0, err);
        if (rc >= 0)
            rc = pass_string(&t, &string, &escaped, err);
        size_t one = (size_t)(string.end - string.p);
        if (rc == 0 && escaped)
            rc = cw_json_unescape(string.p, one, bytes + at, &one, err);
        else if (rc == 0 && one > 0)
            memcpy(bytes + at, string.p, one);
        if (rc < 0)
            return cw_err_wrap(err, "item %lld", (long long)i);
        at += (int64_t)one;
        memcpy(list + (size_t)(i + 1) * sizeof(at), &at, sizeof(at));
    }
    *ret_bytes = cw_strings_table_bytes(n) + (size_t)at;
    return 0;
}

int cw_json_strings(const char *p, size_t n, int64_t want, struct cw_arena *arena,
                    struct cw_view *ret_view, struct cw_err *err)
{
    const struct text items = {p + 1, p + n};
    int64_t count = 0;
    size_t bytes = 0;
    int rc = count_items(items, &count, &bytes, err);
    if (rc < 0)
        return rc;
    if (want >= 0 && count != want)
        return cw_err_set(err, CW_E_CORRUPT, "a list has %lld items where there must be %lld",
                          (long long)count, (long long)want);
    char *list = cw_arena_alloc(arena, cw_strings_table_bytes(count) + bytes);
    if (!list)
        return cw_err_set(err, CW_E_NOMEM, "no memory for %zu bytes", bytes);
    rc = put_items(items, count, list, &bytes, err);
    *ret_view = (struct cw_view){
        .dtype = CW_DTYPE_STR, .rank = 1, .dims = {count}, .data = list, .bytes = bytes};
    return rc;
}
