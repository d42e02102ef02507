/* SPDX-License-Identifier: Apache-2.0 */
/* Scans protobuf messages: a key (number of the field << 3 | type) and a value, again and again.
 *
 *   Example         { Features features = 1; }
 *   SequenceExample { Features context = 1; FeatureLists feature_lists = 2; }
 *   Features        { map<string, Feature> feature = 1; }
 *   FeatureLists    { map<string, FeatureList> feature_list = 1; }
 *   FeatureList     { repeated Feature feature = 1; }
 *   Feature         { oneof { BytesList = 1; FloatList = 2; Int64List = 3; } }
 *   ...List         { repeated bytes / float / int64 value = 1; }, packed or not */
#include "format/example.h"

#include <endian.h>
#include <string.h>

enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

/* The rest of a message. */
struct rest {
    const uint8_t *p, *end;
};
/* A field of a message. */
struct field {
    uint32_t number;
    unsigned type;
    struct rest bytes; /* of type WIRE_BYTES, WIRE_32 and WIRE_64 */
    uint64_t varint;
};

static bool take_varint(struct rest *rest, uint64_t *ret)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64 && rest->p < rest->end; shift += 7) {
        uint8_t byte = *rest->p++;
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            *ret = v;
            return true;
        }
    }
    return false;
}

static bool take_bytes(struct rest *rest, uint64_t n, struct rest *ret)
{
    if (n > (uint64_t)(rest->end - rest->p))
        return false;
    *ret = (struct rest){rest->p, rest->p + n};
    rest->p += n;
    return true;
}

/* Takes the next field. Returns 1, 0 at the end, -1 if the message is damaged. */
static int take_field(struct rest *rest, struct field *ret)
{
    uint64_t key, n = 0;
    if (rest->p == rest->end)
        return 0;
    if (!take_varint(rest, &key) || key >> 3 == 0 || key >> 32)
        return -1;
    ret->number = (uint32_t)(key >> 3);
    ret->type = (unsigned)key & 7;
    switch (ret->type) {
    case WIRE_VARINT:
        return take_varint(rest, &ret->varint) ? 1 : -1;
    case WIRE_64:
        return take_bytes(rest, 8, &ret->bytes) ? 1 : -1;
    case WIRE_32:
        return take_bytes(rest, 4, &ret->bytes) ? 1 : -1;
    case WIRE_BYTES:
        return take_varint(rest, &n) && take_bytes(rest, n, &ret->bytes) ? 1 : -1;
    default: /* groups, which nobody writes any more */
        return -1;
    }
}

static int damaged(const void *record, const struct rest *at, struct cw_err *err)
{
    return cw_err_set(err, CW_E_CORRUPT,
                      "not a tf.train.Example, or damaged, at byte %zu of the record",
                      (size_t)(at->p - (const uint8_t *)record));
}

static bool is_message(const struct field *field, uint32_t number)
{
    return field->number == number && field->type == WIRE_BYTES;
}

/* ---- finding ---- */

struct search {
    const void *record;
    struct cw_example_feature *features;
    size_t n;
    size_t *hint;
};

static bool is_it(const struct cw_example_feature *f, const struct rest *name, bool is_list)
{
    size_t n = (size_t)(name->end - name->p);
    return f->is_list == is_list && f->name_n == n && (n == 0 || memcmp(f->name, name->p, n) == 0);
}

static void found(const struct search *s, const struct rest *name, const struct rest *value,
                  bool is_list)
{
    size_t at = *s->hint;
    for (size_t k = 0; k < s->n; k++, at++) {
        at = at < s->n ? at : 0;
        if (!is_it(&s->features[at], name, is_list))
            continue;
        s->features[at].p = value->p;
        s->features[at].n = (size_t)(value->end - value->p);
        *s->hint = at + 1;
        return;
    }
}

