/* SPDX-License-Identifier: Apache-2.0 */
/* Finds operators by name, in the list of op_list.h. */
#include "ops/op.h"

#include "base/str.h"
#include "ops/foreign.h"
#include "ops/op_lookup.h"

#include <string.h>

#define CW_OP(name) extern const struct cw_op cw_op_##name;
#include "ops/op_list.h"
#undef CW_OP

static const struct cw_op *const all[] = {
#define CW_OP(name) &cw_op_##name,
#include "ops/op_list.h"
#undef CW_OP
};

static const char *const names[] = {
#define CW_OP(name) #name,
#include "ops/op_list.h"
#undef CW_OP
    NULL};

const struct cw_op *cw_op_find(const char *name)
{
    size_t lo = 0, hi = CW_ARRAY_LEN(all);
    cw_op_lookup_set(cw_op_find); /* for operators whose options name operators */
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int order = strcmp(name, all[mid]->name);
        if (order == 0)
            return all[mid];
        if (order < 0)
            hi = mid;
        else
            lo = mid + 1;
    }
    return strchr(name, '.') ? cw_foreign_find(name) : NULL;
}

const struct cw_op *cw_op_find_for(const char *name, const struct cw_value *options)
{
    const struct cw_value *plugin = NULL, *its_name = NULL;
    const struct cw_foreign *found = NULL;
    if (strchr(name, '.') && options->type == CW_VALUE_OBJECT)
        plugin = cw_value_get(options, "plugin");
    if (!plugin)
        return cw_op_find(name);
    its_name = plugin->type == CW_VALUE_OBJECT ? cw_value_get(plugin, "name") : NULL;
    const struct cw_foreign_new how = {.definition = plugin};
    if (!its_name || its_name->type != CW_VALUE_STR || strcmp(its_name->s, name) != 0 ||
        cw_foreign_add(&how, &found, NULL) < 0)
        return NULL;
    return &found->op;
}

const struct cw_op *const *cw_op_all(size_t *ret_n)
{
    *ret_n = CW_ARRAY_LEN(all);
    return all;
}

/* What other libraries call what operators do, where spelling alone finds nothing or another one. */
static const struct {
    const char *other, *op;
} elsewhere[] = {
    {"collate", "batch"},
    {"concat", "concatenate"},
    {"crop", "random_crop"},
    {"csv_dataset", "csv"},
    {"decode_bmp", "decode_image"},
    {"decode_flac", "decode_audio"},
    {"decode_gif", "decode_image"},
    {"decode_jpeg", "decode_image"},
    {"decode_jpg", "decode_image"},
    {"decode_mp3", "decode_audio"},
    {"decode_png", "decode_image"},
    {"decode_wav", "decode_audio"},
    {"decode_webp", "decode_image"},
    {"drop_columns", "drop"},
    {"flip", "random_flip"},
    {"horizontal_flip", "random_flip"},
    {"json", "jsonl"},
    {"list_files", "files"},
    {"map", "eval"},
    {"parse_single_example", "parse_example"},
    {"random_horizontal_flip", "random_flip"},
    {"random_shuffle", "shuffle"},
    {"random_vertical_flip", "random_flip"},
    {"read_csv", "csv"},
    {"read_json", "jsonl"},
    {"read_parquet", "parquet"},
    {"select_columns", "select"},
    {"sentence_piece", "sentencepiece"},
    {"tokenize", "bpe"},
    {"tokenizer", "bpe"},
    {"where", "filter"},
};

const char *cw_op_nearest(const char *name)
{
    for (size_t i = 0; i < CW_ARRAY_LEN(elsewhere); i++)
        if (strcmp(name, elsewhere[i].other) == 0)
            return elsewhere[i].op;
    const char *near = cw_str_nearest(name, names);
    return near ? near : cw_foreign_nearest(name);
}
