/* SPDX-License-Identifier: Apache-2.0 */
/* Spans as the JSON of OTLP 1.x (opentelemetry/proto/trace/v1): ids are hex, times and whole numbers
 * are texts. Thread: any. */
#include <inttypes.h>
#include <string.h>

#include "base/version.h"
#include "trace/trace_int.h"

#define KIND_INTERNAL 1
#define STATUS_ERROR 2

struct cw_hash cw_trace_id(const char *job, uint64_t epoch, uint64_t item)
{
    struct cw_hasher *hasher = cw_hasher_new();
    cw_hasher_add_str(hasher, job);
    cw_hasher_add_u64(hasher, epoch);
    cw_hasher_add_u64(hasher, item);
    struct cw_hash id = cw_hasher_get(hasher);
    cw_hasher_free(hasher);
    id.lo |= 1; /* OTLP has no id of zeros */
    return id;
}

static void add_attribute(struct cw_str *out, const char *key, const char *text)
{
    cw_str_addf(out, "%s{\"key\":\"%s\",\"value\":{\"stringValue\":",
                out->len > 0 && out->s[out->len - 1] == '}' ? "," : "", key);
    cw_str_add_json(out, text, strlen(text));
    cw_str_add(out, "}}");
}

static void add_number(struct cw_str *out, const char *key, uint64_t number)
{
    cw_str_addf(out, ",{\"key\":\"%s\",\"value\":{\"intValue\":\"%" PRIu64 "\"}}", key, number);
}

static void add_attributes(struct cw_str *out, const struct cw_trace_span *span)
{
    cw_str_add(out, ",\"attributes\":[");
    add_attribute(out, "cachew.job", span->job);
    add_number(out, "cachew.epoch", span->epoch);
    add_number(out, "cachew.item", span->item);
    if (span->key)
        add_attribute(out, span->key, span->text);
    for (size_t i = 0; i < CW_ARRAY_LEN(span->number); i++)
        if (span->number_key[i])
            add_number(out, span->number_key[i], span->number[i]);
    cw_str_add(out, "]");
}

void cw_trace_text_add(struct cw_str *out, const struct cw_trace_span *span, uint64_t own,
                       int64_t wall_ns)
{
    struct cw_hash id = cw_trace_id(span->job, span->epoch, span->item);
    uint64_t root = cw_mix64(id.hi) | 1;
    cw_str_addf(out, "{\"traceId\":\"%016" PRIx64 "%016" PRIx64 "\",\"spanId\":\"%016" PRIx64 "\"",
                id.hi, id.lo, span->is_root ? root : own | 1);
    if (!span->is_root)
        cw_str_addf(out, ",\"parentSpanId\":\"%016" PRIx64 "\"", root);
    cw_str_addf(out,
                ",\"name\":\"%s\",\"kind\":%d,\"startTimeUnixNano\":\"%" PRId64
                "\",\"endTimeUnixNano\":\"%" PRId64 "\"",
                span->name, KIND_INTERNAL, span->begin_ns + wall_ns, span->end_ns + wall_ns);
    add_attributes(out, span);
    if (span->error) {
        cw_str_addf(out, ",\"status\":{\"code\":%d,\"message\":", STATUS_ERROR);
        cw_str_add_json(out, span->error, strlen(span->error));
        cw_str_add(out, "}");
    }
    cw_str_add(out, "}");
}

void cw_trace_text_wrap(struct cw_str *out, const char *service, const char *instance,
                        const char *spans)
{
    cw_str_add(out, "{\"resourceSpans\":[{\"resource\":{\"attributes\":[");
    add_attribute(out, "service.name", service);
    add_attribute(out, "service.version", CW_VERSION);
    add_attribute(out, "service.instance.id", instance);
    cw_str_addf(
        out, "]},\"scopeSpans\":[{\"scope\":{\"name\":\"cachew\",\"version\":\"%s\"},\"spans\":[",
        CW_VERSION);
    cw_str_add(out, spans);
    cw_str_add(out, "]}]}]}");
}
