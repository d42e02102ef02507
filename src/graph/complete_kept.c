/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps options that files have said, as JSON text. */
#include "graph/complete_kept.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "format/kept_index.h"
#include "ops/source/file_set.h"

/* A file that changed less than this time ago might change again without a new mark. */
#define SETTLE_MS 2000

static bool is_settled(const struct cw_io_info *info)
{
    return info->is_object ? info->version[0] != '\0'
                           : cw_clock_wall_ms() - info->mtime_ns / 1000000 >= SETTLE_MS;
}

/* The option `pattern`, which sources of files have. */
static int first_file(const struct cw_value *options, const struct cw_op_open *how, char **ret_path)
{
    const struct cw_value *pattern = cw_value_get(options, "pattern");
    if (!pattern || (pattern->type != CW_VALUE_STR && pattern->type != CW_VALUE_LIST))
        return CW_E_NOT_FOUND;
    const struct cw_value *items = pattern->type == CW_VALUE_LIST ? pattern->items : pattern;
    const size_t n = pattern->type == CW_VALUE_LIST ? pattern->n : 1;
    struct cw_str_list list = {.v = CW_NEW_ARRAY(char *, n), .n = n};
    for (size_t i = 0; i < n; i++)
        list.v[i] = items[i].s;
    int rc = cw_file_first(&list, how, ret_path, NULL);
    cw_mem_free(list.v);
    return rc;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void add_wanted(const struct cw_op_names *wanted, struct cw_str *out)
{
    const char *name;
    void *value;
    size_t n = 0;
    cw_autofree const char **names = CW_NEW_ARRAY(const char *, wanted->reads.n + 1);
    for (size_t i = 0; cw_strmap_next(&wanted->reads, &i, &name, &value);)
        names[n++] = name;
    qsort(names, n, sizeof(*names), compare);
    cw_str_addf(out, "wanted%s", wanted->ends ? " alone" : "");
    for (size_t i = 0; i < n; i++)
        cw_str_addf(out, "\n%s", names[i]);
}

void cw_complete_key(const struct cw_op *op, const void *opts, const struct cw_value *options,
                     const struct cw_op_open *how, struct cw_str *out)
{
    cw_autofree char *path = NULL;
    struct cw_io_info info = {0};
    if (!(op->traits & CW_OP_FILES) || !cw_index_keeper_is_set() ||
        first_file(options, how, &path) < 0 || cw_io_stat(path, how->stop, &info, NULL) < 0 ||
        !is_settled(&info))
        return;
    cw_str_addf(out, "spec %s %u\n%s\n%lld %lld\n", op->name, op->version, path,
                (long long)info.size, (long long)cw_io_mark(&info));
    cw_opt_canon(op->options, opts, out);
    cw_str_add_char(out, '\n');
    if (how->wanted)
        add_wanted(how->wanted, out);
}

bool cw_complete_find(const char *key, struct cw_value *said)
{
    struct cw_kept_index kept;
    struct cw_value value = {0};
    if (!cw_index_keeper_find(key, CW_KEPT_INDEX_SMALL, &kept))
        return false;
    bool found = cw_value_parse((const char *)kept.bytes, kept.n, "kept", &value, NULL) == 0 &&
                 value.type == CW_VALUE_OBJECT;
    for (size_t i = 0; found && i < value.n; i++) {
        struct cw_value *member = cw_value_member(said, value.keys[i]);
        cw_value_copy(member, &value.items[i]);
    }
    cw_value_fini(&value);
    cw_kept_index_fini(&kept);
    return found;
}

void cw_complete_keep(const char *key, const struct cw_value *before, const struct cw_value *said)
{
    struct cw_value added = {0};
    CW_STR_AUTO text = {0};
    cw_value_set_object(&added);
    for (size_t i = 0; i < said->n; i++) {
        const struct cw_value *old =
            before->type == CW_VALUE_OBJECT ? cw_value_get(before, said->keys[i]) : NULL;
        if (!old || !cw_value_eq(old, &said->items[i]))
            cw_value_copy(cw_value_member(&added, said->keys[i]), &said->items[i]);
    }
    cw_value_print(&added, &text);
    cw_index_keeper_put(key, 0, cw_str_text(&text), text.len);
    cw_value_fini(&added);
}
