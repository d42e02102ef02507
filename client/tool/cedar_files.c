/* SPDX-License-Identifier: Apache-2.0 */
#include "client/tool/cedar_files.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "conf/opt.h"
#include "conf/value_yaml.h"

struct chain_opts {
    struct cw_value chain;
};
static const struct cw_opt CHAIN_OPTS[] = {
    {.name = "chain",
     .help = "the operators, from the source to the output",
     .type = CW_OPT_VALUE,
     .offset = offsetof(struct chain_opts, chain),
     .flags = CW_OPT_REQUIRED},
    {0},
};

struct op_opts {
    int64_t id;
    bool source, fix, random, fusable, offloadable, fusable_source;
    char *tag;
    struct cw_str_list depends_on;
};
#define OP_OPT(key, kind, text)                                                                    \
    {                                                                                              \
        .name = #key, .help = (text), .type = (kind), .offset = offsetof(struct op_opts, key)      \
    }
static const struct cw_opt OP_OPTS[] = {
    {.name = "id",
     .help = "its number in the statistics",
     .type = CW_OPT_I64,
     .offset = offsetof(struct op_opts, id),
     .flags = CW_OPT_REQUIRED},
    OP_OPT(source, CW_OPT_BOOL, "it is the source"),
    OP_OPT(fix, CW_OPT_BOOL, "it stays where it is, and nothing passes it"),
    OP_OPT(random, CW_OPT_BOOL, "no cache may stand behind it"),
    OP_OPT(fusable, CW_OPT_BOOL, "it may be fused with its neighbours"),
    OP_OPT(offloadable, CW_OPT_BOOL, "it may run on a backend (default: as fusable)"),
    OP_OPT(tag, CW_OPT_STR, "its name in depends_on of others"),
    OP_OPT(depends_on, CW_OPT_STR_LIST, "tags of operators that it may not change sides with"),
    OP_OPT(fusable_source, CW_OPT_BOOL, "all operators may become one with this source"),
    {0},
};

/* ---- the chain ---- */

static int fail_op(struct cw_err *err, int64_t id, const char *what, const char *tag)
{
    return cw_err_set(err, CW_E_INVALID, "operator %" PRId64 ": %s \"%s\"", id, what, tag);
}

/* Finds the operator with a tag; n: there is none. */
static size_t find_tag(const struct op_opts *opts, size_t n, const char *tag)
{
    size_t i = 0;

    while (i < n && !(opts[i].tag && strcmp(opts[i].tag, tag) == 0))
        i++;
    return i;
}

static int set_constraints(const struct op_opts *opts, struct cw_cedar_chain *chain,
                           struct cw_err *err)
{
    for (size_t i = 0; i < chain->n; i++) {
        const struct op_opts *op = &opts[i];
        if (op->tag && find_tag(opts, i, op->tag) < i)
            return fail_op(err, op->id, "another operator has the tag", op->tag);
        for (size_t d = 0; d < op->depends_on.n; d++) {
            size_t at = find_tag(opts, chain->n, op->depends_on.v[d]);
            if (at == chain->n)
                return fail_op(err, op->id, "no operator has the tag", op->depends_on.v[d]);
            chain->ops[i].depends_on |= UINT64_C(1) << at;
        }
    }
    return CW_OK;
}

static int set_op(const struct cw_value *item, struct op_opts *opts, struct cw_cedar_chain *chain,
                  struct cw_err *err)
{
    struct cw_cedar_op *op = &chain->ops[chain->n];
    int rc = cw_opt_parse(OP_OPTS, item, opts, err);

    if (rc != CW_OK)
        return cw_err_wrap(err, "operator at place %zu", chain->n);
    *op = (struct cw_cedar_op){
        .id = opts->id,
        .is_source = opts->source,
        .is_fixed = opts->fix,
        .is_random = opts->random,
        .is_fusable = opts->fusable,
        .is_offloadable = cw_value_get(item, "offloadable") ? opts->offloadable : opts->fusable,
        .is_fusable_source = opts->fusable_source,
    };
    for (size_t i = 0; i < chain->n; i++)
        if (chain->ops[i].id == op->id)
            return cw_err_set(err, CW_E_INVALID, "two operators have the id %" PRId64, op->id);
    chain->n++;
    return CW_OK;
}

