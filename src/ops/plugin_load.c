/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/plugin.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "ops/plugin_int.h"

#define OPS_MAX 256

/* Options are put straight into the plugin's struct. */
_Static_assert(sizeof(struct cachew_op_i64_list) == sizeof(struct cw_i64_list) &&
                   offsetof(struct cachew_op_i64_list, n) == offsetof(struct cw_i64_list, n) &&
                   sizeof(struct cachew_op_str_list) == sizeof(struct cw_str_list) &&
                   offsetof(struct cachew_op_str_list, n) == offsetof(struct cw_str_list, n) &&
                   sizeof(struct cachew_op_f64_list) == sizeof(struct cw_f64_list),
               "lists of options are those of cachew/op.h");
_Static_assert((int)CACHEW_OP_OPT_BYTES == (int)CW_OPT_BYTES &&
                   (int)CACHEW_OP_OPT_STR_LIST == (int)CW_OPT_STR_LIST,
               "types of options are those of cachew/op.h");
_Static_assert((int)CACHEW_OP_STR == (int)CW_DTYPE_STR && (int)CACHEW_OP_F16 == (int)CW_DTYPE_F16,
               "dtypes are those of cachew/op.h");
_Static_assert((int)CACHEW_OP_UNSUPPORTED == (int)CW_E_UNSUPPORTED &&
                   (int)CACHEW_OP_CORRUPT == (int)CW_E_CORRUPT,
               "codes are those of cachew/op.h");
_Static_assert((int)CACHEW_OP_PERMUTES == (int)CW_FOREIGN_PERMUTES &&
                   (int)CACHEW_OP_BY_BATCH == (int)CW_FOREIGN_BY_BATCH,
               "traits and facts are those of cachew/op.h");

/* Copies a struct that begins with its size; what it lacks is 0. */
static void copy_sized(void *to, size_t bytes, const void *from)
{
    size_t size;
    memcpy(&size, from, sizeof(size));
    memset(to, 0, bytes);
    memcpy(to, from, CW_MIN(size, bytes));
}

/* ---- what an operator says of itself ---- */

static int wrong(const struct cachew_op *op, const char *what, struct cw_err *err)
{
    return cw_err_set(err, CW_E_UNSUPPORTED, "operator \"%s\": %s", op->name ? op->name : "?",
                      what);
}

static int copy_options(const struct cachew_op *op, struct cw_plugin_op *to, struct cw_err *err)
{
    if (op->options_n > CW_FOREIGN_OPTIONS_MAX)
        return wrong(op, "it has too many options", err);
    if (op->options_n > 0 && (!op->options || op->options[0].struct_size < sizeof(size_t)))
        return wrong(op, "its options are not there, or do not begin with their size", err);
    const char *at = (const char *)op->options;
    for (size_t i = 0; i < op->options_n; i++, at += op->options[0].struct_size) {
        struct cachew_op_option *option = &to->options[i];
        copy_sized(option, sizeof(*option), at);
        size_t bytes =
            option->type == CACHEW_OP_OPT_BOOL   ? sizeof(bool)
            : option->type == CACHEW_OP_OPT_ENUM ? sizeof(int)
            : option->type >= CACHEW_OP_OPT_I64_LIST && option->type <= CACHEW_OP_OPT_STR_LIST
                ? sizeof(struct cw_i64_list)
                : 8;
        if (option->offset > op->opts_bytes || bytes > op->opts_bytes - option->offset ||
            option->offset % CW_MIN(bytes, (size_t)8) != 0)
            return wrong(op, "an option lies outside of its struct of options", err);
    }
    return 0;
}

static int check_functions(const struct cachew_op *op, struct cw_err *err)
{
    switch (op->kind) {
    case CACHEW_OP_SOURCE:
        return op->infer && op->count && op->read
                   ? 0
                   : wrong(op, "a source needs infer, count and read", err);
    case CACHEW_OP_INDEX:
        return op->count && op->map ? 0 : wrong(op, "an index operator needs count and map", err);
    case CACHEW_OP_ELEMENT:
        return !op->apply != !op->apply_field
                   ? 0
                   : wrong(op, "an element operator needs either apply_field or apply", err);
    case CACHEW_OP_GROUP:
        return op->inside ? 0 : wrong(op, "a group operator needs inside", err);
    default:
        return wrong(op, "its kind is unknown", err);
    }
}

static void set_text(struct cw_value *object, const char *key, const char *text)
{
    if (text)
        cw_value_set_str(cw_value_member(object, key), text);
}

