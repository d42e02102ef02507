/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this folder share. */
#ifndef CW_TRACE_TRACE_INT_H
#define CW_TRACE_TRACE_INT_H

#include "base/hash.h"
#include "base/str.h"
#include "trace/trace.h"

/* Items of which the dispatcher waits for news; a new one takes the place of the oldest. */
#define CW_TRACE_OPEN_MAX 1024

/* An item that was leased and is not consumed. */
struct cw_trace_open {
    struct cw_hash id; /* of its trace; 0: none is here */
    uint64_t item;
    int64_t leased_ns, received_ns;
    char worker[128]; /* the first one that it was leased to */
};

/* The tracer's table of these; NULL while it is off. */
struct cw_trace_open *cw_trace_opened(size_t **ret_next);

/* ---- trace_text.c ---- */
/* The id of an item's trace, which is never 0. */
struct cw_hash cw_trace_id(const char *job, uint64_t epoch, uint64_t item);
/* Appends a span as OTLP's JSON has it. own: tells spans of one trace apart. wall_ns: what is to be added to
 * cw_clock_ns for the time since 1970. */
void cw_trace_text_add(struct cw_str *out, const struct cw_trace_span *span, uint64_t own,
                       int64_t wall_ns);
/* Wraps spans, joined by commas, into a request. */
void cw_trace_text_wrap(struct cw_str *out, const char *service, const char *instance,
                        const char *spans);

#endif
