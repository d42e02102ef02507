/* SPDX-License-Identifier: Apache-2.0 */
/* How the client fills up the rows of a sparse pipeline, as messages. */
#include "base/mem.h"
#include "wire/wire_int.h"

typedef Cachew__V1__Pad pad_pb;

static uint64_t value_to(const unsigned char value[8])
{
    uint64_t bits = 0;
    for (unsigned i = 0; i < 8; i++)
        bits |= (uint64_t)value[i] << (8 * i);
    return bits;
}

static void value_from(uint64_t bits, unsigned char value[8])
{
    for (unsigned i = 0; i < 8; i++)
        value[i] = (unsigned char)(bits >> (8 * i));
}

static pad_pb *pad_to(size_t field, const struct cw_pad *pad, size_t rank)
{
    pad_pb *message = CW_NEW(pad_pb);
    cachew__v1__pad__init(message);
    message->field = (uint32_t)field;
    message->n_on = message->n_to = rank;
    message->on = CW_NEW_ARRAY(protobuf_c_boolean, rank + 1);
    message->to = CW_NEW_ARRAY(int64_t, rank + 1);
    for (size_t d = 0; d < rank; d++) {
        message->on[d] = pad->on[d];
        message->to[d] = pad->to[d];
    }
    message->multiple = pad->multiple;
    message->value = value_to(pad->value);
    message->left = pad->left;
    message->length = (uint32_t)(pad->length + 1);
    message->mask = (uint32_t)(pad->mask + 1);
    return message;
}

void cw_wire_pads_to(const struct cw_plan_info *info, Cachew__V1__PlanInfo *message)
{
    const struct cw_pads *pads = info->pads;
    if (!pads)
        return;
    message->row_fields = (uint32_t)pads->n;
    message->pads = CW_NEW_ARRAY(pad_pb *, pads->n + 1);
    for (size_t f = 0; f < pads->n; f++)
        if (pads->field[f].is)
            message->pads[message->n_pads++] =
                pad_to(f, &pads->field[f].how, (size_t)(info->out.fields[f].rank - 1));
}

static int pad_from(const pad_pb *message, struct cw_pads *pads, const struct cw_spec *out,
                    struct cw_err *err)
{
    const size_t f = message->field;
    if (f >= pads->n || f >= out->n || pads->field[f].is || out->fields[f].rank < 1 ||
        message->n_on != (size_t)out->fields[f].rank - 1 || message->n_to != message->n_on ||
        message->length > CW_FIELDS_MAX || message->mask > CW_FIELDS_MAX)
        return cw_err_set(err, CW_E_CORRUPT, "how rows are filled up is out of range");
    struct cw_pad *pad = &pads->field[f].how;
    pads->field[f].is = true;
    for (size_t d = 0; d < message->n_on; d++) {
        pad->on[d] = message->on[d] != 0;
        pad->to[d] = message->to[d];
    }
    pad->multiple = message->multiple;
    value_from(message->value, pad->value);
    pad->left = message->left != 0;
    pad->length = (int)message->length - 1;
    pad->mask = (int)message->mask - 1;
    return 0;
}

int cw_wire_pads_from(const Cachew__V1__PlanInfo *message, const struct cw_spec *out,
                      struct cw_pads **ret_pads, struct cw_err *err)
{
    int rc = 0;
    if (message->n_pads == 0)
        return 0;
    if (message->row_fields > CW_FIELDS_MAX || message->join_batch <= 0 || !message->sparse)
        return cw_err_set(err, CW_E_CORRUPT, "how rows are filled up is out of range");
    struct cw_pads *pads = cw_pads_new(message->row_fields);
    for (size_t i = 0; rc == 0 && i < message->n_pads; i++)
        rc = pad_from(message->pads[i], pads, out, err);
    if (rc == 0)
        rc = cw_pads_check(pads, out, err);
    if (rc == 0)
        *ret_pads = pads;
    else
        cw_pads_unref(pads);
    return rc;
}
