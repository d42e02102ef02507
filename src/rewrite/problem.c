/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/problem.h"

#include <math.h>
#include <string.h>

#include "rewrite/problem_branches.h"
#include "rewrite/problem_bytes.h"
#include "rewrite/problem_together.h"

static const struct cw_checked_node *node_at(const struct cw_checked *checked,
                                             const struct cw_problem_map *map, size_t place)
{
    return &checked->nodes[map->nodes[place]];
}

/* ---- which nodes, and which may change sides ---- */

static int set_map(const struct cw_chain *chain, struct cw_problem_map *map, struct cw_err *err)
{
    map->n = chain->n;
    if (chain->n > CW_OPTIMIZE_NODES_MAX)
        return cw_err_set(err, CW_E_LIMIT, "a chain of more than %d operators",
                          CW_OPTIMIZE_NODES_MAX);
    for (size_t i = 0; i < chain->n; i++)
        map->nodes[i] = chain->first + i;
    return 0;
}

static void set_behind(const struct cw_chain *chain, struct cw_optimize_problem *problem)
{
    for (size_t b = 1; b < chain->n; b++)
        for (size_t a = 0; a < b; a++)
            if (cw_chain_why_not(chain, a, b))
                problem->nodes[b].behind |= UINT64_C(1) << a;
}

/* Whether its elements differ in each epoch. */
static bool draws(const struct cw_checked_node *node)
{
    return node->op->kind == CW_OP_ELEMENT && cw_op_draws(node->op, node->opts) && !node->frozen;
}

/* What cannot be cached because of what it is may become so further on (a path whose file is read); what
 * draws never does. */
static void set_caches(const struct cw_checked *checked, const struct cw_problem_map *map,
                       struct cw_optimize_problem *problem)
{
    bool was_not = false;

    for (size_t i = 0; i < map->n; i++) {
        const struct cw_checked_node *node = node_at(checked, map, i);
        bool is_not = node->uncacheable != NULL;
        problem->nodes[i].uncacheable = draws(node);
        if (was_not && !is_not)
            problem->cache_needs |= UINT64_C(1) << i;
        else if (is_not && !was_not && i > 0)
            problem->nodes[i].uncacheable = true;
        was_not = is_not;
    }
    if (!node_at(checked, map, 0)->uncacheable || problem->cache_needs != 0)
        return;
    if (problem->branches_n == 0)
        problem->has_store = false;
    problem->nodes[0].uncacheable = true;
}

/* ---- what it costs ---- */

/* The crops of whose part alone an operator makes an image, if it was measured what the whole costs. */
static void set_whole(const struct cw_chain *chain, const struct cw_cost_profile *profile,
                      size_t place, struct cw_optimize_problem *problem)
{
    const struct cw_checked *checked = chain->checked;
    const struct cw_checked_node *node = &checked->nodes[chain->first + place];
    struct cw_optimize_node *to = &problem->nodes[place];
    const struct cw_cost_profile_node *measured = cw_cost_profile_find(profile, to->name);

    if (!measured || measured->whole.out_bytes <= 0 || measured->out_bytes <= 0 ||
        !node->op->makes_parts || node->fields_n != 1)
        return;
    for (size_t i = place + 1; i < chain->n; i++) {
        const struct cw_checked_node *crop = &checked->nodes[chain->first + i];
        if (crop->op->want && crop->fields_n == 1 && crop->fields[0] == node->fields[0])
            to->crops |= UINT64_C(1) << i;
    }
    to->whole_fields = UINT32_C(1) << node->fields[0];
    to->whole = (struct cw_optimize_whole){measured->whole.ns, measured->whole.ns_byte,
                                           measured->whole.cpu_ns, measured->whole.cpu_ns_byte,
                                           measured->whole.out_bytes / measured->out_bytes};
}

