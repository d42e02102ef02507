/* SPDX-License-Identifier: Apache-2.0 */
/* Options of a source, with what its files say of them (graph/complete.h does it for pipelines). */
#ifndef CW_TESTS_COMPLETED_H
#define CW_TESTS_COMPLETED_H

#include <string.h>

#include "ops/op.h"

/* Parses `options` into the zeroed ret_opts; where they do not say what the elements are, the first file is
 * looked into. */
static inline int cw_test_parse_completed(const struct cw_op *op, const struct cw_value *options,
                                          void *ret_opts, struct cw_err *err)
{
    static const struct cw_opt none[] = {
        {0},
    };
    const struct cw_opt *table = op->options ? op->options : none;
    const struct cw_op_open how = {.manifest = NULL};
    struct cw_value said = {0};
    int rc = cw_opt_parse(table, options, ret_opts, err);
    if (rc < 0 || !op->is_complete || op->is_complete(ret_opts))
        return rc;
    rc = op->check ? op->check(ret_opts, err) : 0;
    cw_value_copy(&said, options);
    if (rc == 0)
        rc = op->complete(ret_opts, &how, &said, err);
    cw_opt_fini(table, ret_opts);
    memset(ret_opts, 0, op->options_bytes);
    if (rc == 0)
        rc = cw_opt_parse(table, &said, ret_opts, err);
    cw_value_fini(&said);
    return rc;
}

#endif
