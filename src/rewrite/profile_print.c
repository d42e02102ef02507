/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "rewrite/profile.h"

/* Six digits are more than measurements have. */
static double rounded(double number)
{
    char text[32];

    snprintf(text, sizeof(text), "%.6g", number);
    return strtod(text, NULL);
}

static void add(struct cw_value *object, const char *key, double number)
{
    double n = fabs(number) < 1e15 && number == floor(number) ? number : rounded(number);

    if (n == floor(n) && fabs(n) < 1e15)
        cw_value_set_i64(cw_value_member(object, key), (int64_t)n);
    else
        cw_value_set_f64(cw_value_member(object, key), n);
}

static void add_unless(struct cw_value *object, const char *key, double number, double usual)
{
    if (number < usual || number > usual)
        add(object, key, number);
}

static void add_whole(struct cw_value *node, const struct cw_cost_whole *whole)
{
    if (whole->out_bytes <= 0)
        return;
    struct cw_value *object = cw_value_member(node, "whole");

    cw_value_set_object(object);
    add(object, "ns", whole->ns);
    add_unless(object, "ns_byte", whole->ns_byte, 0);
    add(object, "cpu_ns", whole->cpu_ns);
    if (whole->ns_byte > 0 || whole->cpu_ns_byte > 0)
        add(object, "cpu_ns_byte", whole->cpu_ns_byte);
    add(object, "out_bytes", whole->out_bytes);
}

static void add_batch(struct cw_value *node, const struct cw_cost_batch *batch)
{
    if (batch->ns <= 0 && batch->ns_byte <= 0)
        return;
    struct cw_value *object = cw_value_member(node, "batch");

    cw_value_set_object(object);
    add(object, "ns", batch->ns);
    add_unless(object, "ns_byte", batch->ns_byte, 0);
    add(object, "cpu_ns", batch->cpu_ns);
    if (batch->ns_byte > 0 || batch->cpu_ns_byte > 0)
        add(object, "cpu_ns_byte", batch->cpu_ns_byte);
}

static void add_node(struct cw_value *nodes, const struct cw_cost_profile_node *node)
{
    struct cw_value *object = cw_value_member(nodes, node->name);

    cw_value_set_object(object);
    add(object, "ns", node->ns);
    add_unless(object, "ns_byte", node->ns_byte, 0);
    add(object, "cpu_ns", node->cpu_ns);
    if (node->ns_byte > 0 || node->cpu_ns_byte > 0)
        add(object, "cpu_ns_byte", node->cpu_ns_byte);
    add_unless(object, "in_bytes", node->in_bytes, 0);
    add_unless(object, "out_bytes", node->out_bytes, 0);
    add_unless(object, "keep", node->keep, 1);
    add_unless(object, "samples", node->samples, 0);
    if (node->operator.hi != 0 || node->operator.lo != 0) {
        char text[CW_HASH_TEXT_BYTES];
        cw_hash_text(node->operator, text);
        cw_value_set_str(cw_value_member(object, "operator"), text);
    }
    if (node->assumed)
        cw_value_set_bool(cw_value_member(object, "assumed"), true);
    add_whole(object, &node->whole);
    add_batch(object, &node->batch);
}

static void add_store(struct cw_value *value, const struct cw_cost_profile_store *store)
{
    struct cw_value *object = cw_value_member(value, "store");

    cw_value_set_object(object);
    add(object, "read_ns", store->read_ns);
    add(object, "read_byte_ns", store->read_byte_ns);
    add(object, "write_ns", store->write_ns);
    add(object, "write_byte_ns", store->write_byte_ns);
    add_unless(object, "read_bytes_s", store->read_bytes_s, 0);
    add_unless(object, "write_bytes_s", store->write_bytes_s, 0);
    add_unless(object, "free_bytes", store->free_bytes < 0 ? -1 : store->free_bytes, -1);
}

/* An object with one member, unless that is 0. */
static void add_part(struct cw_value *value, const char *key, const char *member, double number)
{
    if (number > 0) {
        struct cw_value *object = cw_value_member(value, key);
        cw_value_set_object(object);
        add(object, member, number);
    }
}

static void add_engine(struct cw_value *value, const struct cw_cost_profile *profile)
{
    if (profile->engine_ns <= 0 && profile->engine_cpu_ns <= 0)
        return;
    struct cw_value *object = cw_value_member(value, "engine");
    cw_value_set_object(object);
    add(object, "ns", profile->engine_ns);
    add(object, "cpu_ns", profile->engine_cpu_ns);
}

static void add_filters(struct cw_value *value, const struct cw_cost_profile *profile)
{
    if (profile->filters_n == 0)
        return;
    struct cw_value *sets =
        cw_value_set_list(cw_value_member(value, "filters"), profile->filters_n);
    for (size_t i = 0; i < profile->filters_n; i++) {
        const struct cw_cost_profile_set *set = &profile->filters[i];
        cw_value_set_object(&sets[i]);
        struct cw_value *nodes = cw_value_set_list(cw_value_member(&sets[i], "nodes"), set->n);
        for (size_t k = 0; k < set->n; k++)
            cw_value_set_str(&nodes[k], set->nodes[k]);
        add(&sets[i], "keep", set->keep);
        add_unless(&sets[i], "samples", set->samples, 0);
    }
}

static void add_rates(struct cw_value *value, const struct cw_cost_profile *profile)
{
    if (profile->rates_n == 0)
        return;
    struct cw_value *rows = cw_value_set_list(cw_value_member(value, "threads"), profile->rates_n);
    for (size_t i = 0; i < profile->rates_n; i++) {
        struct cw_value *row = cw_value_set_list(&rows[i], 2);
        cw_value_set_i64(&row[0], (int64_t)profile->rates[i].threads);
        cw_value_set_f64(&row[1], rounded(profile->rates[i].rate));
    }
}

void cw_cost_profile_print(const struct cw_cost_profile *profile, struct cw_value *ret_value)
{
    cw_value_set_object(ret_value);
    cw_value_set_i64(cw_value_member(ret_value, "profile"), 1);
    if (profile->pipeline)
        cw_value_set_str(cw_value_member(ret_value, "pipeline"), profile->pipeline);
    add(ret_value, "elements", profile->elements);
    struct cw_value *nodes = cw_value_member(ret_value, "nodes");
    cw_value_set_object(nodes);
    for (size_t i = 0; i < profile->n; i++)
        add_node(nodes, &profile->nodes[i]);
    add_filters(ret_value, profile);
    if (profile->has_store)
        add_store(ret_value, &profile->store);
    add_part(ret_value, "source", "read_bytes_s", profile->source_bytes_s);
    add_part(ret_value, "network", "bytes_s", profile->network_bytes_s);
    add_part(ret_value, "trainer", "step_ms", profile->step_ms);
    add_engine(ret_value, profile);
    add_rates(ret_value, profile);
}
