/* SPDX-License-Identifier: Apache-2.0 */
/* Elements that are shown, as JSON: bytes are in base64. */
#include <inttypes.h>

#include "base/json_member.h"
#include "wire/reply_json.h"

/* Appends bytes in base64, with padding (RFC 4648, section 4), as a JSON string. */
static void add_base64(struct cw_str *out, const ProtobufCBinaryData *bytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    cw_str_add_char(out, '"');
    for (size_t i = 0; i < bytes->len; i += 3) {
        size_t n = CW_MIN(bytes->len - i, 3);
        uint32_t bits = (uint32_t)bytes->data[i] << 16;
        bits |= n > 1 ? (uint32_t)bytes->data[i + 1] << 8 : 0;
        bits |= n > 2 ? bytes->data[i + 2] : 0;
        const char text[4] = {digits[bits >> 18], digits[bits >> 12 & 63],
                              n > 1 ? digits[bits >> 6 & 63] : '=',
                              n > 2 ? digits[bits & 63] : '='};
        cw_str_add_bytes(out, text, sizeof(text));
    }
    cw_str_add_char(out, '"');
}

static void add_dims(struct cw_str *out, const char *key, const int64_t *dims, size_t n)
{
    cw_str_addf(out, ",\"%s\":[", key);
    for (size_t i = 0; i < n; i++)
        cw_str_addf(out, "%s%" PRId64, i > 0 ? "," : "", dims[i]);
    cw_str_add_char(out, ']');
}

static void add_field(struct cw_str *out, const Cachew__V1__ShownField *f)
{
    cw_str_add_char(out, '{');
    cw_member_text(out, "name", f->name);
    cw_member_text(out, "dtype", f->dtype);
    cw_member_number(out, "bytes", f->bytes);
    add_dims(out, "dims", f->dims, f->n_dims);
    add_dims(out, "shown", f->shown, f->n_shown);
    cw_str_add(out, ",\"data\":");
    add_base64(out, &f->data);
    cw_str_add(out, ",\"strings\":[");
    for (size_t i = 0; i < f->n_strings; i++) {
        cw_str_add(out, i > 0 ? "," : "");
        add_base64(out, &f->strings[i]);
    }
    cw_str_add(out, "]}");
}

static void add_element(struct cw_str *out, const Cachew__V1__ShownElement *element)
{
    cw_str_add_char(out, '[');
    for (size_t i = 0; i < element->n_fields; i++) {
        cw_str_add(out, i > 0 ? "," : "");
        add_field(out, element->fields[i]);
    }
    cw_str_add_char(out, ']');
}

void cw_wire_elements_json(const Cachew__V1__ShowElementsReply *reply, struct cw_str *out)
{
    const Cachew__V1__ElementsShown *shown = reply->shown;
    cw_str_add_char(out, '{');
    cw_member_bool(out, "allowed", reply->allowed);
    cw_member_bool(out, "shown", shown != NULL);
    if (shown) {
        cw_member_number(out, "age_ms", reply->age_ms);
        cw_member_number(out, "epoch", shown->epoch);
        cw_member_number(out, "item", shown->item);
        cw_member_number(out, "rows", shown->rows);
    }
    cw_str_add(out, ",\"elements\":[");
    for (size_t i = 0; shown && i < shown->n_elements; i++) {
        cw_str_add(out, i > 0 ? "," : "");
        add_element(out, shown->elements[i]);
    }
    cw_str_add(out, "]}");
}
