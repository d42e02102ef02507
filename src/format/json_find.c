/* SPDX-License-Identifier: Apache-2.0 */
/* Walks over JSON text. Strings and what is skipped are passed 16 bytes at a time. */
#include "format/json_find.h"

#include <string.h>

#include "base/mem.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define DEPTH_MAX 8

struct node {
    char *key;
    size_t key_n;
    size_t child; /* index of its first child; the others follow */
    size_t children;
    int path; /* the path that ends here; -1: it only leads further */
};
struct cw_json_plan {
    struct node *nodes; /* the first is the whole object */
    size_t n;
    size_t paths;
};

/* ---- plans ---- */

/* A path with what is left of it below a node. */
struct left {
    const char *rest;
    int path;
    size_t parent;
};

static size_t part_bytes(const char *rest)
{
    return strcspn(rest, ".");
}

static bool is_same_part(const char *a, const char *b)
{
    return part_bytes(a) == part_bytes(b) && memcmp(a, b, part_bytes(a)) == 0;
}

/* Makes the children of one node, out of all paths that go through it. */
static int add_children(struct cw_json_plan *plan, size_t parent, struct left *left, size_t n,
                        struct cw_err *err)
{
    plan->nodes[parent].child = plan->n;
    for (size_t i = 0; i < n; i++) {
        if (left[i].parent != parent || !left[i].rest)
            continue;
        const char *rest = left[i].rest;
        struct node *node = &plan->nodes[plan->n++];
        *node = (struct node){
            .key = cw_mem_strndup(rest, part_bytes(rest)), .key_n = part_bytes(rest), .path = -1};
        plan->nodes[parent].children++;
        for (size_t k = i; k < n; k++) {
            if (left[k].parent != parent || !left[k].rest || !is_same_part(left[k].rest, rest))
                continue;
            const char *below = left[k].rest + part_bytes(rest);
            if (*below == '\0' && node->path >= 0)
                return cw_err_set(err, CW_E_INVALID, "key \"%s\" is asked for twice", node->key);
            if (*below == '\0')
                node->path = left[k].path;
            left[k].parent = plan->n - 1;
            left[k].rest = *below ? below + 1 : NULL;
        }
    }
    return 0;
}

static int check_path(const char *path, struct cw_err *err)
{
    size_t depth = 1;
    for (const char *p = path; *p; p++)
        depth += *p == '.';
    const size_t n = strlen(path);
    if (depth > DEPTH_MAX)
        return cw_err_set(err, CW_E_LIMIT, "key \"%s\" leads more than %d levels down", path,
                          DEPTH_MAX);
    if (n == 0 || path[0] == '.' || path[n - 1] == '.' || strstr(path, ".."))
        return cw_err_set(err, CW_E_INVALID, "key \"%s\" has an empty part", path);
    return 0;
}

int cw_json_plan_new(const char *const *paths, size_t n, struct cw_json_plan **ret_plan,
                     struct cw_err *err)
{
    struct cw_json_plan *plan = CW_NEW(struct cw_json_plan);
    struct left *left = CW_NEW_ARRAY(struct left, n);
    int rc = 0;
    plan->nodes = CW_NEW_ARRAY(struct node, n * DEPTH_MAX + 1);
    plan->nodes[plan->n++].path = -1;
    plan->paths = n;
    for (size_t i = 0; i < n && rc == 0; i++) {
        left[i] = (struct left){.rest = paths[i], .path = (int)i};
        rc = check_path(paths[i], err);
    }
    for (size_t k = 0; k < plan->n && rc == 0; k++)
        rc = add_children(plan, k, left, n, err);
    for (size_t k = 1; k < plan->n && rc == 0; k++) {
        if (plan->nodes[k].path >= 0 && plan->nodes[k].children > 0)
            rc =
                cw_err_set(err, CW_E_INVALID, "key \"%s\" is asked for as a value and as an object",
                           plan->nodes[k].key);
    }
    cw_mem_free(left);
    if (rc < 0)
        cw_json_plan_free(plan);
    else
        *ret_plan = plan;
    return rc;
}

void cw_json_plan_free(struct cw_json_plan *plan)
{
    if (!plan)
        return;
    for (size_t k = 0; k < plan->n; k++)
        cw_mem_free(plan->nodes[k].key);
    cw_mem_free(plan->nodes);
    cw_mem_free(plan);
}

/* ---- walking ---- */

const char *cw_json_kind_name(enum cw_json_kind kind)
{
    static const char *const names[] = {"nothing",  "null",     "false",  "true",
                                        "a number", "a string", "a list", "an object"};
    return names[kind];
}

struct walk {
    const char *begin, *p, *end;
};

static int bad(const struct walk *w, const char *what, struct cw_err *err)
{
    const size_t at = (size_t)(w->p - w->begin);
    if (w->p >= w->end)
        return cw_err_set(err, CW_E_CORRUPT, "byte %zu: the text ends where %s is expected", at,
                          what);
    return cw_err_set(err, CW_E_CORRUPT, "byte %zu: 0x%02x where %s is expected", at,
                      (unsigned)(unsigned char)*w->p, what);
}

