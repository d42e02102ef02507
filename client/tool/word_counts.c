/* SPDX-License-Identifier: Apache-2.0 */
#include "client/tool/word_counts.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct word {
    const char *text;
    uint64_t n;
};

void tool_word_counts_fini(struct tool_word_counts *counts)
{
    const char *key;
    void *value;
    for (size_t i = 0; cw_strmap_next(&counts->map, &i, &key, &value);)
        cw_mem_free(value);
    cw_strmap_fini(&counts->map);
    cw_str_fini(&counts->text);
}

void tool_word_counts_add(struct tool_word_counts *counts, const void *word, size_t n)
{
    if (n > 0 && memchr(word, 0, n)) {
        counts->others++;
        return;
    }
    cw_str_clear(&counts->text);
    cw_str_addf(&counts->text, "%.*s", (int)CW_MIN(n, (size_t)INT32_MAX), (const char *)word);
    uint64_t *count = cw_strmap_get(&counts->map, cw_str_text(&counts->text));
    if (!count && counts->map.n >= TOOL_WORDS_MAX) {
        counts->others++;
        return;
    }
    if (!count) {
        count = CW_NEW(uint64_t);
        cw_strmap_set(&counts->map, cw_str_text(&counts->text), count);
    }
    ++*count;
    counts->n++;
}

static int compare(const void *a_arg, const void *b_arg)
{
    const struct word *a = a_arg, *b = b_arg;
    if (a->n != b->n)
        return a->n < b->n ? 1 : -1;
    return strcmp(a->text, b->text);
}

void tool_word_counts_print(const struct tool_word_counts *counts, size_t most,
                            struct cw_value *object)
{
    struct word *words = CW_NEW_ARRAY(struct word, counts->map.n + 1);
    size_t n = 0;
    void *value;
    for (size_t i = 0; cw_strmap_next(&counts->map, &i, &words[n].text, &value); n++)
        words[n].n = *(const uint64_t *)value;
    qsort(words, n, sizeof(*words), compare);
    const size_t shown = CW_MIN(n, most);
    cw_value_set_i64(cw_value_member(object, "count"), (int64_t)counts->n);
    cw_value_set_i64(cw_value_member(object, "others"), (int64_t)counts->others);
    cw_value_set_i64(cw_value_member(object, "distinct"), (int64_t)n);
    struct cw_value *texts = cw_value_set_list(cw_value_member(object, "vocabulary"), shown);
    struct cw_value *times = cw_value_set_list(cw_value_member(object, "counts"), shown);
    for (size_t i = 0; i < shown; i++) {
        cw_value_set_str(&texts[i], words[i].text);
        cw_value_set_i64(&times[i], (int64_t)words[i].n);
    }
    cw_mem_free(words);
}
