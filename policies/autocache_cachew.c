/* SPDX-License-Identifier: Apache-2.0 */
/* The autocache policy `cachew`: the published decision of Cachew (ATC 2022). It profiles until 300
 * outputs were computed, then compares three plans: computing everything, reading the elements at
 * the mark "source", and reading the last node that can be cached. A model says how long the store
 * takes to give a record. There is one decision a job.
 *
 *   compute = c * E                          E outputs measured, c active time of one, all nodes
 *                                         together: while a thread of the worker is inside
 *   full    = R(row) * rows + the rest       rows of the last node that can be cached, the rest
 *           is what comes behind it (in the original: nothing)
 *   source  = (compute - io) + R(row_m) * M  io active time up to the mark, M elements there
 *
 * The smallest is chosen; of equal ones source before full before compute, or without a mark full
 * before compute. Samples are summed over epochs: the original forgot them at the end of each, so
 * that small data sets stayed in profiling for ever. The argument may be a number, which is the
 * threshold of outputs, or "table", which takes R from the original's table instead of the measured
 * points, or both with a comma between. */
#include <math.h>
#include <string.h>
#include "base/mem.h"
#include "policies/autocache_model.h"
#include "policies/text.h"

#define THRESHOLD 300
#define COMPLETE 0.99 /* a node with this part of its records in the cache counts as cached */

struct settings {
    double threshold;
    bool table;
};

/* Milliseconds that the authors' GlusterFS took for a row of so many bytes. */
static const struct cw_autocache_point published[] = {
    {100e3, 3762.75},      {1e6, 254855.25},    {5e6, 5626863},      {10e6, 11941716.5},
    {15e6, 13677828.25},   {20e6, 22252481.25}, {25e6, 26339222.75}, {30e6, 30496200.75},
    {50e6, 75096286},      {75e6, 112799945},   {100e6, 155009453},  {200e6, 306624462.75},
    {400e6, 624655082.75},
};

static int bad_argument(const char *argument, struct cw_err *err)
{
    return cw_err_set(err, CW_E_INVALID,
                      "the autocache policy \"cachew\" takes a number of outputs (its threshold), "
                      "\"table\", or both with a comma, not \"%s\"",
                      argument);
}

static int parse(const char *argument, struct settings *ret_settings, struct cw_err *err)
{
    *ret_settings = (struct settings){.threshold = THRESHOLD};
    for (const char *p = argument; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL) {
        cw_autofree char *word = cw_mem_strndup(p, strcspn(p, ","));
        uint64_t n = 0;
        if (strcmp(word, "table") == 0)
            ret_settings->table = true;
        else if (cw_str_to_u64(word, &n) && n > 0)
            ret_settings->threshold = (double)n;
        else
            return bad_argument(argument, err);
    }
    return 0;
}

static int check(const char *argument, struct cw_err *err)
{
    struct settings settings;
    return parse(argument, &settings, err);
}

static double read_ns(const struct cw_autocache_snapshot *s, const struct settings *settings,
                      double bytes)
{
    if (settings->table)
        return cw_autocache_interpolate(published, CW_ARRAY_LEN(published), bytes);
    if (s->store.points_n > 0)
        return cw_autocache_interpolate(s->store.points, s->store.points_n, bytes);
    double bandwidth = s->store.read_bytes_s > 0 ? bytes / s->store.read_bytes_s * 1e9 : 0;
    return fmax(s->store.read_ns + bytes * s->store.read_byte_ns, bandwidth);
}

static bool is_source_mark(const char *mark)
{
    return cw_str_eq(mark, "source") || cw_str_eq(mark, "source_cache");
}

struct numbers {
    size_t mark, last; /* indices of nodes, or NONE */
    double compute, full, source;
};

/* Sets above[i] for every node i that is `node` or comes behind it. */
static void find_above(const struct cw_autocache_snapshot *s, size_t node, bool *above)
{
    for (size_t i = 0; i < s->n; i++)
        above[i] = i == node;
    for (size_t i = s->n; i-- > 0;) {
        for (size_t k = 0; above[i] && k < s->nodes[i].inputs_n; k++)
            above[s->nodes[i].inputs[k]] = true;
    }
}

/* The published time is that in which at least one thread of a worker is inside of the pipeline. The
 * times of nodes are summed over threads, of which so many are inside meanwhile. (Of workers that do
 * not say it: all of them, as while there is work.) */
static double inside(const struct cw_autocache_snapshot *s)
{
    if (s->inside > 0)
        return fmax(s->inside, 1);
    return s->workers > 0 ? fmax(s->threads / s->workers, 1) : fmax(s->threads, 1);
}

/* Returns the time that the measured outputs took in the nodes up to this one, on one worker. */
static double time_to(const struct cw_autocache_snapshot *s, size_t node)
{
    cw_autofree bool *above = CW_NEW_ARRAY(bool, s->n);
    double ns = 0;
    find_above(s, node, above);
    for (size_t i = 0; i < s->n; i++)
        ns += above[i] ? s->nodes[i].wall_ns * s->nodes[i].per_output * s->elements_measured : 0;
    return ns / inside(s);
}

static double reading(const struct cw_autocache_snapshot *s, const struct settings *settings,
                      size_t node)
{
    return read_ns(s, settings, s->nodes[node].bytes) * s->nodes[node].per_output *
           s->elements_measured;
}

