/* SPDX-License-Identifier: Apache-2.0 */
/* Reads tokenizer.json, the format of the tokenizers package, as far as it describes a byte-level BPE.
 * What it has besides and would change ids is refused by its name. */
#include <string.h>
#include <strings.h>

#include "ops/text/bpe_model.h"

static const char *type_of(const struct cw_value *value)
{
    const struct cw_value *type =
        value && value->type == CW_VALUE_OBJECT ? cw_value_get(value, "type") : NULL;
    return type && type->type == CW_VALUE_STR ? type->s : "";
}

static bool is_true(const struct cw_value *object, const char *key, bool def)
{
    const struct cw_value *value = cw_value_get(object, key);
    return value && value->type == CW_VALUE_BOOL ? value->b : def;
}

static bool is_set(const struct cw_value *object, const char *key)
{
    const struct cw_value *value = cw_value_get(object, key);
    return value && value->type != CW_VALUE_NULL &&
           !(value->type == CW_VALUE_STR && value->s[0] == '\0') &&
           !(value->type == CW_VALUE_F64 && value->f == 0) &&
           !(value->type == CW_VALUE_BOOL && !value->b);
}

static int refuse(struct cw_err *err, const char *what, const char *name)
{
    return cw_err_set(err, CW_E_UNSUPPORTED,
                      "%s \"%.80s\" is not supported: only byte-level BPE is", what, name);
}

/* ---- the model ---- */

static int read_merge(struct cw_bpe_model *model, const struct cw_value *merge, uint32_t rank,
                      struct cw_err *err)
{
    if (merge->type == CW_VALUE_LIST && merge->n == 2 && merge->items[0].type == CW_VALUE_STR &&
        merge->items[1].type == CW_VALUE_STR)
        return cw_bpe_set_merge(model, merge->items[0].s, strlen(merge->items[0].s),
                                merge->items[1].s, strlen(merge->items[1].s), rank, err);
    const char *space = merge->type == CW_VALUE_STR ? strchr(merge->s, ' ') : NULL;
    if (!space || strchr(space + 1, ' '))
        return cw_err_set(err, CW_E_CORRUPT, "merge %u is not two tokens", rank + 1);
    return cw_bpe_set_merge(model, merge->s, (size_t)(space - merge->s), space + 1,
                            strlen(space + 1), rank, err);
}

static int read_unk(struct cw_bpe_model *model, const struct cw_value *json, struct cw_err *err)
{
    const struct cw_value *unk = cw_value_get(json, "unk_token");
    if (!unk || unk->type != CW_VALUE_STR)
        return 0;
    model->bpe.unk = cw_vocab_find(&model->tokens, unk->s, strlen(unk->s));
    model->bpe.fuse_unk = is_true(json, "fuse_unk", false);
    return model->bpe.unk >= 0 ? 0
                               : cw_err_set(err, CW_E_CORRUPT,
                                            "unk_token \"%.80s\" is not in the vocabulary", unk->s);
}

static int read_model(struct cw_bpe_model *model, const struct cw_value *json, struct cw_err *err)
{
    static const char *const others[] = {"dropout", "continuing_subword_prefix",
                                         "end_of_word_suffix", "byte_fallback"};
    if (!json || json->type != CW_VALUE_OBJECT)
        return cw_err_set(err, CW_E_CORRUPT, "it has no member \"model\"");
    if (type_of(json)[0] && strcmp(type_of(json), "BPE") != 0)
        return refuse(err, "model", type_of(json));
    for (size_t i = 0; i < CW_ARRAY_LEN(others); i++)
        if (is_set(json, others[i]))
            return refuse(err, "model with", others[i]);
    const struct cw_value *vocab = cw_value_get(json, "vocab"),
                          *merges = cw_value_get(json, "merges");
    if (!vocab || !merges || merges->type != CW_VALUE_LIST)
        return cw_err_set(err, CW_E_CORRUPT, "its model has no vocab and merges");
    int rc = cw_bpe_set_vocab(model, vocab, err);
    for (size_t i = 0; rc == 0 && i < merges->n; i++)
        rc = read_merge(model, &merges->items[i], (uint32_t)i, err);
    model->bpe.whole_words = is_true(json, "ignore_merges", false);
    if (rc == 0)
        rc = read_unk(model, json, err);
    return rc == 0 ? cw_bpe_set_bytes(model, err) : rc;
}

/* ---- what comes before it ---- */

static int read_normalizer(struct cw_bpe_model *model, const struct cw_value *json,
                           struct cw_err *err)
{
    if (!json || json->type == CW_VALUE_NULL)
        return 0;
    const struct cw_value *list = cw_value_get(json, "normalizers");
    if (strcmp(type_of(json), "Sequence") == 0 && list && list->n == 0)
        return 0;
    if (strcmp(type_of(json), "Sequence") == 0 && list && list->n == 1)
        json = &list->items[0];
    for (int form = 0; form < CW_FORM_NONE; form++) {
        if (strcasecmp(type_of(json), cw_normal_form_names[form]) == 0) {
            model->form = (enum cw_normal_form)form;
            return 0;
        }
    }
    return refuse(err, "normalizer", type_of(json));
}

