/* SPDX-License-Identifier: Apache-2.0 */
/* The normaliser of a model of SentencePiece: the longest rule that begins at each place, and how spaces
 * are treated. */
#include "ops/text/sp_model.h"
#include "ops/text/room.h"
#include "ops/text/unicode.h"

static const char space_sign[] = "\xe2\x96\x81";
static const char replacement_sign[] = "\xef\xbf\xbd";

/* ---- the double array ---- */

static bool has_leaf(uint32_t unit)
{
    return unit >> 8 & 1;
}

static uint32_t label(uint32_t unit)
{
    return unit & (UINT32_C(1) << 31 | 0xff);
}

static uint32_t offset(uint32_t unit)
{
    return unit >> 10 << ((unit & UINT32_C(1) << 9) >> 6);
}

/* Returns the length of the longest rule that begins at p; *ret_at is where its text is. Places outside
 * of the array end the search. */
static size_t longest_rule(const struct cw_sp_model *model, const uint8_t *p, size_t n,
                           size_t *ret_at)
{
    size_t longest = 0;
    if (model->darts_n == 0)
        return 0;
    uint32_t at = offset(model->darts[0]);
    for (size_t i = 0; i < n; i++) {
        at ^= p[i];
        if (at >= model->darts_n || label(model->darts[at]) != p[i])
            break;
        const uint32_t unit = model->darts[at];
        at ^= offset(unit);
        if (has_leaf(unit) && at < model->darts_n) {
            longest = i + 1;
            *ret_at = model->darts[at] & INT32_MAX;
        }
    }
    return longest;
}

struct prefix {
    const char *text; /* what it becomes */
    size_t n, taken;  /* bytes of that, and of the input */
};

static int normalize_prefix(const struct cw_sp_model *model, const uint8_t *p, size_t n,
                            struct prefix *ret_prefix, struct cw_err *err)
{
    int32_t id;
    size_t at = 0;
    size_t taken = model->user_n ? cw_trie_longest(&model->user, p, n, &id) : 0;
    const bool is_user = taken > 0;
    if (!is_user)
        taken = longest_rule(model, p, n, &at);
    if (!is_user && taken > 0) {
        if (at >= model->replacements_n)
            return cw_err_set(err, CW_E_CORRUPT, "the table of the model's normaliser is broken");
        const char *text = model->replacements + at;
        *ret_prefix = (struct prefix){text, strlen(text), taken};
        return 0;
    }
    if (!is_user && cw_char_decode(p, n, &taken) < 0) {
        *ret_prefix = (struct prefix){replacement_sign, 3, 1};
        return 0;
    }
    *ret_prefix = (struct prefix){(const char *)p, taken, taken};
    return 0;
}

void cw_sp_find_plain(struct cw_sp_model *model)
{
    for (unsigned a = 0; a < 128; a++) {
        bool plain = true;
        for (unsigned b = 0; plain && b < 128; b++) {
            const uint8_t both[2] = {(uint8_t)a, (uint8_t)b};
            struct prefix prefix = {0};
            plain = normalize_prefix(model, both, 2, &prefix, NULL) == 0 && prefix.taken == 1 &&
                    prefix.n == 1 && (uint8_t)prefix.text[0] == a;
        }
        const uint8_t alone = (uint8_t)a;
        plain = plain && (model->user_n == 0 ||
                          cw_trie_step(&model->user, CW_TRIE_ROOT, alone) == CW_TRIE_NONE);
        model->is_plain[a] = plain && a != ' ';
        if (a == ' ')
            model->is_space_plain = plain;
    }
}

/* ---- texts ---- */

static void add_space(const struct cw_sp_model *model, struct cw_str *out)
{
    const size_t n = model->escape_whitespaces ? 3 : 1;
    memcpy(out->s + out->len, model->escape_whitespaces ? space_sign : " ", n);
    out->len += n;
}

static int add_prefix(const struct cw_sp_model *model, struct cw_str *out, const char *p, size_t n,
                      struct cw_err *err)
{
    int rc = cw_text_room(out, 3 * n + 8, err);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        if (p[i] == ' ')
            add_space(model, out);
        else
            out->s[out->len++] = p[i];
    }
    return rc;
}

