/* SPDX-License-Identifier: Apache-2.0 */
#include "client/tool/view/check_notes.h"

#include <string.h>

#include "base/str.h"
#include "io/brace.h"

struct notes {
    const struct cw_checked *checked;
    tool_check_note_fn *fn;
    void *arg;
    size_t at; /* the node that is looked at */
};

static const struct cw_node *node_at(const struct notes *notes, size_t i)
{
    return &notes->checked->graph->nodes[i];
}
static void note(const struct notes *notes, const char *text)
{
    notes->fn(notes->arg, node_at(notes, notes->at)->name, text);
}

/* Returns the node whose elements come in, behind nodes that only choose and order them. */
static size_t origin_of(const struct notes *notes, size_t i)
{
    const struct cw_checked_node *nodes = notes->checked->nodes;
    i = nodes[i].inputs[0];
    while (nodes[i].op->kind == CW_OP_INDEX && nodes[i].inputs_n == 1)
        i = nodes[i].inputs[0];
    return i;
}

static void decodes_a_path(const struct notes *notes)
{
    const struct cw_checked_node *checked = &notes->checked->nodes[notes->at];
    if (strcmp(checked->op->name, "decode_image") == 0 &&
        strcmp(notes->checked->nodes[origin_of(notes, notes->at)].op->name, "files") == 0)
        note(notes, "it is given paths, and not the bytes of files: put read_file before it");
}

/* Whether the operator fills up the field that comes in as number f. */
static bool is_filled_up(const struct cw_checked_node *checked, const struct cw_spec *in, size_t f)
{
    struct cw_pad pad;
    return checked->op->group_pad && checked->op->group_pad(checked->opts, in, f, &pad);
}

static bool has_option(const struct cw_op *op, const char *name)
{
    for (const struct cw_opt *row = op->options; row && row->name; row++)
        if (strcmp(row->name, name) == 0)
            return true;
    return false;
}

static void batches_what_differs(const struct notes *notes)
{
    const struct cw_checked_node *checked = &notes->checked->nodes[notes->at];
    if (!checked->op->group_size || checked->inputs_n == 0)
        return;
    const struct cw_spec *in = &notes->checked->nodes[checked->inputs[0]].out;
    for (size_t i = 0; i < in->n; i++) {
        const struct cw_field *field = &in->fields[i];
        CW_STR_AUTO text = {0};
        if (field->dtype == CW_DTYPE_STR || cw_field_is_fixed(field) ||
            cw_field_is_ragged(&checked->out.fields[i]) || is_filled_up(checked, in, i))
            continue;
        CW_STR_AUTO spec = {0};
        cw_field_print(field, &spec);
        cw_str_addf(&text,
                    "all elements of a batch must have one shape, and what comes in is %s: unless "
                    "your data are alike, put resize or a crop before it, or %s",
                    cw_str_text(&spec),
                    has_option(checked->op, "ragged") ? "say `ragged`" : "use padded_batch");
        note(notes, cw_str_text(&text));
    }
}

static void leaves_out_a_rest(const struct notes *notes)
{
    const struct cw_node *node = node_at(notes, notes->at);
    const struct cw_checked_node *checked = &notes->checked->nodes[notes->at];
    const struct cw_value *drop = cw_value_get(&node->options, "drop_remainder"),
                          *size = cw_value_get(&node->options, "size");
    CW_STR_AUTO text = {0};
    if (!drop || drop->type != CW_VALUE_BOOL || !drop->b || !size || size->i <= 1)
        return;
    const bool sparse = checked->inputs_n > 0 && notes->checked->nodes[checked->inputs[0]].sparse;
    const bool inside = cw_op_is_inside(checked->op, checked->opts, sparse);
    cw_str_addf(&text,
                "drop_remainder leaves out up to %lld elements of each %s, and all of %s that has "
                "fewer than %lld",
                (long long)size->i - 1, inside ? "item" : "epoch", inside ? "one" : "a data set",
                (long long)size->i);
    note(notes, cw_str_text(&text));
}

static void names_files_from_here(const struct notes *notes)
{
    const struct cw_node *node = node_at(notes, notes->at);
    const struct cw_value *pattern = cw_value_get(&node->options, "pattern");
    if (notes->checked->nodes[notes->at].op->kind != CW_OP_SOURCE || !pattern ||
        pattern->type != CW_VALUE_STR || pattern->s[0] == '/' || strstr(pattern->s, "://"))
        return;
    if (pattern->s[0] == '~' || pattern->s[0] == '$')
        note(notes, "the pattern is taken as it stands: ~ and variables are for shells; write the "
                    "whole path");
    else
        note(notes, "the pattern does not begin with /: each worker looks in the directory that "
                    "it was started in");
}

static void has_braces(const struct notes *notes)
{
    const struct cw_value *pattern = cw_value_get(&node_at(notes, notes->at)->options, "pattern");
    const char *brace = pattern && pattern->type == CW_VALUE_STR ? strchr(pattern->s, '{') : NULL;
    struct cw_paths texts = {0};
    if (!brace || !strchr(brace, '}') || strstr(pattern->s, "\\{"))
        return;
    if (cw_brace_expand(pattern->s, &texts, NULL) == 0 && strcmp(texts.v[0], pattern->s) == 0)
        note(notes, "the braces in the pattern are neither {a,b} nor {0..9} and stand for "
                    "themselves");
    cw_paths_fini(&texts);
}

/* ---- what is read and not used ---- */

/* How the elements of a source are mixed behind it. */
struct mix {
    int64_t window; /* so many at a time; 0: all, or some blocks */
    bool blocks;    /* whole blocks of the source are */
};

