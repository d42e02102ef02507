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

/* What is JSON is JSON without some of its lists, too. */
static void check_cut(const char *text, size_t n)
{
    CW_STR_AUTO cut = {0};
    struct cw_value before = {0}, after = {0};
    static const char *const members[] = {CW_KUBE_LIST("a"), CW_KUBE_LIST("managedFields"), NULL};
    if (!cw_kube_cut_lists(text, n, members, &cut))
        return;
    if (cw_value_parse(text, n, NULL, &before, NULL) == CW_OK)
        CW_ASSERT(cw_value_parse(cut.s, cut.len, NULL, &after, NULL) == CW_OK);
    cw_value_fini(&before);
    cw_value_fini(&after);
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
