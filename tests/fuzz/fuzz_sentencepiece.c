/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a model of SentencePiece. What can be read encodes a text, which is the end of the input,
 * in parts and as a whole: the tokens are the same. */
#include <string.h>

#include "base/mem.h"
#include "ops/text/sp_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static int encode(struct cw_sp_model *model, const uint8_t *p, size_t n,
                  struct cw_sp_thread **ret_thread)
{
    struct cw_err err = {0};
    *ret_thread = cw_sp_thread_new(model);
    int rc = cw_sp_encode(model, *ret_thread, p, n, &err);
    CW_ASSERT(rc == 0 || err.msg[0]);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct cw_sp_model model;
    struct cw_sp_thread *a, *b;
    struct cw_err err = {0};
    cw_sp_init(&model);
    if (cw_sp_read(&model, data, n, &err) == 0) {
        const size_t text_n = CW_MIN(n, 200);
        const uint8_t *text = data + n - text_n;
        const int rc = encode(&model, text, text_n, &a);
        model.cut = CW_SP_CUT_NEVER;
        CW_ASSERT(encode(&model, text, text_n, &b) == rc);
        CW_ASSERT(rc < 0 || (a->ids.n == b->ids.n &&
                             (a->ids.n == 0 || memcmp(a->ids.v, b->ids.v, 4 * a->ids.n) == 0)));
        cw_sp_thread_free(a);
        cw_sp_thread_free(b);
    } else {
        CW_ASSERT(err.msg[0]);
    }
    cw_sp_fini(&model);
    return 0;
}