/* An entry of a map: the last one of a name counts, and what is left out is empty. */
static int take_entry(const struct search *s, struct rest entry, bool is_list, struct cw_err *err)
{
    struct rest name = {entry.p, entry.p}, value = {entry.p, entry.p};
    struct field field = {0};
    int more;
    while ((more = take_field(&entry, &field)) > 0) {
        if (is_message(&field, 1))
            name = field.bytes;
        else if (is_message(&field, 2))
            value = field.bytes;
    }
    if (more < 0)
        return damaged(s->record, &entry, err);
    found(s, &name, &value, is_list);
    return 0;
}

static int take_map(const struct search *s, struct rest map, bool is_list, struct cw_err *err)
{
    struct field field = {0};
    int more, rc = 0;
    while (rc == 0 && (more = take_field(&map, &field)) != 0) {
        if (more < 0)
            return damaged(s->record, &map, err);
        if (is_message(&field, 1))
            rc = take_entry(s, field.bytes, is_list, err);
    }
    return rc;
}

int cw_example_find(const void *record, size_t record_n, struct cw_example_feature *features,
                    size_t n, size_t *hint, struct cw_err *err)
{
    const struct search s = {record, features, n, hint};
    struct rest rest = {record, (const uint8_t *)record + record_n};
    struct field field = {0};
    int more, rc = 0;
    for (size_t i = 0; i < n; i++)
        features[i].p = NULL;
    while (rc == 0 && (more = take_field(&rest, &field)) != 0) {
        if (more < 0)
            return damaged(record, &rest, err);
        if (is_message(&field, 1) || is_message(&field, 2))
            rc = take_map(&s, field.bytes, field.number == 2, err);
    }
    return rc;
}

/* ---- values ---- */

/* Counts the varints of a packed list; -1 if it is damaged. */
static int64_t count_varints(struct rest rest)
{
    uint64_t v;
    int64_t n = 0;
    for (; rest.p < rest.end; n++)
        if (!take_varint(&rest, &v))
            return -1;
    return n;
}

/* Counts the values of one field of a list; -1 if it is damaged. */
static int64_t count_field(const struct field *field, enum cw_example_kind kind,
                           struct cw_example_values *values)
{
    size_t n = field->type == WIRE_VARINT ? 0 : (size_t)(field->bytes.end - field->bytes.p);
    if (field->number != 1)
        return 0;
    switch (kind) {
    case CW_EXAMPLE_BYTES:
        if (field->type != WIRE_BYTES)
            return -1;
        values->bytes = field->bytes.p;
        values->bytes_n = n;
        values->all_bytes += n;
        return 1;
    case CW_EXAMPLE_FLOAT:
        return (field->type == WIRE_BYTES || field->type == WIRE_32) && n % 4 == 0
                   ? (int64_t)(n / 4)
                   : -1;
    case CW_EXAMPLE_INT64:
        return field->type == WIRE_VARINT  ? 1
               : field->type == WIRE_BYTES ? count_varints(field->bytes)
                                           : -1;
    default:
        return -1;
    }
}

static int count_list(const void *record, struct rest list, enum cw_example_kind kind,
                      struct cw_example_values *values, struct cw_err *err)
{
    struct field field = {0};
    int more;
    while ((more = take_field(&list, &field)) != 0) {
        int64_t n = more < 0 ? -1 : count_field(&field, kind, values);
        if (n < 0)
            return damaged(record, &list, err);
        values->n += (size_t)n;
    }
    return 0;
}

static int count_feature(const void *record, struct rest feature, enum cw_example_kind kind,
                         struct cw_example_values *values, struct cw_err *err)
{
    static const char *const names[] = {"", "bytes", "floats", "int64s"};
    struct field field = {0};
    int more, rc = 0;
    while (rc == 0 && (more = take_field(&feature, &field)) != 0) {
        if (more < 0)
            return damaged(record, &feature, err);
        if (field.type != WIRE_BYTES || field.number > CW_EXAMPLE_INT64)
            continue;
        if (field.number != kind)
            return cw_err_set(err, CW_E_CORRUPT, "it is a list of %s, not of %s",
                              names[field.number], names[kind]);
        rc = count_list(record, field.bytes, kind, values, err);
    }
    return rc;
}

