/* SPDX-License-Identifier: Apache-2.0 */
/* Shards as TFRecord files of tf.train.Example messages, protobuf written by hand:
 *
 *   Example  { Features features = 1; }
 *   Features { map<string, Feature> feature = 1; }       an entry: key = 1, value = 2
 *   Feature  { BytesList bytes_list = 1; FloatList float_list = 2; Int64List int64_list = 3; }
 *   each list: repeated value = 1 (numbers packed)
 *
 * str, and u8 of rank 1 or more: bytes_list; other integers and bool: int64_list; floats:
 * float_list. The shape of a tensor of rank 2 or more, or of one whose dims the pipeline does
 * not know, is the feature NAME.shape. */
#include <endian.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "client/tool/shard/shard.h"
#include "format/crc32c.h"
#include "format/tfrecord.h"
#include "ops/kernels/num.h"

enum { BYTES_LIST = 1, FLOAT_LIST = 2, INT64_LIST = 3 };

struct tool_shard {
    const struct tool_shard_options *options;
    struct tool_bytes out, example, feature, list, packed;
    struct iovec part;
};

static int check(const struct tool_shard_options *options, struct cw_err *err)
{
    (void)options;
    (void)err;
    return 0;
}

static struct tool_shard *begin(const struct tool_shard_options *options)
{
    struct tool_shard *shard = CW_NEW(struct tool_shard);
    shard->options = options;
    return shard;
}

/* ---- protobuf ---- */

static int put_varint(struct tool_bytes *out, uint64_t v, struct cw_err *err)
{
    unsigned char bytes[10];
    size_t n = 0;
    for (; v >= 128; v >>= 7)
        bytes[n++] = (unsigned char)(v | 128);
    bytes[n++] = (unsigned char)v;
    return tool_bytes_add(out, bytes, n, err);
}

/* Begins a protobuf field of n bytes, which the caller writes. */
static int put_begin(struct tool_bytes *out, unsigned number, size_t n, struct cw_err *err)
{
    int rc = put_varint(out, number << 3 | 2, err);
    return rc < 0 ? rc : put_varint(out, n, err);
}

/* Writes the protobuf field `number` with these bytes. */
static int put_field(struct tool_bytes *out, unsigned number, const void *p, size_t n,
                     struct cw_err *err)
{
    int rc = put_begin(out, number, n, err);
    return rc < 0 || n == 0 ? rc : tool_bytes_add(out, p, n, err);
}

static size_t field_bytes(size_t n)
{
    size_t length_n = 1;
    for (size_t v = n; v >= 128; v >>= 7)
        length_n++;
    return 1 + length_n + n;
}

/* Writes one entry of an Example's map, whose list of values is in shard->list. */
static int put_feature(struct tool_shard *shard, const char *name, unsigned kind,
                       struct cw_err *err)
{
    size_t value_n = field_bytes(shard->list.n), name_n = strlen(name);
    int rc = put_begin(&shard->feature, 1, field_bytes(name_n) + field_bytes(value_n), err);
    if (rc == 0)
        rc = put_field(&shard->feature, 1, name, name_n, err);
    if (rc == 0)
        rc = put_begin(&shard->feature, 2, value_n, err);
    return rc < 0 ? rc : put_field(&shard->feature, kind, shard->list.p, shard->list.n, err);
}

static size_t count_of(const struct cw_view *view)
{
    size_t n = 1;
    for (int d = 0; d < view->rank; d++)
        n *= (size_t)view->dims[d];
    return n;
}

/* ---- lists ---- */

static int list_bytes(struct tool_shard *shard, const struct cw_view *view, struct cw_err *err)
{
    if (view->dtype != CW_DTYPE_STR || view->rank == 0)
        return put_field(&shard->list, 1, view->data, view->bytes, err);
    const int64_t *offsets = view->data; /* The layout is Arrow's (data/batch.h). */
    size_t n = count_of(view);
    const char *bytes = (const char *)(offsets + n + 1);
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = put_field(&shard->list, 1, bytes + offsets[i], (size_t)(offsets[i + 1] - offsets[i]),
                       err);
    return rc;
}

static int list_floats(struct tool_shard *shard, const struct cw_view *view, struct cw_err *err)
{
    int rc = 0;
    shard->packed.n = 0;
    for (size_t i = 0; i < count_of(view) && rc == 0; i++) {
        float v = (float)cw_num_get_f64(view->dtype, view->data, i);
        uint32_t le;
        memcpy(&le, &v, sizeof(le));
        le = htole32(le);
        rc = tool_bytes_add(&shard->packed, &le, sizeof(le), err);
    }
    return rc < 0 ? rc : put_field(&shard->list, 1, shard->packed.p, shard->packed.n, err);
}