static int set_node(const struct cw_checked *checked, size_t graph_node,
                    const struct cw_cost_profile *profile, struct cw_optimize_node *node,
                    struct cw_err *err)
{
    static const struct cw_cost_profile_node NOTHING = {.keep = 1};
    const char *name = checked->graph->nodes[graph_node].name;
    const struct cw_cost_profile_node *measured = cw_cost_profile_find(profile, name);

    if (!measured && cw_cost_profile_needs(checked->nodes[graph_node].op))
        return cw_err_set(err, CW_E_INVALID, "nodes: there is no \"%s\" (%s)", name,
                          checked->nodes[graph_node].op->name);
    if (!measured)
        measured = &NOTHING;
    *node = (struct cw_optimize_node){.name = name,
                                      .ns = measured->ns,
                                      .ns_byte = measured->ns_byte,
                                      .cpu_ns = measured->cpu_ns,
                                      .cpu_ns_byte = measured->cpu_ns_byte,
                                      .keep = measured->keep};
    return 0;
}

/* The nodes before the chain are part of its first one: what they cost for what they read. So is what the
 * engine does for an element besides. */
static int add_before(const struct cw_checked *checked, const struct cw_cost_profile *profile,
                      const struct cw_problem_map *map, struct cw_optimize_problem *problem,
                      struct cw_err *err)
{
    int rc = 0;

    problem->nodes[0].ns += profile->engine_ns;
    problem->nodes[0].cpu_ns += profile->engine_cpu_ns;
    for (size_t i = 0; rc == 0 && i < map->nodes[0]; i++) {
        struct cw_optimize_node before;
        rc = set_node(checked, i, profile, &before, err);
        const struct cw_cost_profile_node *measured =
            cw_cost_profile_find(profile, checked->graph->nodes[i].name);
        double bytes = measured ? measured->in_bytes : 0;
        problem->nodes[0].ns += before.ns + before.ns_byte * bytes;
        problem->nodes[0].cpu_ns += before.cpu_ns + before.cpu_ns_byte * bytes;
    }
    return rc;
}

/* ---- bytes ---- */

/* The problem has places for few fields. The last one is that of all fields behind, whose bytes are
 * looked at together: it is costs that they are for. */
static size_t place_of(size_t field)
{
    return CW_MIN(field, CW_OPTIMIZE_FIELDS_MAX - 1);
}

static uint32_t places_of(const struct cw_field_set *fields, size_t n)
{
    uint32_t places = 0;

    for (size_t f = 0; f < n; f++)
        if (cw_field_set_has(fields, f))
            places |= UINT32_C(1) << place_of(f);
    return places;
}

/* Adds up the bytes of n fields by their places. */
static void sum_places(const double *bytes, size_t n, double *ret_bytes)
{
    for (size_t p = 0; p < CW_OPTIMIZE_FIELDS_MAX; p++)
        ret_bytes[p] = 0;
    for (size_t f = 0; f < n; f++)
        ret_bytes[place_of(f)] += bytes[f];
}

/* A batch has its elements one after the other. */
static void set_group(const struct cw_checked_node *node, struct cw_optimize_node *to,
                      double *bytes)
{
    double n = node->op->group_size ? (double)node->op->group_size(node->opts) : 1;

    to->keep /= n;
    for (size_t f = 0; f < node->out.n; f++) {
        to->ratio[place_of(f)] = n;
        bytes[f] *= n;
    }
}

