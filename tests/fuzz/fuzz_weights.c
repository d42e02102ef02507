/* SPDX-License-Identifier: Apache-2.0 */
/* Files of weights: any bytes give an error, or weights of which each draw is one that may be drawn. */
#include "ops/index/weights.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct cw_weights weights;
    struct cw_alias alias;
    struct cw_err err = {0};
    if (cw_weights_parse("text", (const char *)data, n, &weights, &err) < 0) {
        CW_ASSERT(err.msg[0]);
        return 0;
    }
    CW_ASSERT(weights.n > 0 && weights.drawn > 0 && weights.drawn <= weights.n);
    for (int64_t i = 0; i < weights.n; i++)
        CW_ASSERT(isfinite(weights.v[i]) && weights.v[i] >= 0);
    cw_alias_init(&alias, &weights);
    for (uint64_t k = 0; k < 64; k++) {
        struct cw_rng rng;
        cw_rng_init(&rng, 1, 2, 3, 4, k);
        int64_t i = cw_alias_draw(&alias, &rng);
        CW_ASSERT(i >= 0 && i < weights.n);
    }
    cw_alias_fini(&alias);
    cw_weights_fini(&weights);
    return 0;
}