/* The bytes from p that stay as they are: each is plain, and an ASCII character follows. */
static size_t plain_run(const struct cw_sp_model *model, const uint8_t *p, size_t n)
{
    size_t i = 0;
    while (i < n && p[i] < 128 && model->is_plain[p[i]])
        i++;
    return i == n || p[i] < 128 || i == 0 ? i : i - 1;
}

/* Whether a space begins here that no rule takes, as is_plain is meant. */
static bool is_plain_space(const struct cw_sp_model *model, const uint8_t *p, size_t n)
{
    return p[0] == ' ' && model->is_space_plain && (n == 1 || p[1] < 128);
}

static int skip_spaces(const struct cw_sp_model *model, const uint8_t *p, size_t n, size_t *at,
                       struct cw_err *err)
{
    struct prefix prefix;
    int rc = 0;
    while (*at < n && (rc = normalize_prefix(model, p + *at, n - *at, &prefix, err)) == 0 &&
           prefix.n == 1 && prefix.text[0] == ' ')
        *at += prefix.taken;
    return rc;
}

static void strip_spaces(const struct cw_sp_model *model, struct cw_str *out)
{
    const size_t n = model->escape_whitespaces ? 3 : 1;
    const char *sign = model->escape_whitespaces ? space_sign : " ";
    while (out->len >= n && memcmp(out->s + out->len - n, sign, n) == 0)
        out->len -= n;
}

static int add_plain(struct cw_str *out, const uint8_t *p, size_t n, struct cw_err *err)
{
    int rc = cw_text_room(out, n + 8, err);
    if (rc < 0)
        return rc;
    memcpy(out->s + out->len, p, n);
    out->len += n;
    return 0;
}

/* Adds what a part of the input becomes, without spaces at its beginning if one stands before. */
static int add_rule(const struct cw_sp_model *model, struct cw_str *out, struct prefix prefix,
                    bool *after_space, struct cw_err *err)
{
    while (*after_space && prefix.n > 0 && prefix.text[0] == ' ') {
        prefix.text++;
        prefix.n--;
    }
    if (prefix.n == 0)
        return 0;
    *after_space = model->remove_extra_whitespaces && prefix.text[prefix.n - 1] == ' ';
    return add_prefix(model, out, prefix.text, prefix.n, err);
}

static int add_text(const struct cw_sp_model *model, struct cw_str *out, const uint8_t *p, size_t n,
                    struct cw_err *err)
{
    bool after_space = model->remove_extra_whitespaces;
    int rc = 0;
    for (size_t at = 0; rc == 0 && at < n;) {
        struct prefix prefix = {" ", 1, 1};
        const size_t run = plain_run(model, p + at, n - at);
        if (run > 0) {
            rc = add_plain(out, p + at, run, err);
            at += run;
            after_space = false;
            continue;
        }
        if (!is_plain_space(model, p + at, n - at))
            rc = normalize_prefix(model, p + at, n - at, &prefix, err);
        if (rc == 0)
            rc = add_rule(model, out, prefix, &after_space, err);
        at += prefix.taken;
    }
    return rc;
}

int cw_sp_normalize(const struct cw_sp_model *model, struct cw_sp_thread *thread, const uint8_t *p,
                    size_t n, struct cw_err *err)
{
    struct cw_str *out = &thread->normal;
    size_t at = 0;
    out->len = 0;
    int rc = model->remove_extra_whitespaces ? skip_spaces(model, p, n, &at, err) : 0;
    if (rc < 0 || at == n)
        return rc;
    rc = cw_text_room(out, n + n / 2 + 16, err);
    if (rc == 0 && !model->whitespace_as_suffix && model->add_dummy_prefix)
        add_space(model, out);
    if (rc == 0)
        rc = add_text(model, out, p + at, n - at, err);
    if (rc == 0 && model->remove_extra_whitespaces)
        strip_spaces(model, out);
    if (rc == 0 && model->whitespace_as_suffix && model->add_dummy_prefix)
        rc = cw_text_room(out, 8, err);
    if (rc == 0 && model->whitespace_as_suffix && model->add_dummy_prefix)
        add_space(model, out);
    return rc;
}