/* Goes on by one operator: `bytes` are those before it, and become those behind it. */
static void set_fields(const struct cw_chain *chain, const struct cw_cost_profile *profile,
                       size_t place, struct cw_optimize_problem *problem, double *bytes)
{
    const struct cw_checked *checked = chain->checked;
    const struct cw_checked_node *node = &checked->nodes[chain->first + place];
    struct cw_optimize_node *to = &problem->nodes[place];
    const struct cw_cost_profile_node *measured = cw_cost_profile_find(profile, to->name);
    const struct cw_spec *in = &checked->nodes[node->inputs[0]].out;
    const struct cw_op_facts *facts = &chain->ops[place].facts;
    double before[CW_OPTIMIZE_FIELDS_MAX], after[CW_OPTIMIZE_FIELDS_MAX];

    for (size_t f = 0; f < CW_OPTIMIZE_FIELDS_MAX; f++)
        to->ratio[f] = 1;
    if (node->op->kind == CW_OP_GROUP) {
        set_group(node, to, bytes);
        return;
    }
    const struct cw_field_set had = cw_field_set_of_first(in->n);
    struct cw_field_set reads = facts->reads, changed = cw_field_set_of_first(node->out.n);
    cw_field_set_join(&reads, &facts->weighs);
    cw_field_set_subtract(&changed, &had); /* what is added */
    to->reads =
        places_of(facts->known || !cw_field_set_is_empty(&facts->weighs) ? &reads : &had, in->n);
    to->adds = in->n < CW_OPTIMIZE_FIELDS_MAX ? places_of(&changed, node->out.n) : 0;
    cw_field_set_join(&changed, &facts->writes);
    sum_places(bytes, CW_FIELDS_MAX, before);
    cw_problem_set_bytes(&node->out, &changed, measured ? measured->out_bytes : -1, bytes);
    sum_places(bytes, CW_FIELDS_MAX, after);
    for (size_t p = 0; p < CW_OPTIMIZE_FIELDS_MAX && p < node->out.n; p++) {
        if (to->adds >> p & 1)
            problem->bytes[p] = after[p];
        else if (before[p] > 0)
            to->ratio[p] = after[p] / before[p];
    }
}

/* Returns how many fields it reads, and whether this is one of them. */
static size_t fields_read(const struct cw_chain *chain, size_t place, size_t field, bool *ret_has)
{
    const struct cw_op_facts *facts = &chain->ops[place].facts;
    struct cw_field_set read = facts->reads;

    cw_field_set_join(&read, &facts->weighs);
    const bool all = !facts->known && cw_field_set_is_empty(&facts->weighs);
    *ret_has = all || cw_field_set_has(&read, field);
    return all ? CW_FIELDS_MAX : cw_field_set_count(&read);
}

/* What was measured of a field of the source by the first operator that reads it, if that reads nothing else
 * and nobody has written the field before; else -1. */
static double bytes_read(const struct cw_chain *chain, const struct cw_cost_profile *profile,
                         size_t field)
{
    for (size_t i = 1; i < chain->n; i++) {
        const struct cw_checked_node *node = &chain->checked->nodes[chain->first + i];
        if (node->op->kind != CW_OP_ELEMENT)
            continue;
        const char *name = chain->checked->graph->nodes[chain->first + i].name;
        const struct cw_cost_profile_node *measured = cw_cost_profile_find(profile, name);
        bool reads;
        const size_t n = fields_read(chain, i, field, &reads);
        if (reads)
            return n == 1 && measured && measured->in_bytes > 0 ? measured->in_bytes : -1;
        if (cw_field_set_has(&chain->ops[i].facts.writes, field))
            return -1;
    }
    return -1;
}

/* Several fields of which no size is known: who reads one alone has measured it, and the others have equal
 * parts of what is left. */
static void part_source(const struct cw_chain *chain, const struct cw_cost_profile *profile,
                        const struct cw_spec *out, double *bytes)
{
    double left = 0;
    struct cw_field_set others = {{0}};

    for (size_t f = 0; f < out->n; f++) {
        if (cw_problem_known_bytes(&out->fields[f]) >= 0)
            continue;
        double measured = bytes_read(chain, profile, f);
        left += measured < 0 ? bytes[f] : bytes[f] - measured;
        if (measured < 0)
            cw_field_set_add(&others, f);
        else
            bytes[f] = measured;
    }
    for (size_t f = 0; f < out->n; f++)
        if (cw_field_set_has(&others, f))
            bytes[f] = fmax(left, 0) / (double)cw_field_set_count(&others);
}

