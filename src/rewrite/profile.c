/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/profile.h"

#include <stddef.h>
#include <string.h>

#include "base/mem.h"
#include "conf/opt.h"

#define NS_MAX 1e15 /* of one element: eleven days */
#define BYTES_MAX 1e15

struct parts {
    int64_t profile;
    char *pipeline;
    double elements;
    struct cw_value nodes, filters, store, source, network, trainer, engine, threads;
};
#define PART(key, kind, text)                                                                      \
    {                                                                                              \
        .name = #key, .help = (text), .type = (kind), .offset = offsetof(struct parts, key)        \
    }
static const struct cw_opt PARTS[] = {
    {.name = "profile",
     .help = "version of the format",
     .type = CW_OPT_I64,
     .offset = offsetof(struct parts, profile),
     .min = 1,
     .max = 1,
     .flags = CW_OPT_REQUIRED},
    PART(pipeline, CW_OPT_STR, "fingerprint of the pipeline"),
    {.name = "elements",
     .help = "elements of an epoch",
     .type = CW_OPT_F64,
     .offset = offsetof(struct parts, elements),
     .min = 1,
     .max = 1e18,
     .flags = CW_OPT_REQUIRED},
    {.name = "nodes",
     .help = "by name",
     .type = CW_OPT_VALUE,
     .offset = offsetof(struct parts, nodes),
     .flags = CW_OPT_REQUIRED},
    PART(filters, CW_OPT_VALUE, "what passes sets of filters"),
    PART(store, CW_OPT_VALUE, "of a cache"),
    PART(source, CW_OPT_VALUE, "of the source"),
    PART(network, CW_OPT_VALUE, "between workers and trainer"),
    PART(trainer, CW_OPT_VALUE, "of the trainer"),
    PART(engine, CW_OPT_VALUE, "of the engine itself"),
    PART(threads, CW_OPT_VALUE, "[threads, elements a second] as measured"),
    {0},
};

#define NUMBER(type_, key, field, most, text)                                                      \
    {                                                                                              \
        .name = (key), .help = (text), .type = CW_OPT_F64, .offset = offsetof(type_, field),       \
        .max = (most)                                                                              \
    }