static void set_number(struct cw_value *object, const char *key, int64_t number)
{
    if (number != 0)
        cw_value_set_i64(cw_value_member(object, key), number);
}

static void define_option(const struct cachew_op_option *option, struct cw_value *ret)
{
    size_t n = 0;
    cw_value_set_object(ret);
    set_text(ret, "name", option->name);
    set_text(ret, "help", option->help);
    set_text(ret, "default", option->def);
    set_number(ret, "type", option->type);
    set_number(ret, "flags", option->flags);
    set_number(ret, "len_min", (int64_t)option->len_min);
    set_number(ret, "len_max", (int64_t)option->len_max);
    if (option->min != 0 || option->max != 0) {
        cw_value_set_f64(cw_value_member(ret, "min"), option->min);
        cw_value_set_f64(cw_value_member(ret, "max"), option->max);
    }
    while (option->type == CACHEW_OP_OPT_ENUM && option->words && option->words[n])
        n++;
    struct cw_value *words = n ? cw_value_set_list(cw_value_member(ret, "words"), n) : NULL;
    for (size_t i = 0; i < n; i++)
        cw_value_set_str(&words[i], option->words[i]);
}

static void define(const struct cw_plugin_op *it, const char *hash, struct cw_value *ret)
{
    static const char *const kinds[] = {"source", "index", "element", "group"};
    const struct cachew_op *op = &it->op;
    CW_STR_AUTO library = {0};
    cw_str_addf(&library, "%s %s", it->library.name,
                it->library.version ? it->library.version : "");
    cw_value_set_object(ret);
    set_text(ret, "name", op->name);
    set_text(ret, "hash", hash);
    set_text(ret, "library", cw_str_text(&library));
    set_text(ret, "summary", op->summary);
    set_text(ret, "kind", kinds[op->kind]);
    set_text(ret, "span", op->span_option);
    set_number(ret, "version", op->version);
    set_number(ret, "traits", op->traits);
    set_number(ret, "facts", op->facts);
    set_number(ret, "fieldwise", op->apply_field != NULL);
    set_number(ret, "dtypes", op->takes_dtypes);
    set_number(ret, "rank_min", op->takes_rank_min);
    set_number(ret, "rank_max", op->takes_rank_max);
    set_number(ret, "inputs_min", (int64_t)op->inputs_min);
    set_number(ret, "inputs_max", (int64_t)op->inputs_max);
    struct cw_value *options =
        op->options_n ? cw_value_set_list(cw_value_member(ret, "options"), op->options_n) : NULL;
    for (size_t i = 0; i < op->options_n; i++)
        define_option(&it->options[i], &options[i]);
}

/* ---- adding ---- */

static void complete(struct cw_foreign *foreign)
{
    struct cw_op *op = &foreign->op;
    const struct cachew_op *impl = foreign->impl;
    op->check = cw_plugin_check;
    op->open = cw_plugin_open;
    op->close = cw_plugin_close;
    op->scratch_new = impl->scratch_new ? cw_plugin_scratch_new : NULL;
    op->scratch_free = cw_plugin_scratch_free;
    switch (op->kind) {
    case CW_OP_SOURCE:
        cw_plugin_complete_source(op, impl);
        break;
    case CW_OP_INDEX:
        cw_plugin_complete_index(op);
        break;
    case CW_OP_ELEMENT:
        cw_plugin_complete_element(op);
        break;
    case CW_OP_GROUP:
        cw_plugin_complete_group(op, impl);
        break;
    }
    cw_foreign_common(foreign);
}

static int add(const struct cachew_op *theirs, const struct cachew_op_library *library,
               const char *hash, struct cw_err *err)
{
    size_t offsets[CW_FOREIGN_OPTIONS_MAX];
    const struct cw_foreign *foreign = NULL;
    struct cw_plugin_op *it = CW_NEW(struct cw_plugin_op); /* it is kept as long as the process */
    struct cw_value definition = {0};
    copy_sized(&it->op, sizeof(it->op), theirs);
    it->library = *library;
    int rc = check_functions(&it->op, err);
    if (rc == 0)
        rc = copy_options(&it->op, it, err);
    if (rc == 0 && it->op.name && cw_foreign_find(it->op.name))
        rc = wrong(&it->op, "another plugin that is loaded has an operator of this name", err);
    if (rc == 0) {
        define(it, hash, &definition);
        for (size_t i = 0; i < it->op.options_n; i++)
            offsets[i] = it->options[i].offset;
        const struct cw_foreign_new how = {.definition = &definition,
                                           .impl = &it->op,
                                           .offsets = offsets,
                                           .opts_bytes = it->op.opts_bytes,
                                           .doc = it->op.doc,
                                           .complete = complete,
                                           .announced = CW_FOREIGN_ANNOUNCED};
        rc = cw_foreign_add(&how, &foreign, err);
        if (rc < 0)
            rc = cw_err_wrap(err, "operator \"%s\"", it->op.name ? it->op.name : "?");
    }
    cw_value_fini(&definition);
    if (rc < 0)
        cw_mem_free(it);
    return rc;
}

