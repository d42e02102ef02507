/* SPDX-License-Identifier: Apache-2.0 */
/* The head of a page, in Thrift's compact protocol. */
#include "format/parquet/page_map.h"
#include "format/parquet/thrift.h"

static uint32_t get_size(struct cw_thrift *t, const struct cw_thrift_field *f)
{
    int64_t value = cw_thrift_int(t, f);
    if (value < 0 || value > INT32_MAX)
        cw_thrift_fail(t, "the head of a page has a negative size");
    return (uint32_t)value;
}

/* A data page of version 1, or a dictionary: {1: values, 2: encoding, 3 and 4: of the levels} */
static void read_data(struct cw_thrift *t, struct cw_pq_page_head *head)
{
    struct cw_thrift_field f = {0};
    while (cw_thrift_next(t, &f)) {
        if (f.id == 1)
            head->values = get_size(t, &f);
        else if (f.id == 2)
            head->encoding = (int)cw_thrift_int(t, &f);
        else if (f.id == 3 && f.type == CW_THRIFT_I32)
            head->def_encoding = (int)cw_thrift_int(t, &f);
        else if (f.id == 4)
            head->rep_encoding = (int)cw_thrift_int(t, &f);
        else
            cw_thrift_skip(t, &f);
    }
}

static void read_data_v2(struct cw_thrift *t, struct cw_pq_page_head *head)
{
    struct cw_thrift_field f = {0};
    while (cw_thrift_next(t, &f)) {
        if (f.id == 1)
            head->values = get_size(t, &f);
        else if (f.id == 4)
            head->encoding = (int)cw_thrift_int(t, &f);
        else if (f.id == 5)
            head->def_bytes = get_size(t, &f);
        else if (f.id == 6)
            head->rep_bytes = get_size(t, &f);
        else if (f.id == 7)
            head->packed = cw_thrift_bool(t, &f);
        else
            cw_thrift_skip(t, &f);
    }
}

static void read_head(struct cw_thrift *t, struct cw_pq_page_head *head)
{
    struct cw_thrift_field f = {0};
    while (cw_thrift_next(t, &f)) {
        if (f.id == 1) {
            head->type = (int)cw_thrift_int(t, &f);
        } else if (f.id == 2) {
            head->bytes = get_size(t, &f);
        } else if (f.id == 3) {
            head->stored_bytes = get_size(t, &f);
        } else if (f.id == 4) {
            head->crc = (uint32_t)cw_thrift_int(t, &f);
            head->has_crc = true;
        } else if ((f.id == 5 || f.id == 7) && cw_thrift_struct(t, &f)) {
            read_data(t, head);
        } else if (f.id == 8 && cw_thrift_struct(t, &f)) {
            read_data_v2(t, head);
        } else {
            cw_thrift_skip(t, &f);
        }
    }
}

const char *cw_pq_page_head_read(const uint8_t *p, size_t n, struct cw_pq_page_head *ret_head,
                                 bool *ret_cut)
{
    struct cw_thrift t = cw_thrift_begin(p, n);
    struct cw_pq_page_head head = {
        .type = -1, .packed = true, .def_encoding = 3, .rep_encoding = 3};
    read_head(&t, &head);
    head.head_bytes = (size_t)(t.p - t.begin);
    *ret_cut = t.fault && t.fault_at + 16 >= n;
    *ret_head = head;
    return t.fault;
}
