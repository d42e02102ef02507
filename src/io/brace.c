/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces the first group of a text by each thing that it stands for, and puts these texts on a
 * stack, until no group is left. */
#include "io/brace.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* Bytes that are looked at or copied for one pattern. It bounds time and memory: 2^20 groups that
 * are none in each of 2^20 texts are refused. */
#define WORK_MAX ((uint64_t)1 << 28)
#define DIGITS_MAX 18

/* A text of which everything before `from` is done. */
struct todo {
    char *text;
    size_t from;
};
struct expansion {
    const char *pattern;
    struct todo *stack;
    size_t n, cap;
    uint64_t work;
    struct cw_paths *texts;
};
/* A group from the byte of `{` to the one behind `}`. */
struct group {
    size_t begin, end;
    size_t commas;
};
struct numbers {
    int64_t first, step;
    size_t n;
    int width;
};

bool cw_brace_is_in(const char *pattern)
{
    return strchr(pattern, '{') != NULL;
}

static int too_large(const struct expansion *e, struct cw_err *err)
{
    return cw_err_set(err, CW_E_LIMIT,
                      "pattern \"%.200s\": its braces stand for too much: %zu paths are allowed",
                      e->pattern, CW_BRACE_TEXTS_MAX);
}

/* Finds the end of the group that begins at `begin`, and counts its commas. Returns false if it has
 * no end. */
static bool group_end(const char *text, size_t begin, struct group *ret_group)
{
    size_t depth = 0;
    *ret_group = (struct group){.begin = begin};
    for (size_t i = begin; text[i]; i++) {
        if (text[i] == '\\' && text[i + 1])
            i++;
        else if (text[i] == '{')
            depth++;
        else if (text[i] == ',' && depth == 1)
            ret_group->commas++;
        else if (text[i] == '}' && --depth == 0) {
            ret_group->end = i + 1;
            return true;
        }
    }
    return false;
}

static bool read_number(const char **p, int64_t *ret_number, int *ret_width)
{
    const char *begin = *p, *digits = begin + (*begin == '-');
    size_t n = strspn(digits, "0123456789");
    if (n == 0 || n > DIGITS_MAX)
        return false;
    *ret_number = strtoll(begin, NULL, 10);
    *p = digits + n;
    /* A number that begins with 0 has a width. */
    *ret_width = n > 1 && digits[0] == '0' ? (int)(*p - begin) : 0;
    return true;
}

/* Reads `{first..last}` or `{first..last..step}`. Returns false if it is none of them. */
static bool read_numbers(const char *group, struct numbers *ret_numbers)
{
    const char *p = group + 1;
    int64_t first, last, step = 1;
    int width[3] = {0};
    if (!read_number(&p, &first, &width[0]) || strncmp(p, "..", 2) != 0)
        return false;
    const char *second = p += 2;
    if (!read_number(&p, &last, &width[1]))
        return false;
    int longest = (int)CW_MAX(second - 2 - (group + 1), p - second);
    if (strncmp(p, "..", 2) == 0) {
        p += 2;
        if (!read_number(&p, &step, &width[2]) || step == 0)
            return false;
    }
    if (*p != '}')
        return false;
    step = step < 0 ? -step : step;
    *ret_numbers =
        (struct numbers){.first = first,
                         .step = last < first ? -step : step,
                         .n = (size_t)((last < first ? first - last : last - first) / step) + 1,
                         .width = width[0] || width[1] ? longest : 0};
    return true;
}

static bool is_group(struct expansion *e, const char *text, size_t begin, struct group *ret_group,
                     struct numbers *ret_numbers)
{
    bool ends = group_end(text, begin, ret_group);
    e->work += ends ? ret_group->end - begin : strlen(text + begin);
    return ends && (ret_group->commas > 0 || read_numbers(text + begin, ret_numbers));
}

