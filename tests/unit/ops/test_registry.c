/* SPDX-License-Identifier: Apache-2.0 */
/* What must hold of every operator, whoever added it; and of what is generated from the tables. */
#include "support/cm.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "io/glob.h"
#include "ops/describe.h"

static const struct cw_op *const *all;
static size_t n;

static int setup(void **state)
{
    (void)state;
    all = cw_op_all(&n);
    return n > 20 ? 0 : -1;
}

static void names_are_sorted_and_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < n; i++) {
        assert_true(i == 0 || strcmp(all[i - 1]->name, all[i]->name) < 0);
        assert_ptr_equal(cw_op_find(all[i]->name), all[i]);
        assert_int_equal(strspn(all[i]->name, "abcdefghijklmnopqrstuvwxyz0123456789_"),
                         strlen(all[i]->name));
    }
    assert_null(cw_op_find("no_such"));
    assert_null(cw_op_find(""));
    assert_string_equal(cw_op_nearest("shuffl"), "shuffle");
    assert_string_equal(cw_op_nearest("decode_jpeg"), "decode_image"); /* and not encode_jpeg */
    assert_string_equal(cw_op_nearest("random_horizontal_flip"), "random_flip");
    assert_null(cw_op_nearest("qqqqqqqqqqqqqq"));
}

/* The functions that the engine calls for an operator of this kind. */
static bool has_functions(const struct cw_op *op)
{
    bool fieldwise = (op->traits & CW_OP_FIELDWISE) != 0;
    switch (op->kind) {
    case CW_OP_SOURCE:
        return op->infer && op->count && op->read && op->describe && op->inputs_max == 0;
    case CW_OP_INDEX:
        return op->infer && op->count && op->map && op->inputs_min >= 1;
    case CW_OP_ELEMENT:
        return fieldwise
                   ? op->infer_field && op->apply_field && op->accepts && !op->infer && !op->apply
                   : op->infer && op->apply;
    case CW_OP_GROUP:
        return op->infer && (op->inside ? (op->traits & CW_OP_CHANGES_COUNT) && !op->group_size
                                        : op->group_size && op->group_drops);
    }
    return false;
}

static void descriptors_are_whole(void **state)
{
    (void)state;
    for (size_t i = 0; i < n; i++) {
        const struct cw_op *op = all[i];
        if (!has_functions(op))
            fail_msg("%s: a function of its kind is missing", op->name);
        assert_true(op->version >= 1);
        assert_true(op->summary && op->summary[0] && !strchr(op->summary, '\n'));
        assert_true(op->doc && strlen(op->doc) > 20);
        assert_true(op->inputs_min <= op->inputs_max);
        assert_true(!op->scratch_new == !op->scratch_free);
        if (op->kind == CW_OP_SOURCE)
            assert_true(!(op->traits & CW_OP_FILES) == !op->manifest);
        assert_true((op->options == NULL) == (op->options_bytes == 0));
        assert_true(!op->out_name || (op->traits & CW_OP_FIELDWISE));
        assert_true(!(op->traits & CW_OP_MERGE) || op->inputs_max > 1);
    }
}

/* "draw 0", "draws 2 to 5" and so on, or "draws nothing". */
static bool tells_draws(const char *doc)
{
    for (const char *at = doc; (at = strstr(at, "raw")) != NULL; at += strlen("raw")) {
        const char *behind = at + strlen("raw");
        behind += *behind == 's';
        if (*behind == ' ' &&
            (strchr("0123456789i", behind[1]) || strncmp(behind, " nothing", 8) == 0))
            return true;
    }
    return false;
}

/* A reader can compute what a random operator does: its text says what each draw is for, or that nothing is
 * drawn. A function in Python draws what it likes. */
static void random_ones_tell_their_draws(void **state)
{
    (void)state;
    for (size_t i = 0; i < n; i++)
        if ((all[i]->traits & CW_OP_RANDOM) && all[i]->kind != CW_OP_INDEX &&
            strncmp(all[i]->name, "python_", 7) != 0 && !tells_draws(all[i]->doc))
            fail_msg("%s: its text does not tell its draws", all[i]->name);
}