static void set_source(const struct cw_chain *chain, const struct cw_cost_profile *profile,
                       const struct cw_problem_map *map, struct cw_optimize_problem *problem,
                       double *bytes)
{
    const struct cw_checked_node *node = node_at(chain->checked, map, 0);
    const struct cw_cost_profile_node *measured =
        cw_cost_profile_find(profile, problem->nodes[0].name);
    double sum = 0, comes[CW_FIELDS_MAX] = {0};

    for (size_t f = 0; f < CW_OPTIMIZE_FIELDS_MAX; f++)
        problem->nodes[0].ratio[f] = 1;
    cw_problem_set_branches(chain, profile, problem, comes);
    const struct cw_field_set all = cw_field_set_of_first(node->out.n);
    cw_problem_set_bytes(&node->out, &all, measured ? measured->out_bytes : 0, bytes);
    part_source(chain, profile, &node->out, bytes);
    for (size_t f = 0; f < node->out.n; f++) {
        bytes[f] = bytes[f] > 0 ? bytes[f] : comes[f];
        sum += bytes[f];
    }
    sum_places(bytes, node->out.n, problem->bytes);
    problem->source_bytes = sum;
}

static void set_rates(const struct cw_cost_profile *profile, struct cw_optimize_problem *problem)
{
    const struct cw_cost_profile_store *store = &profile->store;

    problem->elements = profile->elements;
    problem->has_store = profile->has_store;
    problem->store = (struct cw_optimize_store){
        store->read_ns,      store->read_byte_ns,  store->write_ns,  store->write_byte_ns,
        store->read_bytes_s, store->write_bytes_s, store->free_bytes};
    problem->source_bytes_s = profile->source_bytes_s;
    problem->network_bytes_s = profile->network_bytes_s;
}

static int check_pipeline(const struct cw_checked *checked, const struct cw_cost_profile *profile,
                          struct cw_err *err)
{
    char text[CW_HASH_TEXT_BYTES];

    cw_hash_text(checked->fingerprint, text);
    if (profile->pipeline && profile->pipeline[0] && strcmp(profile->pipeline, text) != 0)
        return cw_err_set(err, CW_E_INVALID,
                          "pipeline: the profile is of \"%s\", and this pipeline is \"%s\"",
                          profile->pipeline, text);
    return 0;
}

/* Of the trainer, an epoch: its steps are for batches. */
static void set_trainer(const struct cw_cost_profile *profile, struct cw_optimize_problem *problem)
{
    double share = 1;

    for (size_t i = 0; i < problem->n; i++)
        share *= problem->nodes[i].keep;
    problem->trainer_ns = profile->step_ms * 1e6 * share * problem->elements;
}

int cw_problem_from(const struct cw_chain *chain, const struct cw_cost_profile *profile,
                    struct cw_optimize_problem *ret_problem, struct cw_problem_map *ret_map,
                    struct cw_err *err)
{
    const struct cw_checked *checked = chain->checked;
    double bytes[CW_FIELDS_MAX] = {0};
    int rc = check_pipeline(checked, profile, err);

    *ret_problem = (struct cw_optimize_problem){.fields_n = CW_OPTIMIZE_FIELDS_MAX};
    if (rc == 0)
        rc = set_map(chain, ret_map, err);
    ret_problem->n = ret_map->n;
    for (size_t i = 0; rc == 0 && i < ret_map->n; i++)
        rc = set_node(checked, ret_map->nodes[i], profile, &ret_problem->nodes[i], err);
    if (rc == 0)
        rc = add_before(checked, profile, ret_map, ret_problem, err);
    if (rc < 0)
        return rc;
    set_rates(profile, ret_problem);
    set_source(chain, profile, ret_map, ret_problem, bytes);
    for (size_t i = 1; i < ret_map->n; i++)
        set_fields(chain, profile, i, ret_problem, bytes);
    for (size_t i = 1; i < ret_map->n; i++)
        set_whole(chain, profile, i, ret_problem);
    cw_problem_set_together(chain, profile, ret_problem);
    set_behind(chain, ret_problem);
    set_caches(checked, ret_map, ret_problem);
    set_trainer(profile, ret_problem);
    return 0;
}