static void pass_spaces(struct walk *w)
{
    while (w->p < w->end && (*w->p == ' ' || *w->p == '\t' || *w->p == '\n' || *w->p == '\r'))
        w->p++;
}

static bool is_special(char c)
{
    return c == '"' || c == '\\' || (unsigned char)c < ' ';
}

/* Goes on to the next quote, backslash or control character. */
static void pass_plain(struct walk *w)
{
    const char *p = w->p;
#if defined(__SSE2__)
    const __m128i quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\');
    const __m128i control = _mm_set1_epi8(0x1f);
    for (; w->end - p >= 16; p += 16) {
        const __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
        const __m128i hit =
            _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(v, quote), _mm_cmpeq_epi8(v, slash)),
                         _mm_cmpeq_epi8(_mm_max_epu8(v, control), control));
        const unsigned mask = (unsigned)_mm_movemask_epi8(hit);
        if (mask) {
            w->p = p + __builtin_ctz(mask);
            return;
        }
    }
#endif
    while (p < w->end && !is_special(*p))
        p++;
    w->p = p;
}

/* Passes a string, from behind its first quote to behind its last. */
static int pass_string(struct walk *w, struct cw_json_slice *ret, struct cw_err *err)
{
    *ret = (struct cw_json_slice){.p = w->p, .kind = CW_JSON_STRING};
    for (;;) {
        pass_plain(w);
        if (w->p >= w->end)
            return bad(w, "the end of a string", err);
        if (*w->p == '"')
            break;
        if (*w->p != '\\' || w->end - w->p < 2)
            return bad(w, "a character of a string", err);
        ret->is_escaped = true;
        w->p += 2;
    }
    ret->n = (size_t)(w->p++ - ret->p);
    return 0;
}

/* Goes on to the next quote or bracket. */
static void pass_to_bracket(struct walk *w)
{
    const char *p = w->p;
#if defined(__SSE2__)
    const __m128i quote = _mm_set1_epi8('"'), bit = _mm_set1_epi8(0x20);
    const __m128i open = _mm_set1_epi8('{'), close = _mm_set1_epi8('}');
    for (; w->end - p >= 16; p += 16) {
        const __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
        const __m128i low = _mm_or_si128(v, bit);
        const __m128i hit =
            _mm_or_si128(_mm_cmpeq_epi8(v, quote),
                         _mm_or_si128(_mm_cmpeq_epi8(low, open), _mm_cmpeq_epi8(low, close)));
        const unsigned mask = (unsigned)_mm_movemask_epi8(hit);
        if (mask) {
            w->p = p + __builtin_ctz(mask);
            return;
        }
    }
#endif
    while (p < w->end && *p != '"' && (*p | 0x20) != '{' && (*p | 0x20) != '}')
        p++;
    w->p = p;
}

/* Passes a list or an object, which begins at w->p, with all in it. */
static int pass_nested(struct walk *w, struct cw_json_slice *ret, struct cw_err *err)
{
    size_t depth = 0;
    *ret = (struct cw_json_slice){.p = w->p, .kind = *w->p == '{' ? CW_JSON_OBJECT : CW_JSON_LIST};
    do {
        struct cw_json_slice string;
        pass_to_bracket(w);
        if (w->p >= w->end)
            return bad(w, "a closing bracket", err);
        const char c = *w->p++;
        if (c == '"') {
            int rc = pass_string(w, &string, err);
            if (rc < 0)
                return rc;
        } else {
            depth = (c | 0x20) == '{' ? depth + 1 : depth - 1;
        }
    } while (depth > 0);
    ret->n = (size_t)(w->p - ret->p);
    return 0;
}

static bool is_of_number(char c)
{
    return (unsigned char)(c - '0') < 10 || c == '-' || c == '+' || c == '.' || (c | 0x20) == 'e';
}

static int pass_word(struct walk *w, const char *word, enum cw_json_kind kind,
                     struct cw_json_slice *ret, struct cw_err *err)
{
    const size_t n = strlen(word);
    if ((size_t)(w->end - w->p) < n || memcmp(w->p, word, n) != 0)
        return bad(w, "a value", err);
    *ret = (struct cw_json_slice){.p = w->p, .n = n, .kind = kind};
    w->p += n;
    return 0;
}

static int pass_value(struct walk *w, struct cw_json_slice *ret, struct cw_err *err)
{
    switch (w->p < w->end ? *w->p : '\0') {
    case '"':
        w->p++;
        return pass_string(w, ret, err);
    case '{':
    case '[':
        return pass_nested(w, ret, err);
    case 't':
        return pass_word(w, "true", CW_JSON_TRUE, ret, err);
    case 'f':
        return pass_word(w, "false", CW_JSON_FALSE, ret, err);
    case 'n':
        return pass_word(w, "null", CW_JSON_NULL, ret, err);
    default:
        break;
    }
    *ret = (struct cw_json_slice){.p = w->p, .kind = CW_JSON_NUMBER};
    while (w->p < w->end && is_of_number(*w->p))
        w->p++;
    ret->n = (size_t)(w->p - ret->p);
    return ret->n > 0 ? 0 : bad(w, "a value", err);
}