static size_t bytes_of(enum cw_opt_type type)
{
    static const size_t bytes[] = {[CW_OPT_BOOL] = sizeof(bool),
                                   [CW_OPT_I64] = sizeof(int64_t),
                                   [CW_OPT_F64] = sizeof(double),
                                   [CW_OPT_STR] = sizeof(char *),
                                   [CW_OPT_ENUM] = sizeof(int),
                                   [CW_OPT_I64_LIST] = sizeof(struct cw_i64_list),
                                   [CW_OPT_F64_LIST] = sizeof(struct cw_f64_list),
                                   [CW_OPT_STR_LIST] = sizeof(struct cw_str_list),
                                   [CW_OPT_BYTES] = sizeof(int64_t),
                                   [CW_OPT_VALUE] = sizeof(struct cw_value)};
    return bytes[type];
}

static void options_lie_in_their_struct(void **state)
{
    (void)state;
    for (size_t i = 0; i < n; i++) {
        for (const struct cw_opt *a = all[i]->options; a && a->name; a++) {
            if (a->offset + bytes_of(a->type) > all[i]->options_bytes)
                fail_msg("%s: option %s lies outside", all[i]->name, a->name);
            assert_true(a->help && a->help[0] && !strchr(a->help, '|'));
            assert_true((a->type == CW_OPT_ENUM) == (a->names != NULL));
            assert_false(a->flags & CW_OPT_REQUIRED && a->def);
            for (const struct cw_opt *b = all[i]->options; b != a; b++) {
                assert_string_not_equal(a->name, b->name);
                assert_true(a->offset >= b->offset + bytes_of(b->type) ||
                            b->offset >= a->offset + bytes_of(a->type));
            }
        }
    }
}

/* They stand beside the options in the text form, and among the arguments of Python's methods. */
static void options_have_no_reserved_names(void **state)
{
    static const char *const reserved[] = {"op",     "name",          "inputs",
                                           "fields", "keep_position", "depends_on"};
    (void)state;
    for (size_t i = 0; i < n; i++)
        for (const struct cw_opt *row = all[i]->options; row && row->name; row++)
            for (size_t k = 0; k < CW_ARRAY_LEN(reserved); k++)
                if (strcmp(row->name, reserved[k]) == 0)
                    fail_msg("%s: option %s has a reserved name", all[i]->name, row->name);
}

/* Each default goes through the parser by itself, so that type and range are checked. */
static void defaults_are_in_range(void **state)
{
    (void)state;
    for (size_t i = 0; i < n; i++) {
        for (const struct cw_opt *row = all[i]->options; row && row->name; row++) {
            struct cw_opt alone[2] = {
                *row,
                {0},
            };
            struct cw_value options = {0};
            struct cw_err err = {0};
            if (!row->def)
                continue;
            cw_autofree char *text = cw_mem_printf("{\"%s\":%s}", row->name, row->def);
            cw_autofree void *opts = cw_mem_new(all[i]->options_bytes);
            assert_int_equal(cw_value_parse(text, strlen(text), "default", &options, &err), 0);
            if (cw_opt_parse(alone, &options, opts, &err) != 0)
                fail_msg("%s: %s", all[i]->name, err.msg);
            cw_opt_fini(alone, opts);
            cw_value_fini(&options);
        }
    }
}

/* Adds the options that are part of each fingerprint, as "NAME VERSION: option=default ...". */
static void add_fingerprint_options(const struct cw_op *op, struct cw_str *text)
{
    cw_str_addf(text, "%s %u:", op->name, op->version);
    for (const struct cw_opt *row = op->options; row && row->name; row++)
        if (!(row->flags & (CW_OPT_NEWER | CW_OPT_NO_FINGERPRINT | CW_OPT_OWN)))
            cw_str_addf(text, " %s=%s", row->name, row->def ? row->def : "");
    cw_str_addf(text, "\n");
}

/* An option that comes later must not change the fingerprints of pipelines that do not have it, or jobs cannot be gone
 * on with and caches are lost: it needs CW_OPT_NEWER. An operator that comes later gets a line in the file. */
static void fingerprints_stay(void **state)
{
    static char stored[1 << 16];
    CW_STR_AUTO text = {0};
    (void)state;
    for (size_t i = 0; i < n; i++)
        add_fingerprint_options(all[i], &text);
    FILE *file = fopen(CW_TEST_SOURCE_DIR "/tests/unit/ops/fingerprint_options.txt", "re");
    assert_non_null(file);
    stored[fread(stored, 1, sizeof(stored) - 1, file)] = '\0';
    fclose(file);
    if (strcmp(stored, cw_str_text(&text)) != 0) {
        fprintf(stderr, "fingerprint_options.txt is to be:\n%s", cw_str_text(&text));
        fail_msg("fingerprints of pipelines change: an option needs CW_OPT_NEWER, or what is new a "
                 "line in fingerprint_options.txt");
    }
}

