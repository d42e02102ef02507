/* SPDX-License-Identifier: Apache-2.0 */
/* Traces: the way of some batches through dispatcher, worker and trainer, told to a collector of
 * OpenTelemetry by OTLP over HTTP, as JSON (docs/watching.md#traces).
 *
 * One item of `every` is traced, and the ids of its trace are hashes of job, epoch and item: so each
 * program tells its own part, and nothing is sent among them. There is one tracer in a process, as
 * there is one log; until cw_trace_start it is off, and costs one comparison. Spans that the collector
 * does not take are dropped: nothing waits for it. All functions are called on the loop thread. */
#ifndef CW_TRACE_TRACE_H
#define CW_TRACE_TRACE_H

#include "base/err.h"
#include "base/interval.h"
#include "loop/loop.h"

/* One item in so many is traced where nobody says. */
#define CW_TRACE_EVERY 1000

/* Rows of a table of options (base/args.h), which set a text and a number. */
#define CW_TRACE_ARG_ROWS(url, every)                                                              \
    {"trace-url",                                                                                  \
     0,                                                                                            \
     CW_ARG_STR,                                                                                   \
     (url),                                                                                        \
     "URL",                                                                                        \
     "tell a collector of OpenTelemetry the way of some batches, by OTLP as JSON: "                \
     "http://HOST:4318/v1/traces (default: not)",                                                  \
     0,                                                                                            \
     0},                                                                                           \
    {                                                                                              \
        "trace-every", 0, CW_ARG_U64, (every), "N",                                                \
            "one item of N; the same in dispatcher and workers (default 1000)", 1, 1000000000      \
    }

struct cw_trace_options {
    const char *url;      /* "http://HOST:PORT/v1/traces", or https; NULL: no traces */
    uint64_t every;       /* at least 1 */
    const char *service;  /* the program */
    const char *instance; /* its address */
};
/* Starts the tracer; with no URL it stays off. Options are copied. INVALID: the URL is none of HTTP. */
int cw_trace_start(struct cw_loop *loop, const struct cw_trace_options *options,
                   struct cw_err *err);
/* Ends it; spans that were not sent yet are dropped. */
void cw_trace_stop(void);
/* Whether an item is traced. */
bool cw_trace_has(uint64_t item);
/* Finds the lowest traced item >= from in the set; false if there is none, or the tracer is off. */
bool cw_trace_next(const struct cw_set *items, uint64_t from, uint64_t *ret_item);

/* A part of the way of an item. */
struct cw_trace_span {
    const char *job;
    uint64_t epoch, item;
    const char *name;
    bool is_root;              /* the whole way, of which all others are parts */
    int64_t begin_ns, end_ns;  /* cw_clock_ns */
    const char *error;         /* why it failed; NULL: it did not */
    const char *key, *text;    /* an attribute; NULL: none */
    const char *number_key[2]; /* attributes that are numbers; NULL: none */
    uint64_t number[2];
};
/* Tells the collector, within about a second. Does nothing while the tracer is off. */
void cw_trace_add(const struct cw_trace_span *span);

/* ---- trace_open.c: what the dispatcher sees of a traced item ---- */
/* The traced items of the set were leased to the worker. */
void cw_trace_leased(const char *job, uint64_t epoch, const struct cw_set *items,
                     const char *worker);
/* A trainer has received, or consumed, the traced items of the set. A consumed one ends its trace. */
void cw_trace_received(const char *job, uint64_t epoch, const struct cw_set *items);
void cw_trace_consumed(const char *job, uint64_t epoch, const struct cw_set *items);

#endif
