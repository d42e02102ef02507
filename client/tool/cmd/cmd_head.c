/* SPDX-License-Identifier: Apache-2.0 */
/* cachew head FILE|PATTERN: what the elements of a pipeline or of data are, how many there are, and the
 * first of them. */
#include <string.h>

#include "base/mem.h"
#include "client/tool/data_graph.h"
#include "client/tool/open_plan.h"
#include "client/tool/tool.h"
#include "client/tool/view/tensor_text.h"
#include "data/strings.h"
#include "exec/exec.h"
#include "ops/plugin.h"

#define VALUES_SHOWN 8
#define ITEMS_MAX 1000 /* so many are computed at most, if a filter leaves all out */

struct head {
    struct cw_plan *plan;
    uint64_t wanted, shown, bad;
    bool json;
};

/* Where string `row` of n lies in a tensor of strings. */
static void string_of(const unsigned char *data, size_t row, size_t n, struct cw_view *view)
{
    int64_t offsets[2];
    memcpy(offsets, data + row * sizeof(int64_t), sizeof(offsets));
    view->data = (void *)(uintptr_t)(data + (n + 1) * sizeof(int64_t) + offsets[0]);
    view->bytes = (size_t)(offsets[1] - offsets[0]);
}

static void print_view(const struct head *h, const struct cw_field *field, struct cw_view *view,
                       struct cw_str *out)
{
    view->rank = field->rank;
    memcpy(view->dims, field->dims, sizeof(view->dims));
    if (h->json) {
        cw_str_add(out, out->s[out->len - 1] == '[' ? "" : ",");
        tool_tensor_json(field, view, out);
    } else {
        cw_str_add(out, "  ");
        tool_tensor_print(field, view, VALUES_SHOWN, out);
        cw_str_add_char(out, '\n');
    }
}

/* The field without its first dimension. */
static struct cw_field row_field(const struct cw_field *field)
{
    struct cw_field row = *field;
    memmove(row.dims, row.dims + 1, sizeof(row.dims) - sizeof(row.dims[0]));
    row.rank--;
    return row;
}

/* Strings that are not ragged: all of an item, or those of a row of a sparse pipeline's item. */
static void print_strings(const struct head *h, const struct cw_tensor *t,
                          const unsigned char *data, size_t row, struct cw_str *out)
{
    const bool is_row = cw_plan_info(h->plan)->sparse && t->field.rank > 0;
    const struct cw_field field = is_row ? row_field(&t->field) : t->field;
    struct cw_view view = {.dtype = field.dtype};
    size_t n = 1;
    for (int i = 0; i < (int)field.rank; i++)
        n *= (size_t)field.dims[i];
    const size_t all = is_row ? n * (size_t)t->field.dims[0] : n;
    const size_t first = is_row ? row * n : 0;
    cw_autofree void *part = NULL;
    if (field.rank > 0) {
        view.bytes = cw_strings_part_bytes(data, (int64_t)first, (int64_t)n);
        view.data = part = cw_mem_new(view.bytes);
        cw_strings_part_copy(data, (int64_t)all, (int64_t)first, (int64_t)n, part);
    } else {
        string_of(data, first, all, &view);
    }
    print_view(h, &field, &view, out);
}

static void add_field(const struct head *h, const struct cw_batch *batch, size_t i, size_t row,
                      struct cw_str *out)
{
    const struct cw_tensor *t = &batch->tensors[i];
    const unsigned char *data = (const unsigned char *)batch->buf->data + t->offset;
    struct cw_field field = t->field;
    struct cw_view view = {
        .data = (void *)(uintptr_t)data, .bytes = t->bytes, .dtype = field.dtype};
    if (field.dtype == CW_DTYPE_STR && !cw_field_is_ragged(&field)) {
        print_strings(h, t, data, row, out);
        return;
    }
    /* Rows of an item of a sparse pipeline are stacked, if they have one shape. */
    if (cw_plan_info(h->plan)->sparse && field.rank > 0 && !cw_field_is_ragged(&field)) {
        view.bytes = t->bytes / (size_t)CW_MAX(field.dims[0], 1);
        view.data = (void *)(uintptr_t)(data + row * view.bytes);
        field = row_field(&t->field);
    }
    print_view(h, &field, &view, out);
}

static void print_element(struct head *h, const struct cw_batch *batch, size_t row)
{
    CW_STR_AUTO out = {0};
    if (h->json)
        cw_str_addf(&out, "{\"element\":%llu,\"fields\":[", (unsigned long long)h->shown);
    else
        cw_str_addf(&out, "%llu\n", (unsigned long long)h->shown);
    for (size_t i = 0; i < batch->n; i++)
        add_field(h, batch, i, row, &out);
    cw_str_add(&out, h->json ? "]}\n" : "");
    fputs(cw_str_text(&out), stdout);
    h->shown++;
}

static void bad_json(const struct head *h, const struct cw_bad_element *bad, struct cw_str *out)
{
    cw_str_addf(out,
                "{\"element\":%llu,\"bad\":{\"elements\":%llu,\"position\":%lld,\"record\":%lld",
                (unsigned long long)h->shown, (unsigned long long)bad->elements,
                (long long)bad->position, (long long)bad->record);
    cw_member_text(out, "file", bad->file);
    cw_member_text(out, "source", bad->source);
    cw_member_text(out, "node", bad->node);
    cw_member_text(out, "op", bad->op);
    cw_member_text(out, "reason", bad->reason);
    cw_str_add(out, "}}\n");
}