/* Finds the child with a key; `guess` is the one behind the child that came before, since records
 * mostly have their members in one order. A key with escapes in it is none that is asked for. */
static const struct node *find_child(const struct cw_json_plan *plan, const struct node *node,
                                     const struct cw_json_slice *key, size_t *guess)
{
    size_t k = *guess < node->children ? *guess : 0;
    for (size_t tried = 0; tried < node->children; tried++) {
        const struct node *child = &plan->nodes[node->child + k];
        k = k + 1 < node->children ? k + 1 : 0;
        if (child->key_n == key->n && memcmp(child->key, key->p, key->n) == 0) {
            *guess = k;
            return child;
        }
    }
    return NULL;
}

/* An object that is being walked over. */
struct level {
    const struct node *node;
    size_t guess;
    bool is_begun; /* a member was there */
};

/* Reads a key with its colon. Returns 1 at the end of the object. */
static int next_key(struct walk *w, struct level *level, struct cw_json_slice *ret_key,
                    struct cw_err *err)
{
    pass_spaces(w);
    if (w->p < w->end && *w->p == '}') {
        w->p++;
        return 1;
    }
    if (level->is_begun) {
        if (w->p >= w->end || *w->p != ',')
            return bad(w, "a comma or the end of an object", err);
        w->p++;
        pass_spaces(w);
    }
    level->is_begun = true;
    if (w->p >= w->end || *w->p != '"')
        return bad(w, "a key", err);
    w->p++;
    int rc = pass_string(w, ret_key, err);
    if (rc < 0)
        return rc;
    pass_spaces(w);
    if (w->p >= w->end || *w->p != ':')
        return bad(w, "a colon", err);
    w->p++;
    pass_spaces(w);
    return 0;
}

static void forget(const struct cw_json_plan *plan, const struct node *node,
                   struct cw_json_slice *slices)
{
    size_t begin = node->child, end = node->child + node->children;
    while (begin < end) {
        size_t next_begin = plan->n, next_end = 0;
        for (size_t k = begin; k < end; k++) {
            const struct node *child = &plan->nodes[k];
            if (child->path >= 0)
                slices[child->path] = (struct cw_json_slice){0};
            if (child->children > 0) {
                next_begin = CW_MIN(next_begin, child->child);
                next_end = CW_MAX(next_end, child->child + child->children);
            }
        }
        begin = next_begin;
        end = next_end;
    }
}

/* Passes the value of a member, or goes into it if it is an object with something in it that is
 * asked for. */
static int take_member(const struct cw_json_plan *plan, struct walk *w, const struct node *child,
                       struct level *levels, size_t *depth, struct cw_json_slice *slices,
                       struct cw_err *err)
{
    struct cw_json_slice unused;
    if (child && child->children > 0) {
        forget(plan, child, slices);
        if (w->p < w->end && *w->p == '{') {
            w->p++;
            levels[++*depth] = (struct level){.node = child};
            return 0;
        }
    }
    return pass_value(w, child && child->path >= 0 ? &slices[child->path] : &unused, err);
}

static int walk_object(const struct cw_json_plan *plan, struct walk *w,
                       struct cw_json_slice *slices, struct cw_err *err)
{
    struct level levels[DEPTH_MAX + 1] = {{.node = plan->nodes}};
    size_t depth = 0;
    for (;;) {
        struct level *level = &levels[depth];
        struct cw_json_slice key;
        int rc = next_key(w, level, &key, err);
        if (rc > 0 && depth-- == 0)
            return 0;
        if (rc == 0)
            rc = take_member(plan, w, find_child(plan, level->node, &key, &level->guess), levels,
                             &depth, slices, err);
        if (rc < 0)
            return rc;
    }
}

static int expect_end(struct walk *w, struct cw_err *err)
{
    pass_spaces(w);
    return w->p == w->end ? 0 : bad(w, "the end of the text", err);
}

int cw_json_find(const struct cw_json_plan *plan, const char *p, size_t n,
                 struct cw_json_slice *ret_slices, struct cw_err *err)
{
    struct walk w = {.begin = p, .p = p, .end = p + n};
    memset(ret_slices, 0, plan->paths * sizeof(*ret_slices));
    pass_spaces(&w);
    if (w.p >= w.end || *w.p != '{')
        return bad(&w, "an object", err);
    w.p++;
    int rc = walk_object(plan, &w, ret_slices, err);
    return rc < 0 ? rc : expect_end(&w, err);
}

int cw_json_whole(const char *p, size_t n, struct cw_json_slice *ret_slice, struct cw_err *err)
{
    struct walk w = {.begin = p, .p = p, .end = p + n};
    pass_spaces(&w);
    int rc = pass_value(&w, ret_slice, err);
    return rc < 0 ? rc : expect_end(&w, err);
}