struct node_parts {
    struct cw_cost_profile_node node;
    struct cw_value whole, batch;
    char *operator;
};
static const struct cw_opt NODE[] = {
    NUMBER(struct node_parts, "ns", node.ns, NS_MAX, "a thread's time of an element"),
    NUMBER(struct node_parts, "ns_byte", node.ns_byte, NS_MAX, "and of a byte that is read"),
    NUMBER(struct node_parts, "cpu_ns", node.cpu_ns, NS_MAX, "CPU time (default: ns)"),
    NUMBER(struct node_parts, "cpu_ns_byte", node.cpu_ns_byte, NS_MAX, "(default: ns_byte)"),
    NUMBER(struct node_parts, "in_bytes", node.in_bytes, BYTES_MAX, "of the fields that it reads"),
    NUMBER(struct node_parts, "out_bytes", node.out_bytes, BYTES_MAX, "of those that it writes"),
    {.name = "keep",
     .help = "share of the elements that passes",
     .type = CW_OPT_F64,
     .offset = offsetof(struct node_parts, node.keep),
     .def = "1",
     .min = 0,
     .max = 1},
    NUMBER(struct node_parts, "samples", node.samples, 1e18, "elements that were measured"),
    {.name = "operator",
     .help = "a hash of the operator, its options and its input",
     .type = CW_OPT_STR,
     .offset = offsetof(struct node_parts, operator)},
    {.name = "assumed",
     .help = "whether time was taken as in proportion to bytes, or not",
     .type = CW_OPT_BOOL,
     .offset = offsetof(struct node_parts, node.assumed)},
    {.name = "whole",
     .help = "of a decoder: of whole images",
     .type = CW_OPT_VALUE,
     .offset = offsetof(struct node_parts, whole)},
    {.name = "batch",
     .help = "of an element where many are worked on at once",
     .type = CW_OPT_VALUE,
     .offset = offsetof(struct node_parts, batch)},
    {0},
};
static const struct cw_opt WHOLE[] = {
    NUMBER(struct cw_cost_whole, "ns", ns, NS_MAX, "a thread's time of an element"),
    NUMBER(struct cw_cost_whole, "ns_byte", ns_byte, NS_MAX, "and of a byte that is read"),
    NUMBER(struct cw_cost_whole, "cpu_ns", cpu_ns, NS_MAX, "CPU time (default: ns)"),
    NUMBER(struct cw_cost_whole, "cpu_ns_byte", cpu_ns_byte, NS_MAX, "(default: ns_byte)"),
    NUMBER(struct cw_cost_whole, "out_bytes", out_bytes, BYTES_MAX, "of the image"),
    {0},
};
static const struct cw_opt BATCH[] = {
    NUMBER(struct cw_cost_batch, "ns", ns, NS_MAX, "a thread's time of an element"),
    NUMBER(struct cw_cost_batch, "ns_byte", ns_byte, NS_MAX, "and of a byte that is read"),
    NUMBER(struct cw_cost_batch, "cpu_ns", cpu_ns, NS_MAX, "CPU time (default: ns)"),
    NUMBER(struct cw_cost_batch, "cpu_ns_byte", cpu_ns_byte, NS_MAX, "(default: ns_byte)"),
    {0},
};
struct set_parts {
    struct cw_str_list nodes;
    double keep, samples;
};
static const struct cw_opt SET[] = {
    {.name = "nodes",
     .help = "names of filters",
     .type = CW_OPT_STR_LIST,
     .offset = offsetof(struct set_parts, nodes),
     .flags = CW_OPT_REQUIRED,
     .len_min = 1,
     .len_max = CW_FILTERS_MAX},
    {.name = "keep",
     .help = "share of the elements that passes all of them",
     .type = CW_OPT_F64,
     .offset = offsetof(struct set_parts, keep),
     .flags = CW_OPT_REQUIRED,
     .min = 0,
     .max = 1},
    NUMBER(struct set_parts, "samples", samples, 1e18, "elements that all were shown"),
    {0},
};
static const struct cw_opt STORE[] = {
    NUMBER(struct cw_cost_profile_store, "read_ns", read_ns, NS_MAX, "to read a record"),
    NUMBER(struct cw_cost_profile_store, "read_byte_ns", read_byte_ns, NS_MAX, "and a byte"),
    NUMBER(struct cw_cost_profile_store, "write_ns", write_ns, NS_MAX, "to write a record"),
    NUMBER(struct cw_cost_profile_store, "write_byte_ns", write_byte_ns, NS_MAX, "and a byte"),
    NUMBER(struct cw_cost_profile_store, "read_bytes_s", read_bytes_s, BYTES_MAX, "0: no limit"),
    NUMBER(struct cw_cost_profile_store, "write_bytes_s", write_bytes_s, BYTES_MAX, "0: no limit"),
    {.name = "free_bytes",
     .help = "-1: not known",
     .type = CW_OPT_F64,
     .offset = offsetof(struct cw_cost_profile_store, free_bytes),
     .def = "-1",
     .min = -1,
     .max = 1e18},
    {0},
};
struct rates {
    double a, b, c;
};
static const struct cw_opt SOURCE[] = {
    NUMBER(struct rates, "read_bytes_s", a, BYTES_MAX, "0: no limit"),
    {0},
};
static const struct cw_opt NETWORK[] = {
    NUMBER(struct rates, "bytes_s", a, BYTES_MAX, "0: no limit"),
    NUMBER(struct rates, "cpu_ns_byte", b, NS_MAX, "CPU time to send a byte"),
    NUMBER(struct rates, "shm_cpu_ns_byte", c, NS_MAX, "the same on one host"),
    {0},
};
static const struct cw_opt TRAINER[] = {
    NUMBER(struct rates, "step_ms", a, 1e12, "of a batch"),
    {0},
};
static const struct cw_opt ENGINE[] = {
    NUMBER(struct rates, "ns", a, NS_MAX, "a thread's time of an element of the source"),
    NUMBER(struct rates, "cpu_ns", b, NS_MAX, "CPU time"),
    {0},
};