/* A bad element counts as shown. What the list has no room for is only counted. */
static void print_bad(struct head *h, const struct cw_batch *batch)
{
    h->bad += batch->skipped;
    for (size_t i = 0; i < cw_bad_list_n(batch->bad) && h->shown < h->wanted; i++, h->shown++) {
        const struct cw_bad_element *bad = cw_bad_list_at(batch->bad, i);
        CW_STR_AUTO out = {0};
        if (h->json)
            bad_json(h, bad, &out);
        else
            cw_str_addf(&out, "%llu\n  bad: %s: node \"%s\" (%s): %s", (unsigned long long)h->shown,
                        bad->source, bad->node, bad->op, bad->reason);
        for (size_t k = 0; !h->json && k < out.len; k++)
            if ((unsigned char)out.s[k] < 0x20 && out.s[k] != '\n')
                out.s[k] = ' ';
        cw_str_add(&out, h->json ? "" : "\n");
        fputs(cw_str_text(&out), stdout);
    }
}

static int print_elements(struct head *h, struct cw_err *err)
{
    const struct cw_plan_info *info = cw_plan_info(h->plan);
    int rc = 0;
    for (uint64_t item = 0; item < CW_MIN(info->items, (uint64_t)ITEMS_MAX); item++) {
        struct cw_batch *batch = NULL;
        if (h->shown >= h->wanted || tool_is_interrupted())
            return 0;
        rc = cw_exec_run(h->plan, 0, item, CW_BAD_SKIP, &batch, err);
        const size_t rows = rc < 0 || !batch->buf ? 0 : info->sparse ? batch->elements : 1;
        for (size_t row = 0; row < rows && h->shown < h->wanted; row++)
            print_element(h, batch, row);
        if (rc == 0)
            print_bad(h, batch);
        cw_batch_unref(batch);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* An item of a dense pipeline is what the last operator gives: an element, or a batch. */
static void print_spec(const struct head *h, const char *what)
{
    const struct cw_plan_info *info = cw_plan_info(h->plan);
    CW_STR_AUTO out = {0};
    if (h->json) {
        cw_str_add_char(&out, '{');
        cw_member_text(&out, "what", what);
        cw_str_add(&out, ",\"spec\":");
        tool_spec_json(&info->out, &out);
        cw_str_addf(&out, ",\"elements\":%lld}\n", (long long)info->elements);
    } else {
        cw_str_add(&out, "gives     ");
        cw_spec_print(&info->out, &out);
        if (info->elements >= 0)
            cw_str_addf(&out, "\nelements  %lld\n", (long long)info->elements);
        else
            cw_str_add(&out, "\nelements  as many as the data say\n");
    }
    fputs(cw_str_text(&out), stdout);
}

static int head_of(struct head *h, const char *what, struct cw_err *err)
{
    struct cw_graph *graph = NULL;
    int rc = tool_data_graph(what, &graph, err);
    if (rc == 0)
        rc = tool_open_plan(graph, NULL, &h->plan, err);
    cw_graph_unref(graph);
    if (rc < 0)
        return rc;
    print_spec(h, what);
    rc = print_elements(h, err);
    cw_plan_unref(h->plan);
    return rc;
}

int tool_cmd_head(int argc, char **argv)
{
    struct head h = {.wanted = 5};
    const struct cw_arg rows[] = {
        {"count", 'n', CW_ARG_U64, &h.wanted, "N", "how many elements are shown (default 5)", 0,
         1e9},
        TOOL_ROW_PLUGIN("load operators of one's own; may stand several times"),
        TOOL_ROW_JSON(&h.json, "print one JSON object for the whole, and one for each element"),
        {0},
    };
    const struct cw_args_spec spec = {
        .program = "cachew head",
        .usage = "FILE.json|PATTERN [options]",
        .about = "Prints what the elements of a pipeline are, how many there are, and the first of "
                 "them, in the order of epoch 0. Instead of a pipeline there may be a pattern of "
                 "data files, whose names say how they are read. A bad element is shown as bad, "
                 "with the reason, and makes the exit status 1. Everything runs here, without a "
                 "dispatcher.",
        .rows = rows,
        .tail = "examples:\n  cachew head '/data/*.parquet'\n  cachew head photos.json -n 2\n",
    };
    const char *words[1];
    struct cw_err err = {0};
    int code = 0;
    if (!tool_parse_words(&spec, argc, argv, "which file, or pattern?", words, 1, &code))
        return code;
    if (cw_plugin_load_all(tool_plugins.v, tool_plugins.n, &err) < 0)
        return tool_fail_err(&err);
    tool_catch_signals();
    if (head_of(&h, words[0], &err) < 0)
        return tool_fail_err(&err);
    if (tool_is_interrupted())
        return TOOL_INTERRUPTED;
    code = tool_flush_output();
    return code == TOOL_OK && h.bad > 0
               ? tool_fail("%llu of these elements %s bad", (unsigned long long)h.bad,
                           h.bad == 1 ? "is" : "are")
               : code;
}
