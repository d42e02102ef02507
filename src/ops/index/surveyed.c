/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/index/surveyed.h"

#include <string.h>

#include "base/mem.h"
#include "ops/op_util.h"

/* Fates of more bytes do not travel in manifests: they are found where indices are kept. */
#define TEXT_BYTES_MAX ((size_t)1 << 20)

/* ---- fates ---- */

bool cw_fates_init(struct cw_fates *fates, uint64_t n)
{
    const size_t bytes = cw_fates_bytes(n) + 1;
    *fates = (struct cw_fates){.n = n, .kept = cw_mem_try(bytes), .bad = cw_mem_try(bytes)};
    if (!fates->kept || !fates->bad) {
        cw_fates_fini(fates);
        return false;
    }
    memset(fates->kept, 0, bytes);
    memset(fates->bad, 0, bytes);
    return true;
}

void cw_fates_fini(struct cw_fates *fates)
{
    cw_mem_free(fates->kept);
    cw_mem_free(fates->bad);
    *fates = (struct cw_fates){0};
}

uint64_t cw_fates_count(const uint8_t *bits, uint64_t n)
{
    uint64_t set = 0;
    for (size_t i = 0; i < cw_fates_bytes(n); i++)
        set += (uint64_t)__builtin_popcount(bits[i]);
    return set;
}

void cw_fates_write(const struct cw_fates *fates, struct cw_str *out)
{
    const size_t n = cw_fates_bytes(fates->n);
    cw_str_add_bytes(out, fates->kept, n);
    if (cw_fates_count(fates->bad, fates->n) > 0)
        cw_str_add_bytes(out, fates->bad, n);
}

/* Whether no element has two fates, and there is nothing behind the last one. */
static bool are_sound(const struct cw_fates *fates)
{
    const size_t n = cw_fates_bytes(fates->n);
    for (size_t i = 0; i < n; i++)
        if (fates->kept[i] & fates->bad[i])
            return false;
    return fates->n % 8 == 0 || (fates->kept[n - 1] | fates->bad[n - 1]) >> fates->n % 8 == 0;
}

bool cw_fates_read(const uint8_t *bytes, size_t bytes_n, uint64_t n, struct cw_fates *ret_fates)
{
    struct cw_fates fates;
    const size_t half = cw_fates_bytes(n);
    if ((bytes_n != half && bytes_n != 2 * half) || !cw_fates_init(&fates, n))
        return false;
    if (half > 0)
        memcpy(fates.kept, bytes, half);
    if (bytes_n > half)
        memcpy(fates.bad, bytes + half, half);
    if (!are_sound(&fates)) {
        cw_fates_fini(&fates);
        return false;
    }
    *ret_fates = fates;
    return true;
}

/* ---- digits ---- */