static void case_files_are_there(void **state)
{
    (void)state;
    for (size_t i = 0; i < n; i++) {
        cw_autofree char *path =
            cw_mem_printf("%s/tests/ops/%s.json", CW_TEST_SOURCE_DIR, all[i]->name);
        if (access(path, R_OK) != 0)
            fail_msg("%s is missing", path);
    }
    struct cw_paths paths = {0};
    assert_int_equal(cw_glob(CW_TEST_SOURCE_DIR "/tests/ops/*.json", 0, NULL, &paths, NULL), 0);
    if (paths.n != n)
        fail_msg("%zu case files for %zu operators", paths.n, n);
    cw_paths_fini(&paths);
}

static void descriptions_are_json(void **state)
{
    struct cw_value value = {0};
    struct cw_err err = {0};
    CW_STR_AUTO all_json = {0};
    (void)state;
    cw_ops_describe_json(NULL, &all_json);
    if (cw_value_parse(all_json.s, all_json.len, "all", &value, &err) != 0)
        fail_msg("%s", err.msg);
    assert_int_equal(value.n, n);
    for (size_t i = 0; i < n; i++) {
        struct cw_value one = {0};
        CW_STR_AUTO json = {0};
        CW_STR_AUTO text = {0};
        cw_ops_describe_json(all[i], &json);
        assert_int_equal(cw_value_parse(json.s, json.len, "one", &one, &err), 0);
        assert_true(cw_value_eq(&one, &value.items[i]));
        assert_string_equal(cw_value_get(&one, "name")->s, all[i]->name);
        cw_ops_describe_text(all[i], &text);
        assert_non_null(strstr(text.s, all[i]->summary));
        cw_value_fini(&one);
    }
    cw_value_fini(&value);
}

static char *load(const char *path)
{
    cw_autofree char *full = cw_mem_printf("%s/%s", CW_TEST_SOURCE_DIR, path);
    size_t cap = 1 << 20;
    char *text = cw_mem_new(cap);
    FILE *file = fopen(full, "r");
    if (!file)
        fail_msg("%s is missing", full);
    size_t got = fread(text, 1, cap - 1, file);
    fclose(file);
    assert_true(got > 0 && got < cap - 1);
    return text;
}

/* Every line of C in docs/adding-an-operator.md stands so in the file that it is from. */
static void example_in_docs_is_true(void **state)
{
    cw_autofree char *doc = load("docs/adding-an-operator.md");
    cw_autofree char *take = load("src/ops/index/op_take.c"),
                     *cast = load("src/ops/element/op_cast.c");
    bool code = false;
    size_t lines = 0;
    (void)state;
    char *next = doc;
    for (char *line; (line = strsep(&next, "\n")) != NULL;) {
        if (line[0] == '`' && line[1] == '`') {
            code = strcmp(line, "```c") == 0;
        } else if (code && line[0]) {
            if (!strstr(take, line) && !strstr(cast, line))
                fail_msg("not in op_take.c or op_cast.c: %s", line);
            lines++;
        }
    }
    assert_true(lines > 30);
}

static void reference_is_up_to_date(void **state)
{
    CW_STR_AUTO want = {0};
    (void)state;
    cw_ops_describe_markdown(NULL, &want);
    cw_autofree char *got = load("docs/operators.md");
    if (strcmp(got, want.s) != 0)
        fail_msg("docs/operators.md is not what the tables say: cachew ops --markdown > "
                 "docs/operators.md");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_sorted_and_found),
        cmocka_unit_test(descriptors_are_whole),
        cmocka_unit_test(random_ones_tell_their_draws),
        cmocka_unit_test(options_lie_in_their_struct),
        cmocka_unit_test(options_have_no_reserved_names),
        cmocka_unit_test(defaults_are_in_range),
        cmocka_unit_test(fingerprints_stay),
        cmocka_unit_test(case_files_are_there),
        cmocka_unit_test(descriptions_are_json),
        cmocka_unit_test(reference_is_up_to_date),
        cmocka_unit_test(example_in_docs_is_true),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