static int check_library(const struct cachew_op_library *library, struct cw_err *err)
{
    if (!library)
        return cw_err_set(err, CW_E_UNSUPPORTED, "it does not work with this version of cachew");
    if (library->abi != CACHEW_OP_ABI)
        return cw_err_set(
            err, CW_E_UNSUPPORTED,
            "it is made for version %u of cachew/op.h, and this program has %d: build it "
            "anew",
            library->abi, CACHEW_OP_ABI);
    if (!library->name || !library->ops || library->ops_n == 0 || library->ops_n > OPS_MAX)
        return cw_err_set(err, CW_E_UNSUPPORTED, "it has no name, or no operators, or too many");
    return 0;
}

static int add_all(const struct cachew_op_library *theirs, const char *hash, struct cw_err *err)
{
    struct cachew_op_library library;
    int rc = 0;
    if (theirs)
        copy_sized(&library, sizeof(library), theirs);
    rc = check_library(theirs ? &library : NULL, err);
    for (size_t i = 0; rc == 0 && i < library.ops_n; i++)
        rc = library.ops[i] ? add(library.ops[i], &library, hash, err)
                            : cw_err_set(err, CW_E_UNSUPPORTED, "operator %zu is NULL", i);
    return rc;
}

/* ---- files ---- */

static int hash_file(const char *path, char ret_text[CW_HASH_TEXT_BYTES], struct cw_err *err)
{
    unsigned char piece[8192];
    FILE *file = fopen(path, "rb");
    if (!file)
        return cw_err_set(err, CW_E_NOT_FOUND, "there is no such file, or it cannot be read");
    struct cw_hasher *hasher = cw_hasher_new();
    for (size_t n; (n = fread(piece, 1, sizeof(piece), file)) > 0;)
        cw_hasher_add(hasher, piece, n);
    bool failed = ferror(file) != 0;
    (void)fclose(file);
    cw_hash_text(cw_hasher_get(hasher), ret_text);
    cw_hasher_free(hasher);
    return failed ? cw_err_set(err, CW_E_IO, "it cannot be read") : 0;
}

static int load(const char *path, struct cw_err *err)
{
    char hash[CW_HASH_TEXT_BYTES], resolved[PATH_MAX];
    if (!realpath(path, resolved)) /* a name without a slash would be looked for elsewhere */
        return cw_err_set(err, CW_E_NOT_FOUND, "there is no such file");
    int rc = hash_file(resolved, hash, err);
    if (rc < 0)
        return rc;
    void *library = dlopen(resolved, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return cw_err_set(err, CW_E_UNSUPPORTED, "%s", dlerror());
    cachew_op_load_fn *entry;
    void *symbol = dlsym(library, "cachew_op_load");
    memcpy(&entry, &symbol, sizeof(entry));
    rc = symbol ? add_all(entry(cw_plugin_engine()), hash, err)
                : cw_err_set(err, CW_E_UNSUPPORTED,
                             "it exports no cachew_op_load (CACHEW_OP_LIBRARY of cachew/op.h)");
    return rc; /* what was loaded stays: its operators are used as long as the process lives */
}

int cw_plugin_load_file(const char *path, struct cw_err *err)
{
    int rc = load(path, err);
    return rc < 0 ? cw_err_wrap(err, "plugin %s", path) : 0;
}

int cw_plugin_load_all(const char *const *paths, size_t n, struct cw_err *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = cw_plugin_load_file(paths[i], err);
    return rc;
}

char **cw_plugin_definitions(size_t *ret_n)
{
    size_t n = 0;
    while (cw_foreign_loaded(n))
        n++;
    char **texts = CW_NEW_ARRAY(char *, n + 1);
    for (size_t i = 0; i < n; i++) {
        struct cw_str text = {0};
        cw_value_print(&cw_foreign_loaded(i)->definition, &text);
        texts[i] = cw_str_take(&text);
    }
    *ret_n = n;
    return texts;
}