/* Finds the first group from t->from on. Returns false if there is none. */
static bool next_group(struct expansion *e, const struct todo *t, struct group *ret_group,
                       struct numbers *ret_numbers)
{
    for (size_t i = t->from; t->text[i] && e->work <= WORK_MAX; i++) {
        e->work++;
        if (t->text[i] == '\\' && t->text[i + 1])
            i++;
        else if (t->text[i] == '{' && is_group(e, t->text, i, ret_group, ret_numbers))
            return true;
    }
    return false;
}

/* Puts the text with the group replaced by n bytes at `middle` onto the stack. */
static void push(struct expansion *e, const struct todo *t, const struct group *group,
                 const char *middle, size_t n)
{
    char *text = cw_mem_printf("%.*s%.*s%s", (int)group->begin, t->text, (int)n, middle,
                               t->text + group->end);
    e->work += strlen(text);
    CW_GROW(e->stack, e->n, e->cap);
    e->stack[e->n++] = (struct todo){text, group->begin};
}

/* The last number is pushed first, so the first one is taken first. */
static void push_numbers(struct expansion *e, const struct todo *t, const struct group *group,
                         const struct numbers *numbers)
{
    for (size_t k = numbers->n; k-- > 0 && e->work <= WORK_MAX;) {
        int64_t number = numbers->first + (int64_t)k * numbers->step;
        cw_autofree char *text = cw_mem_printf("%0*lld", numbers->width, (long long)number);
        push(e, t, group, text, strlen(text));
    }
}

static void push_texts(struct expansion *e, const struct todo *t, const struct group *group)
{
    size_t depth = 0, begin = group->begin + 1, before = e->n;
    for (size_t i = begin; i < group->end && e->work <= WORK_MAX; i++) {
        char c = t->text[i];
        if (c == '\\') {
            i++;
        } else if (i + 1 == group->end || (c == ',' && depth == 0)) {
            push(e, t, group, t->text + begin, i - begin);
            begin = i + 1;
        } else {
            depth += c == '{';
            depth -= c == '}';
        }
    }
    /* The first text is taken first. */
    for (size_t a = before, b = e->n; a + 1 < b; a++) {
        struct todo other = e->stack[a];
        e->stack[a] = e->stack[--b];
        e->stack[b] = other;
    }
}

/* Expands one text of the stack. Takes t->text. */
static int expand_one(struct expansion *e, struct todo *t, struct cw_err *err)
{
    struct group group = {0};
    struct numbers numbers = {0};
    cw_autofree char *text = t->text;
    if (!next_group(e, t, &group, &numbers)) {
        CW_GROW(e->texts->v, e->texts->n, e->texts->cap);
        e->texts->v[e->texts->n++] = cw_steal(&text);
        return 0;
    }
    size_t n = group.commas > 0 ? group.commas + 1 : numbers.n;
    if (n > CW_BRACE_TEXTS_MAX || e->texts->n + e->n + n > CW_BRACE_TEXTS_MAX)
        return too_large(e, err);
    if (group.commas > 0)
        push_texts(e, t, &group);
    else
        push_numbers(e, t, &group, &numbers);
    return 0;
}

int cw_brace_expand(const char *pattern, struct cw_paths *texts, struct cw_err *err)
{
    struct expansion e = {.pattern = pattern, .texts = texts};
    int rc = 0;
    if (strlen(pattern) > CW_BRACE_PATTERN_BYTES_MAX)
        return cw_err_set(err, CW_E_LIMIT,
                          "pattern \"%.200s...\": with braces it may have %zu bytes", pattern,
                          CW_BRACE_PATTERN_BYTES_MAX);
    CW_GROW(e.stack, e.n, e.cap);
    e.stack[e.n++] = (struct todo){cw_mem_strdup(pattern), 0};
    while (e.n > 0) {
        struct todo t = e.stack[--e.n];
        if (rc == 0)
            rc = expand_one(&e, &t, err);
        else
            cw_mem_free(t.text);
        if (rc == 0 && e.work > WORK_MAX)
            rc = too_large(&e, err);
    }
    cw_mem_free(e.stack);
    return rc;
}
