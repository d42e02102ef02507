/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/text/token_ids.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"

#define NAMED_MAX 64 /* so many added tokens are looked at for what was meant */

static int read_lines(const char *p, size_t n, struct cw_value *ret_file, struct cw_err *err)
{
    size_t lines = 0;
    if (memchr(p, '\0', n))
        return cw_err_set(err, CW_E_CORRUPT, "it is neither JSON nor lines of text");
    for (size_t at = 0; at < n; at++)
        lines += p[at] == '\n' || at + 1 == n;
    struct cw_value *items = cw_value_set_list(ret_file, lines);
    for (size_t i = 0; i < lines; i++) {
        const size_t all = strcspn(p, "\n");
        size_t line_n = all;
        while (line_n > 0 && (p[line_n - 1] == '\r' || p[line_n - 1] == ' '))
            line_n--;
        cw_autofree char *line = cw_mem_strndup(p, line_n);
        cw_value_set_str(&items[i], line);
        p += all + 1;
    }
    return 0;
}

int cw_token_ids_read(const char *bytes, size_t n, struct cw_value *ret_file, struct cw_err *err)
{
    if (bytes[strspn(bytes, " \t\r\n")] != '{')
        return read_lines(bytes, n, ret_file, err);
    return cw_value_parse(bytes, n, "the file", ret_file, err);
}

static bool is_text(const struct cw_value *value, const char *text)
{
    return value && value->type == CW_VALUE_STR && strcmp(value->s, text) == 0;
}

static const struct cw_value *member(const struct cw_value *object, const char *key)
{
    return object && object->type == CW_VALUE_OBJECT ? cw_value_get(object, key) : NULL;
}

/* Returns the id, -1 if there is none. */
static int64_t id_of(const struct cw_value *value)
{
    return value && value->type == CW_VALUE_I64 && value->i >= 0 && value->i <= INT32_MAX ? value->i
                                                                                          : -1;
}

static int64_t find_added(const struct cw_value *added, const char *text)
{
    for (size_t i = 0; added && added->type == CW_VALUE_LIST && i < added->n; i++)
        if (is_text(member(&added->items[i], "content"), text))
            return id_of(member(&added->items[i], "id"));
    return -1;
}

/* {text: id}, [text], or [[text, score]] as unigram models have it */
static int64_t find_in(const struct cw_value *vocab, const char *text)
{
    if (!vocab || vocab->type != CW_VALUE_LIST)
        return id_of(member(vocab, text));
    for (size_t i = 0; i < vocab->n; i++) {
        const struct cw_value *item = &vocab->items[i];
        if (is_text(item->type == CW_VALUE_LIST && item->n > 0 ? &item->items[0] : item, text))
            return (int64_t)i;
    }
    return -1;
}

static int refuse(const struct cw_value *added, const char *text, struct cw_err *err)
{
    const char *names[NAMED_MAX + 1] = {NULL};
    CW_STR_AUTO near = {0};
    size_t n = 0;
    for (size_t i = 0; added && added->type == CW_VALUE_LIST && i < added->n && n < NAMED_MAX;
         i++) {
        const struct cw_value *content = member(&added->items[i], "content");
        if (content && content->type == CW_VALUE_STR)
            names[n++] = content->s;
    }
    cw_str_suggest(text, names, &near);
    return cw_err_set(err, CW_E_NOT_FOUND, "the tokenizer has no token \"%.80s\"%s", text,
                      cw_str_text(&near));
}

int cw_token_id(const struct cw_value *file, const char *text, int32_t *ret_id, struct cw_err *err)
{
    const struct cw_value *added = member(file, "added_tokens"), *model = member(file, "model");
    int64_t id = find_added(added, text);
    if (id < 0)
        id = find_in(model && model->type == CW_VALUE_OBJECT ? member(model, "vocab") : file, text);
    if (id < 0)
        return refuse(added, text, err);
    *ret_id = (int32_t)id;
    return 0;
}