/* Returns false if they come in the order of the source, or it is not known. */
static bool is_mixed(const struct notes *notes, struct mix *ret_mix)
{
    const struct cw_checked_node *nodes = notes->checked->nodes;
    size_t from = notes->at;
    for (size_t i = from + 1; i < notes->checked->graph->n; i++) {
        if (nodes[i].inputs_n != 1 || nodes[i].inputs[0] != from)
            continue;
        const struct cw_value *window = cw_value_get(&node_at(notes, i)->options, "window");
        ret_mix->window = window && window->type == CW_VALUE_I64 ? window->i : 0;
        ret_mix->blocks = nodes[i].op->by_blocks && nodes[i].op->by_blocks(nodes[i].opts);
        if (nodes[i].op->traits & CW_OP_PERMUTES)
            return true;
        from = i;
    }
    return false;
}

/* A window of a shuffle takes its elements from this many places, or has so many blocks unless it says
 * otherwise (ops/index/op_shuffle.c). */
#define PLACES_OF_WINDOW 16

/* How many bytes are made for each that is used, if `needed` of them would have to stay in memory so that
 * `once` are. */
static double times_for(const struct cw_op_reads *reads, double once, double needed)
{
    const double missed = needed > reads->memory ? 1 - reads->memory / needed : 0;
    return CW_MAX(once, missed * reads->together / reads->element);
}

/* Of a window that takes its elements from some places. */
static double times_of_window(const struct cw_op_reads *reads, double window, double *ret_needed)
{
    const double of_block = reads->together / reads->element;
    *ret_needed = (window / of_block + PLACES_OF_WINDOW) * reads->together;
    return times_for(reads, CW_MIN(1 + PLACES_OF_WINDOW * of_block / window, of_block),
                     *ret_needed);
}

/* Of one that has whole blocks. While one ends, the next begins. */
static double times_of_blocks(const struct cw_op_reads *reads, double window, double *ret_needed)
{
    const double of_block = reads->block / reads->element;
    const double blocks = window > 0 ? window / of_block + 1 : PLACES_OF_WINDOW;
    *ret_needed = 2 * blocks * reads->block;
    return times_for(reads, 1, *ret_needed);
}

static double times_of(const struct cw_op_reads *reads, const struct mix *mix, double *ret_needed)
{
    if (mix->blocks)
        return times_of_blocks(reads, (double)mix->window, ret_needed);
    if (mix->window > 0)
        return times_of_window(reads, (double)mix->window, ret_needed);
    return reads->together / reads->element;
}

/* What helps. */
static void add_advice(const struct cw_op_reads *reads, double needed, struct cw_str *out)
{
    const double by_blocks = 2 * PLACES_OF_WINDOW * reads->block;
    CW_STR_AUTO needs = {0};
    CW_STR_AUTO memory = {0};
    CW_STR_AUTO block = {0};
    cw_str_add_size(&needs, needed > reads->memory ? needed : by_blocks);
    cw_str_add_size(&memory, reads->memory);
    cw_str_add_size(&block, reads->block);
    if (needed > reads->memory)
        cw_str_addf(out, "a window of the shuffle needs %s of what is %s, and %s allows %s",
                    cw_str_text(&needs), reads->what, reads->option, cw_str_text(&memory));
    else if (by_blocks <= reads->memory)
        cw_str_addf(out,
                    "a shuffle with `blocks` makes that about 1, with %s of what is %s in memory "
                    "(%s, %s of --budget)",
                    cw_str_text(&needs), reads->what, reads->option, reads->share);
    else
        cw_str_addf(
            out,
            "a shuffle with `blocks` and a `window` of %.0f or less makes that about 1: a block of "
            "the source has %s, and %s allows %s",
            CW_MAX((reads->memory / 2 / reads->block - 1) * reads->block / reads->element, 1),
            cw_str_text(&block), reads->option, cw_str_text(&memory));
}

static void reads_what_is_not_used(const struct notes *notes)
{
    const struct cw_checked_node *checked = &notes->checked->nodes[notes->at];
    struct cw_op_reads reads;
    struct mix mix = {0};
    double needed = 0;
    CW_STR_AUTO text = {0};
    if (!checked->op->reads || !is_mixed(notes, &mix) ||
        checked->op->reads(checked->opts, &reads, NULL) < 0)
        return;
    const double times = times_of(&reads, &mix, &needed);
    if (times < 2.05)
        return;
    cw_str_addf(
        &text,
        "its elements are mixed, and each is %s with %.0f neighbours: for each byte that is "
        "used %.0f are %s, and %.1f read of the files, unless all of them fit into memory; ",
        reads.what, reads.together / reads.element, times, reads.what,
        times * reads.stored / reads.together);
    add_advice(&reads, needed, &text);
    note(notes, cw_str_text(&text));
}

static void does_what_is_not_shown(const struct notes *notes)
{
    const struct cw_checked_node *checked = &notes->checked->nodes[notes->at];
    CW_STR_AUTO text = {0};
    if (checked->op->remark)
        checked->op->remark(checked->opts, &text);
    if (text.len > 0)
        note(notes, cw_str_text(&text));
}

void tool_check_notes(const struct cw_checked *checked, tool_check_note_fn *fn, void *arg)
{
    struct notes notes = {checked, fn, arg, 0};
    for (; notes.at < checked->graph->n; notes.at++) {
        if (checked->nodes[notes.at].inputs_n > 0)
            decodes_a_path(&notes);
        batches_what_differs(&notes);
        leaves_out_a_rest(&notes);
        names_files_from_here(&notes);
        has_braces(&notes);
        reads_what_is_not_used(&notes);
        does_what_is_not_shown(&notes);
    }
}
