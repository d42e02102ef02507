/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of operator cases: from JSON (README.md here) to views, and comparison. */
#ifndef CW_TESTS_OPS_TENSORS_H
#define CW_TESTS_OPS_TENSORS_H

#include "conf/value.h"
#include "data/element.h"

struct test_element {
    struct cw_element e;
    struct cw_spec spec;
    void *owned[CW_FIELDS_MAX];
};
/* folder: where `file` is looked for */
int test_element_parse(const struct cw_value *json, const char *folder, struct test_element *ret,
                       struct cw_err *err);
void test_element_fini(struct test_element *element);
/* {"image": {"dtype", "shape"}} */
int test_spec_parse(const struct cw_value *json, struct cw_spec *ret_spec, struct cw_err *err);

struct test_tolerance {
    double each;
    double mean; /* < 0: not checked */
};
/* 0, or INVALID with what differs. */
int test_view_compare(const char *name, const struct cw_view *got, const struct cw_view *want,
                      const struct test_tolerance *tolerance, struct cw_err *err);
bool test_view_same_bytes(const struct cw_view *a, const struct cw_view *b);

#endif