static int read_chain(const struct cw_value *list, struct cw_cedar_chain *chain, struct cw_err *err)
{
    struct op_opts opts[CW_CEDAR_OPS_MAX] = {0};
    int rc = CW_OK;

    if (list->type != CW_VALUE_LIST || list->n == 0 || list->n > CW_CEDAR_OPS_MAX)
        return cw_err_set(err, CW_E_INVALID, "chain is no list of 1 to %d operators",
                          CW_CEDAR_OPS_MAX);
    for (size_t i = 0; rc == CW_OK && i < list->n; i++)
        rc = set_op(&list->items[i], &opts[i], chain, err);
    if (rc == CW_OK)
        rc = set_constraints(opts, chain, err);
    for (size_t i = 0; i < list->n; i++)
        cw_opt_fini(OP_OPTS, &opts[i]);
    return rc;
}

int tool_cedar_chain_load(const char *path, struct cw_cedar_chain *ret_chain, struct cw_err *err)
{
    struct cw_value file = {0};
    struct chain_opts opts = {0};

    *ret_chain = (struct cw_cedar_chain){0};
    int rc = cw_value_load_any(path, &file, err);
    if (rc != CW_OK)
        return rc;
    rc = cw_opt_parse(CHAIN_OPTS, &file, &opts, err);
    cw_value_fini(&file);
    if (rc == CW_OK) {
        rc = read_chain(&opts.chain, ret_chain, err);
        cw_opt_fini(CHAIN_OPTS, &opts);
    }
    return rc == CW_OK ? CW_OK : cw_err_wrap(err, "%s", path);
}

/* ---- the statistics ---- */

/* Follows keys to a value; NULL: there is none. */
static const struct cw_value *at(const struct cw_value *value, const char *a, const char *b)
{
    return cw_value_get(cw_value_get(value, a), b);
}

/* Reads a number that is not negative; returns false if it is none. */
static bool number_of(const struct cw_value *value, double *ret)
{
    if (!value || (value->type != CW_VALUE_F64 && value->type != CW_VALUE_I64))
        return false;
    *ret = value->type == CW_VALUE_F64 ? value->f : (double)value->i;
    return *ret >= 0;
}

static const struct cw_value *of_op(const struct cw_value *map, int64_t id)
{
    char key[24];

    snprintf(key, sizeof(key), "%" PRId64, id);
    return cw_value_get(map, key);
}

static int read_baseline(const struct cw_value *file, struct cw_cedar_chain *chain,
                         struct cw_err *err)
{
    if (!number_of(at(file, "baseline", "throughput"), &chain->throughput))
        return cw_err_set(err, CW_E_INVALID, "baseline.throughput is no number");
    for (size_t i = 0; i < chain->n; i++) {
        struct cw_cedar_op *op = &chain->ops[i];
        const struct {
            const char *key;
            double *to;
        } maps[] = {{"latencies", &op->latency},
                    {"input_sizes", &op->in_bytes},
                    {"output_sizes", &op->out_bytes}};
        for (size_t k = 0; k < CW_ARRAY_LEN(maps); k++)
            if (!number_of(of_op(at(file, "baseline", maps[k].key), op->id), maps[k].to))
                return cw_err_set(err, CW_E_INVALID,
                                  "baseline.%s.%" PRId64 " is no number of 0 or more", maps[k].key,
                                  op->id);
    }
    return CW_OK;
}

static int read_backend(const struct cw_value *file, enum cw_cedar_backend backend,
                        const char *name, struct cw_cedar_chain *chain, struct cw_err *err)
{
    const struct cw_value *ops = at(file, "offloads", name);

    for (size_t i = 0; ops && i < chain->n; i++) {
        const struct cw_value *op = of_op(ops, chain->ops[i].id);
        if (!op)
            continue;
        if (!number_of(cw_value_get(op, "throughput"), &chain->ops[i].moved_throughput[backend]))
            return cw_err_set(err, CW_E_INVALID,
                              "offloads.%s.%" PRId64 ".throughput is no number of 0 or more", name,
                              chain->ops[i].id);
        chain->has_backend[backend] = true;
    }
    return CW_OK;
}

int tool_cedar_stats_load(const char *path, struct cw_cedar_chain *chain, struct cw_err *err)
{
    struct cw_value file = {0};
    int rc = cw_value_load_any(path, &file, err);

    if (rc != CW_OK)
        return rc;
    rc = read_baseline(&file, chain, err);
    if (rc == CW_OK)
        rc = read_backend(&file, CW_CEDAR_RAY, "RAY", chain, err);
    if (rc == CW_OK)
        rc = read_backend(&file, CW_CEDAR_SMP, "SMP", chain, err);
    if (rc == CW_OK)
        number_of(at(&file, "disk_info", "read_latency"), &chain->read_latency);
    if (rc == CW_OK)
        rc = cw_cedar_check(chain, err);
    cw_value_fini(&file);
    return rc == CW_OK ? CW_OK : cw_err_wrap(err, "%s", path);
}