static void compute(const struct cw_autocache_snapshot *s, const struct settings *settings,
                    struct numbers *ret_numbers)
{
    struct numbers v = {.mark = CW_POLICY_NONE, .last = CW_POLICY_NONE};
    for (size_t i = 0; i < s->n; i++) {
        if (s->nodes[i].why_not)
            continue;
        v.last = i;
        if (is_source_mark(s->nodes[i].mark))
            v.mark = i;
    }
    v.compute = time_to(s, s->n - 1);
    if (v.last != CW_POLICY_NONE)
        v.full = v.compute - time_to(s, v.last) + reading(s, settings, v.last);
    if (v.mark != CW_POLICY_NONE)
        v.source = v.compute - time_to(s, v.mark) + reading(s, settings, v.mark);
    *ret_numbers = v;
}

static void add_candidate(const struct cw_autocache_snapshot *s, struct cw_str *out,
                          const char *what, size_t node, double ns)
{
    cw_str_addf(out, "%s%s", out->len > 0 ? "\n" : "", what);
    if (node != CW_POLICY_NONE)
        cw_str_addf(out, " at \"%s\"", s->nodes[node].name);
    cw_str_add(out, ": ");
    cw_policy_add_time(out, s->elements_measured > 0 ? ns / s->elements_measured : 0);
    cw_str_add(out, " per output");
}

static void choose(const struct cw_autocache_snapshot *s, const struct settings *settings,
                   struct cw_policy_decision *d)
{
    struct numbers v;
    compute(s, settings, &v);
    const char *what = "computing everything";
    double ns = v.compute;
    if (v.last != CW_POLICY_NONE && v.full <= ns) {
        d->node = v.last;
        ns = v.full;
        what = "full cache";
    }
    if (v.mark != CW_POLICY_NONE && v.source <= ns) {
        d->node = v.mark;
        ns = v.source;
        what = "source cache";
    }
    d->decided = true;
    /* The model is about one worker; an epoch is divided among all of them. */
    double outputs = s->nodes[s->n - 1].elements_n;
    d->epoch_ns =
        s->elements_measured > 0 ? ns / s->elements_measured * outputs / fmax(s->workers, 1) : 0;
    d->total_ns = d->epoch_ns * s->epochs_left;
    if (v.mark != CW_POLICY_NONE)
        add_candidate(s, &d->candidates, "source cache", v.mark, v.source);
    if (v.last != CW_POLICY_NONE)
        add_candidate(s, &d->candidates, "full cache", v.last, v.full);
    add_candidate(s, &d->candidates, "compute", CW_POLICY_NONE, v.compute);
    cw_str_addf(&d->reason, "By the published model %s is cheapest after %.0f outputs", what,
                s->elements_measured);
    cw_str_addf(&d->reason, "; reading times are from %s%s.",
                settings->table         ? "the published table"
                : s->store.points_n > 0 ? "reading the store alone"
                                        : "",
                settings->table || s->store.points_n > 0 ? ""
                : s->store.assumed                       ? s->store.assumed
                                                         : "reading the cache");
}

static bool is_complete(const struct cw_autocache_node *node)
{
    return !node->why_not && node->cached > 0 &&
           node->cached >= COMPLETE * cw_autocache_records(node);
}

/* Uses at once what a job of the same pipeline has cached: the full cache before the source
 * cache. */
static bool use_cached(const struct cw_autocache_snapshot *s, struct cw_policy_decision *d)
{
    size_t last = CW_POLICY_NONE, mark = CW_POLICY_NONE;
    for (size_t i = 0; i < s->n; i++) {
        last = s->nodes[i].why_not ? last : i;
        mark = !s->nodes[i].why_not && is_source_mark(s->nodes[i].mark) ? i : mark;
    }
    if (last != CW_POLICY_NONE && is_complete(&s->nodes[last]))
        d->node = last;
    else if (mark != CW_POLICY_NONE && is_complete(&s->nodes[mark]))
        d->node = mark;
    else
        return false;
    d->decided = true;
    cw_str_addf(&d->reason, "All of \"%s\" is in the cache already: it is read from there.",
                s->nodes[d->node].name);
    return true;
}

static int decide(const struct cw_autocache_snapshot *s, const char *argument,
                  struct cw_policy_decision *ret_decision, struct cw_err *err)
{
    struct settings settings;
    int rc = parse(argument, &settings, err);
    if (rc < 0)
        return rc;
    struct cw_policy_decision d = {.node = CW_POLICY_NONE};
    if (s->standing) {
        d.decided = true;
        d.node = s->current;
        d.epoch_ns = s->predicted_ns;
        d.total_ns = s->predicted_ns * s->epochs_left;
        cw_str_add(&d.reason, "The published policy decides once a job.");
    } else if (!use_cached(s, &d)) {
        if (s->elements_measured >= settings.threshold)
            choose(s, &settings, &d);
        else
            cw_str_addf(&d.reason, "Profiling: %.0f of %.0f outputs are measured.",
                        s->elements_measured, settings.threshold);
    }
    *ret_decision = d;
    return 0;
}

const struct cw_autocache_policy cw_policy_autocache_cachew = {
    "cachew", "the published decision: compute, source cache or full cache, after 300 outputs",
    check, decide};