static int read_byte_level(struct cw_bpe_model *model, const struct cw_value *json,
                           struct cw_err *err)
{
    const bool prefix = is_true(json, "add_prefix_space", true);
    const bool regex = is_true(json, "use_regex", true);
    if (model->pattern && (regex || prefix))
        return refuse(err, "pre_tokenizer", "Split and ByteLevel with a regex or a prefix");
    if (!model->pattern)
        model->pattern = cw_mem_strdup(regex ? "gpt2" : "none");
    model->add_prefix_space = prefix;
    return 0;
}

/* Whether the words are the matches of the pattern and, for Isolated, what lies between them. Between
 * matches of a published pattern nothing lies, so removing that is the same. */
static bool is_usual_split(const struct cw_value *json, const char *pattern)
{
    const struct cw_value *behavior = cw_value_get(json, "behavior");
    const char *word = behavior && behavior->type == CW_VALUE_STR ? behavior->s : "";
    const bool inverted = is_true(json, "invert", false), published = cw_scan_published(pattern);
    if (strcmp(word, "Isolated") == 0)
        return !inverted || published;
    return strcmp(word, "Removed") == 0 && inverted && published;
}

static int read_split(struct cw_bpe_model *model, const struct cw_value *json, struct cw_err *err)
{
    const struct cw_value *pattern = cw_value_get(json, "pattern");
    const struct cw_value *regex =
        pattern && pattern->type == CW_VALUE_OBJECT ? cw_value_get(pattern, "Regex") : NULL;
    if (model->pattern || !regex || regex->type != CW_VALUE_STR)
        return refuse(err, "pre_tokenizer", "Split (other than by one Regex)");
    if (!is_usual_split(json, regex->s))
        return refuse(err, "pre_tokenizer", "Split with this behavior");
    model->pattern = cw_mem_strdup(regex->s);
    return 0;
}

static int read_pre_tokenizer(struct cw_bpe_model *model, const struct cw_value *json,
                              struct cw_err *err)
{
    const char *type = type_of(json);
    if (strcmp(type, "ByteLevel") == 0)
        return read_byte_level(model, json, err);
    const struct cw_value *list =
        json && json->type == CW_VALUE_OBJECT ? cw_value_get(json, "pretokenizers") : NULL;
    if (strcmp(type, "Sequence") != 0 || !list || list->type != CW_VALUE_LIST || list->n != 2 ||
        strcmp(type_of(&list->items[0]), "Split") != 0 ||
        strcmp(type_of(&list->items[1]), "ByteLevel") != 0)
        return refuse(err, "pre_tokenizer", type[0] ? type : "null");
    int rc = read_split(model, &list->items[0], err);
    return rc == 0 ? read_byte_level(model, &list->items[1], err) : rc;
}

/* ---- added tokens ---- */

static int read_added_token(struct cw_bpe_model *model, const struct cw_value *json, bool special,
                            struct cw_err *err)
{
    const bool is_object = json->type == CW_VALUE_OBJECT;
    const struct cw_value *content = is_object ? cw_value_get(json, "content") : NULL;
    const struct cw_value *id = is_object ? cw_value_get(json, "id") : NULL;
    if (!content || content->type != CW_VALUE_STR || !id || id->type != CW_VALUE_I64)
        return cw_err_set(err, CW_E_CORRUPT, "an added token has no content and id");
    if (id->i < 0 || id->i > INT32_MAX)
        return cw_err_set(err, CW_E_CORRUPT, "added token \"%.80s\" has no id in 0 to 2147483647",
                          content->s);
    if (is_true(json, "special", false) && !special)
        return 0;
    const struct cw_added_token token = {.id = (int32_t)id->i,
                                         .single_word = is_true(json, "single_word", false),
                                         .lstrip = is_true(json, "lstrip", false),
                                         .rstrip = is_true(json, "rstrip", false)};
    struct cw_added *added = is_true(json, "normalized", true) ? &model->normalized : &model->raw;
    CW_STR_AUTO text = {0};
    const uint8_t *bytes = (const uint8_t *)content->s;
    int rc = 0;
    if (added == &model->normalized && model->form != CW_FORM_NONE)
        rc = cw_normal_form(model->form, bytes, strlen(content->s), &text, err);
    else
        cw_str_add(&text, content->s);
    return rc < 0 ? rc : cw_added_add(added, cw_str_text(&text), text.len, token, err);
}

static int read_parts(struct cw_bpe_model *model, const struct cw_value *json, bool special,
                      struct cw_err *err)
{
    const struct cw_value *added = cw_value_get(json, "added_tokens");
    int rc = read_model(model, cw_value_get(json, "model"), err);
    if (rc == 0)
        rc = read_normalizer(model, cw_value_get(json, "normalizer"), err);
    if (rc == 0)
        rc = read_pre_tokenizer(model, cw_value_get(json, "pre_tokenizer"), err);
    for (size_t i = 0; rc == 0 && added && added->type == CW_VALUE_LIST && i < added->n; i++)
        rc = read_added_token(model, &added->items[i], special, err);
    return rc;
}

int cw_bpe_read_json(struct cw_bpe_model *model, const char *json, size_t n, bool special,
                     struct cw_err *err)
{
    struct cw_value value = {0};
    int rc = cw_value_parse(json, n, "tokenizer.json", &value, err);
    if (rc < 0)
        return rc;
    if (value.type == CW_VALUE_OBJECT)
        rc = read_parts(model, &value, special, err);
    else
        rc = cw_err_set(err, CW_E_CORRUPT, "tokenizer.json is no object");
    cw_value_fini(&value);
    return rc;
}
