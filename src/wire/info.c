/* SPDX-License-Identifier: Apache-2.0 */
/* Messages with the facts of a prepared pipeline, and with sets of numbers. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "wire/wire_int.h"

typedef Cachew__V1__PlanInfo info_pb;
typedef Cachew__V1__Field field_pb;
typedef Cachew__V1__Interval interval_pb;

Cachew__V1__Spec *cw_wire_spec_to(const struct cw_spec *spec)
{
    Cachew__V1__Spec *message = CW_NEW(Cachew__V1__Spec);
    cachew__v1__spec__init(message);
    message->n_fields = spec->n;
    message->fields = CW_NEW_ARRAY(field_pb *, spec->n + 1);
    for (size_t i = 0; i < spec->n; i++) {
        const struct cw_field *field = &spec->fields[i];
        field_pb *to = message->fields[i] = CW_NEW(field_pb);
        cachew__v1__field__init(to);
        to->name = cw_mem_strdup(field->name);
        to->dtype = field->dtype;
        to->n_dims = (size_t)field->rank;
        to->dims = CW_NEW_ARRAY(int64_t, to->n_dims + 1);
        memcpy(to->dims, field->dims, to->n_dims * sizeof(int64_t));
    }
    return message;
}

void cw_wire_spec_free(Cachew__V1__Spec *message)
{
    if (message)
        cachew__v1__spec__free_unpacked(message, &cw_wire_allocator);
}

int cw_wire_spec_from(const Cachew__V1__Spec *message, struct cw_spec *spec, struct cw_err *err)
{
    int code = 0;
    for (size_t i = 0; message && i < message->n_fields && code == 0; i++) {
        const field_pb *from = message->fields[i];
        if (from->dtype >= CW_DTYPE_N || from->n_dims > CW_RANK_MAX)
            return cw_err_set(err, CW_E_CORRUPT, "field \"%.47s\": dtype %u, rank %zu", from->name,
                              from->dtype, from->n_dims);
        for (size_t k = 0; k < from->n_dims; k++)
            if (from->dims[k] < (k > 0 ? CW_DIM_RAGGED : -1))
                return cw_err_set(err, CW_E_CORRUPT, "field \"%.47s\": a dimension is negative",
                                  from->name);
        code = cw_spec_add(spec, from->name, (enum cw_dtype)from->dtype, (int)from->n_dims,
                           from->dims, err);
    }
    return code;
}

info_pb *cw_wire_info_to(const struct cw_plan_info *info)
{
    info_pb *message = CW_NEW(info_pb);
    cachew__v1__plan_info__init(message);
    message->sparse = info->sparse;
    message->items = info->items;
    message->elements = info->elements;
    message->batch = info->batch;
    message->chunk = info->chunk;
    message->out = cw_wire_spec_to(&info->out);
    cw_wire_pads_to(info, message);
    message->join_skip = info->join.skip;
    message->join_take = info->join.take;
    message->join_batch = info->join.batch;
    message->join_drop_remainder = info->join.drop_remainder;
    message->join_whole = info->join.whole;
    message->fingerprint_hi = info->fingerprint.hi;
    message->fingerprint_lo = info->fingerprint.lo;
    message->item_bytes = info->item_bytes;
    message->pipeline_sum = info->pipeline_sum;
    message->files_sum = info->files_sum;
    message->identity = (uint32_t)info->identity;
    return message;
}

void cw_wire_info_free(info_pb *message)
{
    if (message)
        cachew__v1__plan_info__free_unpacked(message, &cw_wire_allocator);
}

static bool join_ok(const struct cw_plan_join *join)
{
    return join->skip >= 0 && join->take >= -1 && join->batch >= 0;
}

int cw_wire_info_from(const info_pb *message, struct cw_plan_info *ret_info, struct cw_err *err)
{
    if (!message)
        return cw_err_set(err, CW_E_CORRUPT, "facts of the pipeline are missing");
    struct cw_plan_info info = {
        .sparse = message->sparse != 0,
        .items = message->items,
        .elements = message->elements,
        .batch = message->batch,
        .chunk = message->chunk,
        .join = {message->join_skip, message->join_take, message->join_batch,
                 message->join_drop_remainder != 0, message->join_whole != 0},
        .fingerprint = {message->fingerprint_hi, message->fingerprint_lo},
        .item_bytes = message->item_bytes,
        .pipeline_sum = message->pipeline_sum,
        .files_sum = message->files_sum,
        .identity = (enum cw_identity)CW_MIN(message->identity, (uint32_t)CW_IDENTITY_N),
    };
    if (info.elements < -1 || info.batch < 0 || info.item_bytes < -1 || !join_ok(&info.join) ||
        (info.sparse && info.chunk == 0))
        return cw_err_set(err, CW_E_CORRUPT, "facts of the pipeline are out of range");
    CW_SPEC_AUTO out = {0};
    int code = cw_wire_spec_from(message->out, &out, err);
    if (code)
        return cw_err_wrap(err, "facts of the pipeline");
    for (size_t i = 0; i < message->n_cacheable; i++) {
        struct cw_plan_cacheable node;
        code = cw_wire_cacheable_from(message->cacheable[i], &node, err);
        if (code)
            return code;
    }
    code = cw_wire_pads_from(message, &out, &info.pads, err);
    if (code)
        return cw_err_wrap(err, "facts of the pipeline");
    info.out = cw_spec_take(&out);
    *ret_info = info;
    return 0;
}

void cw_wire_info_fini(struct cw_plan_info *info)
{
    cw_spec_fini(&info->out);
    info->pads = cw_pads_unref(info->pads);
}

interval_pb **cw_wire_set_to(const struct cw_set *set, size_t *ret_n)
{
    char *block = cw_mem_new_array(set->n + 1, sizeof(interval_pb *) + sizeof(interval_pb));
    interval_pb **pointers = (interval_pb **)(void *)block;
    interval_pb *intervals = (interval_pb *)(void *)(block + (set->n + 1) * sizeof(interval_pb *));
    for (size_t i = 0; i < set->n; i++) {
        cachew__v1__interval__init(&intervals[i]);
        intervals[i].lo = set->v[i].lo;
        intervals[i].hi = set->v[i].hi;
        pointers[i] = &intervals[i];
    }
    *ret_n = set->n;
    return pointers;
}

int cw_wire_set_from(interval_pb *const *intervals, size_t n, struct cw_set *set,
                     struct cw_err *err)
{
    bool sorted = true;
    if (n > CW_INTERVALS_MAX)
        return cw_err_set(err, CW_E_LIMIT, "a set of %zu intervals", n);
    for (size_t i = 0; i < n; i++) {
        if (intervals[i]->lo >= intervals[i]->hi)
            return cw_err_set(err, CW_E_CORRUPT,
                              "a set with an interval that is empty or turned round");
        sorted &= i == 0 || intervals[i]->lo >= intervals[i - 1]->lo;
    }
    if (!sorted && n > CW_INTERVALS_UNSORTED_MAX)
        return cw_err_set(err, CW_E_CORRUPT, "a set of %zu intervals in no order", n);
    for (size_t i = 0; i < n; i++)
        cw_set_add(set, intervals[i]->lo, intervals[i]->hi);
    return 0;
}