static int read_whole(const struct cw_value *value, struct cw_cost_whole *ret_whole,
                      struct cw_err *err)
{
    if (value->type == CW_VALUE_NULL)
        return 0;
    if (cw_opt_parse(WHOLE, value, ret_whole, err) < 0)
        return cw_err_wrap(err, "whole");
    if (!cw_value_get(value, "cpu_ns"))
        ret_whole->cpu_ns = ret_whole->ns;
    if (!cw_value_get(value, "cpu_ns_byte"))
        ret_whole->cpu_ns_byte = ret_whole->ns_byte;
    return 0;
}

static int read_batch(const struct cw_value *value, struct cw_cost_batch *ret_batch,
                      struct cw_err *err)
{
    if (value->type == CW_VALUE_NULL)
        return 0;
    if (cw_opt_parse(BATCH, value, ret_batch, err) < 0)
        return cw_err_wrap(err, "batch");
    if (!cw_value_get(value, "cpu_ns"))
        ret_batch->cpu_ns = ret_batch->ns;
    if (!cw_value_get(value, "cpu_ns_byte"))
        ret_batch->cpu_ns_byte = ret_batch->ns_byte;
    return 0;
}

static int read_node(const struct cw_value *value, const char *name,
                     struct cw_cost_profile_node *node, struct cw_err *err)
{
    struct node_parts parts = {0};
    int rc = cw_opt_parse(NODE, value, &parts, err);

    if (rc == 0 && parts.operator&& !cw_hash_parse(parts.operator, & parts.node.operator)) {
        rc = cw_err_set(err, CW_E_INVALID, "operator: not a hash of 32 digits");
        cw_opt_fini(NODE, &parts);
    }
    if (rc == 0 && (read_whole(&parts.whole, &parts.node.whole, err) < 0 ||
                    read_batch(&parts.batch, &parts.node.batch, err) < 0)) {
        rc = CW_E_INVALID;
        cw_opt_fini(NODE, &parts);
    }
    if (rc < 0)
        return cw_err_wrap(err, "nodes.%s", name);
    *node = parts.node;
    node->name = cw_mem_strdup(name);
    if (!cw_value_get(value, "cpu_ns"))
        node->cpu_ns = node->ns;
    if (!cw_value_get(value, "cpu_ns_byte"))
        node->cpu_ns_byte = node->ns_byte;
    cw_opt_fini(NODE, &parts);
    return 0;
}

static int read_nodes(const struct cw_value *nodes, struct cw_cost_profile *profile,
                      struct cw_err *err)
{
    int rc = 0;

    if (nodes->type != CW_VALUE_OBJECT)
        return cw_err_set(err, CW_E_INVALID, "nodes: %s, not an object",
                          cw_value_type_name(nodes->type));
    profile->nodes = CW_NEW_ARRAY(struct cw_cost_profile_node, nodes->n);
    for (size_t i = 0; rc == 0 && i < nodes->n; i++) {
        rc = read_node(&nodes->items[i], nodes->keys[i], &profile->nodes[i], err);
        profile->n += rc == 0;
    }
    return rc;
}

static int read_set(const struct cw_value *value, struct cw_cost_profile_set *set,
                    struct cw_err *err)
{
    struct set_parts parts = {0};
    int rc = cw_opt_parse(SET, value, &parts, err);

    if (rc < 0)
        return rc;
    set->keep = parts.keep;
    set->samples = parts.samples;
    for (; set->n < parts.nodes.n; set->n++)
        set->nodes[set->n] = cw_steal(&parts.nodes.v[set->n]);
    cw_opt_fini(SET, &parts);
    return 0;
}

