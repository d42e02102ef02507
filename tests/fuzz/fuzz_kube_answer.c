/* SPDX-License-Identifier: Apache-2.0 */
/* What a server answers: a Status, and lines of a watch, whose splitting may not matter. The first
 * byte says where the bytes are split. */
#include <string.h>

#include "base/mem.h"
#include "kube/cut_lists.h"
#include "kube/kube_status.h"
#include "kube/watch_lines.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static int keep(void *arg, const char *line, size_t n, struct cw_err *err)
{
    (void)err;
    CW_ASSERT(n > 0 && !memchr(line, '\n', n));
    cw_str_add_bytes(arg, line, n);
    cw_str_add_char(arg, '\n');
    return CW_OK;
}

static int split(const char *bytes, size_t n, size_t step, struct cw_str *out)
{
    struct cw_kube_lines lines = {.max = 64};
    int rc = CW_OK;
    for (size_t i = 0; i < n && rc == CW_OK; i += step)
        rc = cw_kube_lines_add(&lines, bytes + i, CW_MIN(step, n - i), keep, out, NULL);
    cw_kube_lines_fini(&lines);
    return rc;
}

static bool is_cut(const char *name)
{
    return strcmp(name, "a") == 0 || strcmp(name, "managedFields") == 0;
}

/* Empties the lists that are cut, as the parsed value shows them. Depth is limited by the parser. */
static void empty_lists(struct cw_value *value)
{
    for (size_t i = 0; i < value->n; i++) {
        if (value->type == CW_VALUE_OBJECT && value->items[i].type == CW_VALUE_LIST &&
            is_cut(value->keys[i])) {
            cw_value_fini(&value->items[i]);
            cw_value_set_list(&value->items[i], 0);
        }
        empty_lists(&value->items[i]);
    }
}

/* Returns false if it is no JSON. */
static bool print_emptied(const char *text, size_t n, struct cw_str *out)
{
    struct cw_value value = {0};
    if (cw_value_parse(text, n, NULL, &value, NULL) != CW_OK)
        return false;
    empty_lists(&value);
    cw_value_print(&value, out);
    cw_value_fini(&value);
    return true;
}

/* What is JSON is the same JSON without some of its lists. Those whose names are written otherwise, with
 * a blank or an escape, may stay. */
static void check_cut(const char *text, size_t n)
{
    CW_STR_AUTO cut = {0};
    CW_STR_AUTO before = {0};
    CW_STR_AUTO after = {0};
    static const char *const members[] = {CW_KUBE_LIST("a"), CW_KUBE_LIST("managedFields"), NULL};
    if (!cw_kube_cut_lists(text, n, members, &cut)) {
        CW_ASSERT(cut.len == 0);
        return;
    }
    CW_ASSERT(cut.len <= n);
    if (!print_emptied(text, n, &before))
        return;
    CW_ASSERT(print_emptied(cut.s, cut.len, &after));
    CW_ASSERT(strcmp(cw_str_text(&before), cw_str_text(&after)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    CW_STR_AUTO whole = {0};
    CW_STR_AUTO parts = {0};
    struct cw_kube_status status;
    if (n < 2)
        return 0;
    cw_kube_status_read((const char *)data + 1, n - 1, data[0] % 2 ? 500 : 0, NULL, &status);
    CW_ASSERT(status.reason != CW_KUBE_NONE && status.retry_after_ms >= 0);
    int rc = split((const char *)data + 1, n - 1, n, &whole);
    CW_ASSERT(split((const char *)data + 1, n - 1, (size_t)data[0] % 16 + 1, &parts) == rc);
    CW_ASSERT(strcmp(cw_str_text(&whole), cw_str_text(&parts)) == 0);
    check_cut((const char *)data + 1, n - 1);
    return 0;
}
