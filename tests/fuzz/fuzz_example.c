/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of tf.train.Example: what is counted is what is read, and nothing beside it. */
#include <string.h>

#include "base/mem.h"
#include "format/example.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void read_one(const void *record, const struct cw_example_feature *feature,
                     enum cw_example_kind kind)
{
    struct cw_example_values values;
    struct cw_err err = {0};
    int rc = cw_example_count(record, feature, kind, &values, &err);
    CW_ASSERT(rc == 0 || (rc == CW_E_CORRUPT && err.msg[0]));
    if (rc < 0 || kind == CW_EXAMPLE_BYTES)
        return;
    size_t bytes = values.n * (kind == CW_EXAMPLE_FLOAT ? 4 : 8);
    cw_autofree uint8_t *copy = cw_mem_new(bytes + 1);
    memset(copy, 0xa5, bytes + 1);
    cw_example_read(feature, kind, copy);
    CW_ASSERT(copy[bytes] == 0xa5);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct cw_example_feature features[] = {{.name = "label", .name_n = 5},
                                            {.name = "box", .name_n = 3},
                                            {.name = "", .name_n = 0},
                                            {.name = "t", .name_n = 1, .is_list = true}};
    struct cw_err err = {0};
    size_t hint = 0;
    int rc = cw_example_find(data, n, features, CW_ARRAY_LEN(features), &hint, &err);
    CW_ASSERT(rc == 0 || (rc == CW_E_CORRUPT && err.msg[0]));
    for (size_t i = 0; i < CW_ARRAY_LEN(features) && rc == 0; i++) {
        if (!features[i].p)
            continue;
        read_one(data, &features[i], CW_EXAMPLE_BYTES);
        read_one(data, &features[i], CW_EXAMPLE_FLOAT);
        read_one(data, &features[i], CW_EXAMPLE_INT64);
    }
    return 0;
}