static int read_filters(const struct cw_value *list, struct cw_cost_profile *profile,
                        struct cw_err *err)
{
    int rc = 0;

    if (list->type == CW_VALUE_NULL)
        return 0;
    if (list->type != CW_VALUE_LIST || list->n >= CW_FILTER_SETS)
        return cw_err_set(err, CW_E_INVALID, "filters: not a list of at most %d sets of filters",
                          CW_FILTER_SETS - 1);
    profile->filters = CW_NEW_ARRAY(struct cw_cost_profile_set, list->n + 1);
    for (size_t i = 0; rc == 0 && i < list->n; i++)
        rc = read_set(&list->items[i], &profile->filters[profile->filters_n++], err);
    return rc < 0 ? cw_err_wrap(err, "filters") : 0;
}

static int read_part(const struct cw_opt *table, const struct cw_value *value, const char *key,
                     void *ret, struct cw_err *err)
{
    if (value->type == CW_VALUE_NULL)
        return 0;
    return cw_opt_parse(table, value, ret, err) < 0 ? cw_err_wrap(err, "%s", key) : 0;
}

static int read_parts(struct parts *parts, struct cw_cost_profile *profile, struct cw_err *err)
{
    struct rates source = {0}, network = {0}, trainer = {0}, engine = {0};
    int rc = read_nodes(&parts->nodes, profile, err);

    profile->elements = parts->elements;
    profile->pipeline = cw_steal(&parts->pipeline);
    profile->has_store = parts->store.type != CW_VALUE_NULL;
    if (rc == 0)
        rc = read_filters(&parts->filters, profile, err);
    if (rc == 0)
        rc = read_part(STORE, &parts->store, "store", &profile->store, err);
    if (rc == 0)
        rc = read_part(SOURCE, &parts->source, "source", &source, err);
    if (rc == 0)
        rc = read_part(NETWORK, &parts->network, "network", &network, err);
    if (rc == 0)
        rc = read_part(TRAINER, &parts->trainer, "trainer", &trainer, err);
    if (rc == 0)
        rc = read_part(ENGINE, &parts->engine, "engine", &engine, err);
    profile->source_bytes_s = source.a;
    profile->network_bytes_s = network.a;
    profile->step_ms = trainer.a;
    profile->engine_ns = engine.a;
    profile->engine_cpu_ns = engine.b;
    return rc;
}

int cw_cost_profile_from(const struct cw_value *value, const char *where,
                         struct cw_cost_profile *ret_profile, struct cw_err *err)
{
    struct parts parts = {0};
    int rc = cw_opt_parse(PARTS, value, &parts, err);

    *ret_profile = (struct cw_cost_profile){0};
    if (rc == 0) {
        rc = read_parts(&parts, ret_profile, err);
        cw_opt_fini(PARTS, &parts);
    }
    if (rc == 0)
        return 0;
    cw_cost_profile_fini(ret_profile);
    return cw_err_wrap(err, "%s", where);
}

void cw_cost_profile_fini(struct cw_cost_profile *profile)
{
    for (size_t i = 0; i < profile->n; i++)
        cw_mem_free(profile->nodes[i].name);
    for (size_t i = 0; i < profile->filters_n; i++)
        for (size_t k = 0; k < profile->filters[i].n; k++)
            cw_mem_free(profile->filters[i].nodes[k]);
    cw_mem_free(profile->filters);
    cw_mem_free(profile->nodes);
    cw_mem_free(profile->pipeline);
    *profile = (struct cw_cost_profile){0};
}

const struct cw_cost_profile_node *cw_cost_profile_find(const struct cw_cost_profile *profile,
                                                        const char *name)
{
    for (size_t i = 0; i < profile->n; i++)
        if (strcmp(profile->nodes[i].name, name) == 0)
            return &profile->nodes[i];
    return NULL;
}