int cw_example_count(const void *record, const struct cw_example_feature *feature,
                     enum cw_example_kind kind, struct cw_example_values *ret_values,
                     struct cw_err *err)
{
    struct cw_example_values values = {.is_even = true};
    struct rest rest = {feature->p, feature->p + feature->n};
    struct field field = {0};
    size_t first = 0;
    int more, rc = 0;
    if (!feature->is_list) {
        values.steps = 1;
        rc = count_feature(record, rest, kind, &values, err);
    }
    while (feature->is_list && rc == 0 && (more = take_field(&rest, &field)) != 0) {
        size_t before = values.n;
        if (more < 0)
            return damaged(record, &rest, err);
        if (!is_message(&field, 1))
            continue;
        rc = count_feature(record, field.bytes, kind, &values, err);
        first = values.steps++ == 0 ? values.n : first;
        values.is_even = values.is_even && values.n - before == first;
    }
    *ret_values = values;
    return rc;
}

static uint8_t *read_varints(struct rest rest, uint8_t *dst)
{
    uint64_t v = 0;
    for (; rest.p < rest.end; dst += sizeof(v)) {
        if (*rest.p < 0x80)
            v = *rest.p++;
        else
            (void)take_varint(&rest, &v);
        memcpy(dst, &v, sizeof(v));
    }
    return dst;
}

static uint8_t *read_floats(struct rest rest, uint8_t *dst)
{
    size_t n = (size_t)(rest.end - rest.p);
    memcpy(dst, rest.p, n);
    for (size_t i = 0; __BYTE_ORDER == __BIG_ENDIAN && i < n; i += 4) {
        uint32_t v;
        memcpy(&v, dst + i, 4);
        v = le32toh(v);
        memcpy(dst + i, &v, 4);
    }
    return dst + n;
}

static uint8_t *read_list(struct rest list, enum cw_example_kind kind, uint8_t *dst)
{
    struct field field = {0};
    while (take_field(&list, &field) > 0) {
        if (field.number != 1)
            continue;
        if (kind == CW_EXAMPLE_FLOAT) {
            dst = read_floats(field.bytes, dst);
        } else if (field.type == WIRE_BYTES) {
            dst = read_varints(field.bytes, dst);
        } else {
            memcpy(dst, &field.varint, sizeof(field.varint));
            dst += sizeof(field.varint);
        }
    }
    return dst;
}

static uint8_t *read_feature(struct rest feature, enum cw_example_kind kind, uint8_t *dst)
{
    struct field field = {0};
    while (take_field(&feature, &field) > 0)
        if (is_message(&field, kind))
            dst = read_list(field.bytes, kind, dst);
    return dst;
}

void cw_example_read(const struct cw_example_feature *feature, enum cw_example_kind kind, void *dst)
{
    struct rest rest = {feature->p, feature->p + feature->n};
    struct field field = {0};
    uint8_t *at = dst;
    if (!feature->is_list)
        read_feature(rest, kind, dst);
    while (feature->is_list && take_field(&rest, &field) > 0)
        if (is_message(&field, 1))
            at = read_feature(field.bytes, kind, at);
}

void cw_example_read_strings(const struct cw_example_feature *feature, size_t n, void *dst)
{
    struct rest rest = {feature->p, feature->p + feature->n};
    struct field list, field;
    char *table = dst, *bytes = table + (n + 1) * sizeof(int64_t);
    int64_t at = 0;
    memcpy(table, &at, sizeof(at));
    while (take_field(&rest, &list) > 0) {
        if (list.type != WIRE_BYTES || list.number != CW_EXAMPLE_BYTES)
            continue;
        while (take_field(&list.bytes, &field) > 0) {
            if (field.number != 1)
                continue;
            size_t one = (size_t)(field.bytes.end - field.bytes.p);
            if (one > 0)
                memcpy(bytes + at, field.bytes.p, one);
            at += (int64_t)one;
            table += sizeof(at);
            memcpy(table, &at, sizeof(at));
        }
    }
}
