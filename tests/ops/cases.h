/* SPDX-License-Identifier: Apache-2.0 */
/* One case of an operator while it runs. */
#ifndef CW_TESTS_OPS_CASES_H
#define CW_TESTS_OPS_CASES_H

#include "ops/tensors.h"
#include "src/ops/op.h"

struct test_case {
    const struct cw_op *op;
    const struct cw_value *json, *expect;
    const char *folder;
    void *opts;
    uint64_t seed, epoch, rep, tag;
    struct test_tolerance tolerance;
};
/* Each returns 0 or a code; a code whose message `expect.error` is part of is success, see
 * test_ops.c. */
int test_run_element(struct test_case *c, struct cw_err *err);
int test_run_index(struct test_case *c, struct cw_err *err);
int test_run_source(struct test_case *c, struct cw_err *err);
int test_run_group(struct test_case *c, struct cw_err *err);
int test_run_inside(struct test_case *c, struct cw_err *err);

int test_check_spec(const struct test_case *c, const struct cw_spec *spec, struct cw_err *err);
int64_t test_number(const struct cw_value *object, const char *key, int64_t otherwise);
/* The spec that comes in: input_spec, or that of the first input element. */
int test_input_spec(const struct test_case *c, struct cw_spec *ret_spec, struct cw_err *err);
/* got against expect.elements[i] */
int test_check_element(const struct test_case *c, size_t i, const struct cw_spec *spec,
                       const struct cw_element *got, struct cw_err *err);

#endif