static int list_ints(struct tool_shard *shard, const int64_t *values, const struct cw_view *view,
                     size_t n, struct cw_err *err)
{
    int rc = 0;
    shard->packed.n = 0;
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = put_varint(&shard->packed,
                        (uint64_t)(values ? values[i] : cw_num_get_i64(view->dtype, view->data, i)),
                        err);
    return rc < 0 ? rc : put_field(&shard->list, 1, shard->packed.p, shard->packed.n, err);
}

static unsigned kind_of(const struct cw_field *field)
{
    if (field->dtype == CW_DTYPE_STR || (field->dtype == CW_DTYPE_U8 && field->rank > 0))
        return BYTES_LIST;
    return cw_dtype_is_float(field->dtype) ? FLOAT_LIST : INT64_LIST;
}

static int put_tensor(struct tool_shard *shard, const struct cw_field *field,
                      const struct cw_view *view, struct cw_err *err)
{
    unsigned kind = kind_of(field);
    int rc;
    shard->list.n = 0;
    if (kind == BYTES_LIST)
        rc = list_bytes(shard, view, err);
    else if (kind == FLOAT_LIST)
        rc = list_floats(shard, view, err);
    else
        rc = list_ints(shard, NULL, view, count_of(view), err);
    return rc < 0 ? rc : put_feature(shard, field->name, kind, err);
}

static int put_shape(struct tool_shard *shard, const struct cw_field *field,
                     const struct cw_view *view, struct cw_err *err)
{
    char name[CW_FIELD_NAME_BYTES + 8];
    bool one = field->rank == 0 || (field->rank == 1 && cw_field_is_fixed(field));
    if (one || field->dtype == CW_DTYPE_STR)
        return 0;
    snprintf(name, sizeof(name), "%s.shape", field->name);
    shard->list.n = 0;
    int rc = list_ints(shard, view->dims, view, (size_t)view->rank, err);
    return rc < 0 ? rc : put_feature(shard, name, INT64_LIST, err);
}

/* ---- records ---- */

static int put_record(struct tool_shard *shard, struct cw_err *err)
{
    const struct tool_bytes *data = &shard->example;
    struct {
        uint64_t n;
        uint32_t crc;
    } head = {.n = htole64(data->n)};
    uint32_t crc = htole32(cw_crc32c_masked(data->p, data->n));
    head.crc = htole32(cw_crc32c_masked(&head.n, sizeof(head.n)));
    int rc = tool_bytes_add(&shard->out, &head, CW_TFRECORD_HEADER_BYTES, err);
    if (rc == 0)
        rc = tool_bytes_add(&shard->out, data->p, data->n, err);
    return rc < 0 ? rc : tool_bytes_add(&shard->out, &crc, sizeof(crc), err);
}

static int add(struct tool_shard *shard, uint64_t number, const struct cw_element *element,
               struct cw_err *err)
{
    const struct cw_spec *spec = &shard->options->spec;
    int rc = 0;
    (void)number;
    shard->feature.n = shard->example.n = 0;
    for (size_t i = 0; i < spec->n && rc == 0; i++) {
        rc = put_tensor(shard, &spec->fields[i], &element->fields[i], err);
        if (rc == 0)
            rc = put_shape(shard, &spec->fields[i], &element->fields[i], err);
    }
    if (rc == 0)
        rc = put_field(&shard->example, 1, shard->feature.p, shard->feature.n, err);
    return rc < 0 ? rc : put_record(shard, err);
}

static uint64_t bytes_of(const struct tool_shard *shard)
{
    return shard->out.n;
}

static int finish(struct tool_shard *shard, const struct iovec **ret_parts, size_t *ret_parts_n,
                  struct cw_err *err)
{
    (void)err;
    shard->part = (struct iovec){shard->out.p, shard->out.n};
    *ret_parts = &shard->part;
    *ret_parts_n = 1;
    return 0;
}

static void discard(struct tool_shard *shard)
{
    if (!shard)
        return;
    tool_bytes_fini(&shard->out);
    tool_bytes_fini(&shard->example);
    tool_bytes_fini(&shard->feature);
    tool_bytes_fini(&shard->list);
    tool_bytes_fini(&shard->packed);
    cw_mem_free(shard);
}

const struct tool_shard_format tool_shard_tfrecord = {.name = "tfrecord",
                                                      .ext = "tfrecord",
                                                      .check = check,
                                                      .begin = begin,
                                                      .add = add,
                                                      .bytes = bytes_of,
                                                      .finish = finish,
                                                      .discard = discard};