void cw_hex_add(const uint8_t *bytes, size_t n, struct cw_str *out)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < n; i++) {
        const char two[2] = {digits[bytes[i] >> 4], digits[bytes[i] & 15]};
        cw_str_add_bytes(out, two, 2);
    }
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool cw_hex_read(const char *text, uint8_t *ret_bytes, size_t n)
{
    if (strlen(text) != 2 * n)
        return false;
    for (size_t i = 0; i < n; i++) {
        const int high = digit_of(text[2 * i]), low = digit_of(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        ret_bytes[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

/* ---- the operator in the filter's place ---- */

static int count(const void *opts, void *state, const int64_t *in_n, size_t inputs_n,
                 int64_t *ret_n, struct cw_err *err)
{
    const struct cw_surveyed *surveyed = state;
    (void)opts;
    (void)in_n;
    (void)inputs_n;
    (void)err;
    *ret_n = (int64_t)surveyed->select.set_n;
    return 0;
}

/* The order that is asked for a position, of all elements that are kept. */
static struct cw_at at_order(const struct cw_surveyed *surveyed,
                             const struct cw_surveyed_order *order, const struct cw_at *at)
{
    struct cw_at its = *at;
    its.tag = order->tag;
    its.in_n = &at->n;
    its.n = (int64_t)surveyed->select.set_n;
    return its;
}

static int64_t map(const void *opts, void *state, struct cw_at *at, int64_t pos, size_t *ret_input)
{
    const struct cw_surveyed *surveyed = state;
    (void)opts;
    for (size_t i = 0; i < surveyed->orders_n; i++) {
        const struct cw_surveyed_order *order = &surveyed->orders[i];
        struct cw_at its = at_order(surveyed, order, at);
        size_t input = 0;
        pos = order->op->map(order->opts, NULL, &its, pos, &input);
    }
    *ret_input = 0;
    return (int64_t)cw_select_at(&surveyed->select, (uint64_t)pos);
}

static void map_run(const void *opts, void *state, const struct cw_at *at, int64_t *pos, size_t n)
{
    const struct cw_surveyed *surveyed = state;
    (void)opts;
    for (size_t i = 0; i < surveyed->orders_n; i++) {
        const struct cw_surveyed_order *order = &surveyed->orders[i];
        const struct cw_at its = at_order(surveyed, order, at);
        order->op->map_run(order->opts, NULL, &its, pos, n);
    }
    cw_select_run(&surveyed->select, pos, n);
}

static void manifest(const void *opts, void *state, struct cw_value *ret_value)
{
    const struct cw_surveyed *surveyed = state;
    char sum[CW_HASH_TEXT_BYTES];
    (void)opts;
    cw_hash_text(surveyed->sum, sum);
    cw_value_set_object(ret_value);
    struct cw_value *said = cw_value_member(ret_value, "survey");
    cw_value_set_object(said);
    cw_value_set_i64(cw_value_member(said, "elements"), (int64_t)surveyed->n);
    cw_value_set_i64(cw_value_member(said, "kept"), (int64_t)surveyed->kept_n);
    cw_value_set_i64(cw_value_member(said, "bad"), (int64_t)surveyed->bad_n);
    cw_value_set_bool(cw_value_member(said, "skips_bad"), surveyed->skips_bad);
    cw_value_set_str(cw_value_member(said, "sum"), sum);
    if (surveyed->text)
        cw_value_set_str(cw_value_member(said, "fates"), surveyed->text);
}

static void close_state(void *state)
{
    cw_surveyed_free(state);
}

static void set_op(struct cw_surveyed *surveyed, const struct cw_op *op)
{
    surveyed->op = (struct cw_op){.name = op->name,
                                  .version = op->version,
                                  .summary = op->summary,
                                  .doc = op->doc,
                                  .kind = CW_OP_INDEX,
                                  .inputs_min = 1,
                                  .inputs_max = 1,
                                  .infer = cw_op_infer_same,
                                  .close = close_state,
                                  .count = count,
                                  .map = map,
                                  .map_run = map_run,
                                  .manifest = manifest};
}

/* The checksum of the fates, and their digits if they are few. */
static void sum_up(struct cw_surveyed *surveyed, const struct cw_fates *fates)
{
    CW_STR_AUTO bytes = {0};
    CW_STR_AUTO text = {0};
    cw_fates_write(fates, &bytes);
    surveyed->sum = cw_hash_bytes(cw_str_text(&bytes), bytes.len);
    if (bytes.len > TEXT_BYTES_MAX)
        return;
    cw_hex_add((const uint8_t *)cw_str_text(&bytes), bytes.len, &text);
    surveyed->text = cw_mem_strdup(cw_str_text(&text));
}

int cw_surveyed_new(const struct cw_op *op, struct cw_fates *fates, bool skips_bad,
                    struct cw_surveyed **ret_surveyed, struct cw_err *err)
{
    struct cw_surveyed *s = CW_NEW(struct cw_surveyed);
    s->n = fates->n;
    s->kept_n = cw_fates_count(fates->kept, fates->n);
    s->bad_n = cw_fates_count(fates->bad, fates->n);
    s->skips_bad = skips_bad;
    set_op(s, op);
    const bool gives_bad = s->bad_n > 0 && !skips_bad;
    if (!cw_select_init(&s->select, fates->kept, gives_bad ? fates->bad : NULL, fates->n)) {
        cw_fates_fini(fates);
        cw_surveyed_free(s);
        return cw_err_set(err, CW_E_NOMEM, "no memory for what is known of %llu elements",
                          (unsigned long long)fates->n);
    }
    sum_up(s, fates);
    if (gives_bad)
        s->bad = cw_steal(&fates->bad);
    cw_fates_fini(fates);
    *ret_surveyed = s;
    return 0;
}

void cw_surveyed_free(struct cw_surveyed *surveyed)
{
    if (!surveyed)
        return;
    cw_select_fini(&surveyed->select);
    cw_mem_free(surveyed->bad);
    cw_mem_free(surveyed->text);
    cw_mem_free(surveyed->orders);
    cw_mem_free(surveyed);
}

void cw_surveyed_add_order(struct cw_surveyed *surveyed, const struct cw_op *op, const void *opts,
                           uint64_t tag)
{
    const size_t n = surveyed->orders_n++;
    surveyed->orders = cw_mem_grow(surveyed->orders, surveyed->orders_n, sizeof(*surveyed->orders));
    surveyed->orders[n] = (struct cw_surveyed_order){.op = op, .opts = opts, .tag = tag};
}

/* ---- manifests ---- */

static bool get_number(const struct cw_value *said, const char *key, uint64_t *ret)
{
    const struct cw_value *value = cw_value_get(said, key);
    if (!value || value->type != CW_VALUE_I64 || value->i < 0)
        return false;
    *ret = (uint64_t)value->i;
    return true;
}

int cw_survey_said_read(const struct cw_value *manifest, struct cw_survey_said *ret_said,
                        struct cw_err *err)
{
    struct cw_survey_said s = {0};
    const struct cw_value *said =
        manifest->type == CW_VALUE_OBJECT ? cw_value_get(manifest, "survey") : NULL;
    if (!said || said->type != CW_VALUE_OBJECT)
        return cw_err_set(err, CW_E_INVALID, "the manifest has no survey");
    const struct cw_value *skips = cw_value_get(said, "skips_bad"),
                          *sum = cw_value_get(said, "sum"), *text = cw_value_get(said, "fates");
    if (!get_number(said, "elements", &s.n) || !get_number(said, "kept", &s.kept_n) ||
        !get_number(said, "bad", &s.bad_n) || !skips || skips->type != CW_VALUE_BOOL || !sum ||
        sum->type != CW_VALUE_STR || !cw_hash_parse(sum->s, &s.sum) ||
        (text && text->type != CW_VALUE_STR))
        return cw_err_set(err, CW_E_INVALID, "what the manifest says of the survey is no survey");
    s.skips_bad = skips->b;
    s.text = text ? text->s : NULL;
    *ret_said = s;
    return 0;
}
